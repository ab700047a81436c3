"""Lends the console an executor, and the word of STS on who works at this machine."""

from dataclasses import dataclass

from affidavit.entrypoints.cli.remedy.wiring import build_remedy_desk
from affidavit.entrypoints.console.plans.repair_services import Repairs
from affidavit.remediation.approvals.plan_decisions import StartClaim
from affidavit.remediation.execution.executor import Executor
from affidavit.remediation.plan.plan_record import Plan
from affidavit.remediation.record.store import PlanRow


@dataclass(frozen=True)
class LentExecutor:
    """A `PlanRunner`."""

    executor: Executor

    def claim(self, plan: Plan, row: PlanRow) -> StartClaim:
        return self.executor.tools.starts.claim(plan, row)

    def carry_out(self, row: PlanRow) -> PlanRow:
        return self.executor.carry_out(row)

    def run(self, plan_id: str) -> PlanRow:
        return self.executor.run(plan_id)

    def undo(self, plan_id: str, by: str) -> PlanRow:
        return self.executor.undo(plan_id, by)


def lent_repairs() -> Repairs:
    desk = build_remedy_desk()
    return Repairs(
        approvals=desk.approvals,
        proposing=desk.proposing,
        runner=LentExecutor(desk.executor),
        on_this_machine=desk.person,
    )
