"""Finds out by reading what became of a call whose end nobody saw. It never calls again."""

from dataclasses import dataclass

from affidavit.errors import AffidavitError, Conflict
from affidavit.remediation.execution.tools import ExecutorTools, is_same
from affidavit.remediation.execution.undoing import Undoing
from affidavit.remediation.plan.records import Plan
from affidavit.remediation.plan.rendering import unified
from affidavit.remediation.record.phases import Phase
from affidavit.remediation.record.store import PlanRow


@dataclass(frozen=True, kw_only=True)
class Settling:
    tools: ExecutorTools

    def settle(self, row: PlanRow, plan: Plan) -> PlanRow:
        """Lead a plan whose executor is gone to a phase that is known. Raises Conflict when nobody can look now."""
        match row.phase:
            case Phase.REDEEMED:
                return self.tools.end(row, plan, Phase.STALE, "its executor ended before it called anything")
            case Phase.INTENT_WRITTEN | Phase.CALLED | Phase.OUTCOME_UNKNOWN:
                taken = self.tools.move(row, Phase.OUTCOME_UNKNOWN, {"step": row.step}, epoch=row.epoch + 1)
                return self._by_reading(taken, plan)
            case Phase.UNDOING:
                return Undoing(tools=self.tools).undo(row, plan, row.reason or "its executor died while it undid")
            case _:
                return self.tools.move(
                    row, Phase.READ_BACK, {"step": row.step, "taken_over": True}, epoch=row.epoch + 1
                )

    def _by_reading(self, row: PlanRow, plan: Plan) -> PlanRow:
        action = plan.actions[row.step]
        try:
            live = self.tools.live_state(action)
        except AffidavitError as error:
            raise Conflict(
                f"nobody can say yet what became of {row.plan_id}: {error}", hint="run it again when it can be read"
            ) from error
        if is_same(live, action.expected):
            return self.tools.move(row, Phase.READ_BACK, {"step": row.step, "settled": "committed"})
        if not is_same(live, action.precondition.state):
            why = f"{action.target} is neither as before nor as planned:\n{unified(action.expected, live)}"
            return self.tools.end(row, plan, Phase.HANDED_OVER, why, {"step": row.step})
        why = f"the call on {action.target} had no effect"
        if row.step == 0:
            return self.tools.end(row, plan, Phase.STALE, why, {"step": 0, "settled": "not_committed"})
        return Undoing(tools=self.tools).undo(row, plan, why)
