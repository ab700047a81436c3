"""Reads the state to learn the outcome of a call that was interrupted. It never calls again."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from affidavit.errors import AffidavitError, Conflict
from affidavit.ports.json import Item
from affidavit.remediation.actions.action_type import Reading
from affidavit.remediation.actions.catalog import patience
from affidavit.remediation.execution.shared_executor_steps import LOOK_SECONDS, ExecutorTools, aim_of, is_same, type_of
from affidavit.remediation.execution.undoing import Undoing
from affidavit.remediation.plan.plan_record import Action, Plan
from affidavit.remediation.plan.rendering import unified
from affidavit.remediation.record.phases import Phase
from affidavit.remediation.record.store import PlanRow


@dataclass(frozen=True, kw_only=True)
class Settling:
    """`may_come` says that the call was made just now: then its effect is waited for before it is called none."""

    tools: ExecutorTools
    may_come: bool = False

    def settle(self, row: PlanRow, plan: Plan) -> PlanRow:
        """Lead a plan whose executor is gone to a phase that is known. Raises Conflict when nobody can look now."""
        match row.phase:
            case Phase.REDEEMED:
                return self.tools.end(row, plan, Phase.STALE, "its executor ended before it called anything")
            case Phase.INTENT_WRITTEN | Phase.CALLED | Phase.OUTCOME_UNKNOWN:
                return self._by_reading(self._taken(row), plan)
            case Phase.UNDOING:
                return Undoing(tools=self.tools).undo(row, plan, row.reason or "its executor died while it undid")
            case _:
                return self.tools.move(
                    row, Phase.READ_BACK, {"step": row.step, "taken_over": True}, epoch=row.epoch + 1
                )

    def _taken(self, row: PlanRow) -> PlanRow:
        """Who only reads needs no lease: when it cannot tell yet, the next one may try at once."""
        changes: dict[str, Any] = {"epoch": row.epoch + 1}
        if not self.may_come:
            changes["until"] = self.tools.clock.now().timestamp()
        return self.tools.move(row, Phase.OUTCOME_UNKNOWN, {"step": row.step}, **changes)

    def _by_reading(self, row: PlanRow, plan: Plan) -> PlanRow:
        action = plan.actions[row.step]
        live = self._seen(row, action)
        if is_same(live, action.expected):
            return self.tools.move(row, Phase.READ_BACK, {"step": row.step, "settled": "committed"})
        if not is_same(live, action.precondition.state):
            why = f"{action.target} is neither as before nor as planned:\n{unified(action.expected, live)}"
            return self.tools.end(row, plan, Phase.HANDED_OVER, why, {"step": row.step})
        why = f"the call on {action.target} had no effect"
        if row.step == 0:
            return self.tools.end(row, plan, Phase.STALE, why, {"step": 0, "settled": "not_committed"})
        return Undoing(tools=self.tools).undo(row, plan, why)

    def _seen(self, row: PlanRow, action: Action) -> Item:
        """The state that AWS has settled on. Raises Conflict when nobody can tell it yet."""
        seconds = self.tools.read_back_seconds * patience(action.type) if self.may_come else 0
        deadline = self.tools.clock.now() + timedelta(seconds=seconds)
        while True:
            seen = self._look(action)
            is_there = isinstance(seen, Reading) and is_same(seen.state, action.expected)
            if isinstance(seen, Reading) and (is_there or self.tools.clock.now() >= deadline):
                return seen.state
            if self.tools.clock.now() >= deadline:
                raise Conflict(
                    f"nobody can say yet what became of {row.plan_id}: {seen}", hint="run it again in a while"
                )
            self.tools.sleep(LOOK_SECONDS)

    def _look(self, action: Action) -> Reading | str:
        """Or why there is nothing to go by."""
        try:
            live = type_of(action).read(aim_of(action), self.tools.reader)
        except AffidavitError as error:
            return str(error)
        return live if live.is_settled else f"AWS still carries out what was asked of {action.target}"
