"""Takes changes back, in reverse order, and refuses where somebody else changed the state meanwhile."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from affidavit.errors import AffidavitError
from affidavit.ports.aws_reads_and_changes import ApiCall, Changer
from affidavit.ports.json import Item, JsonValue
from affidavit.remediation.actions.action_type import Aim
from affidavit.remediation.execution.other_writers import CALLED_AT, READ_AT, REQUEST_IDS, request_ids
from affidavit.remediation.execution.shared_executor_steps import (
    ExecutorTools,
    TakenOver,
    aim_of,
    described,
    is_same,
    type_of,
)
from affidavit.remediation.plan.plan_record import Action, Plan, UndoClass
from affidavit.remediation.plan.rendering import unified
from affidavit.remediation.record.chain import RecordEntry
from affidavit.remediation.record.phases import Phase
from affidavit.remediation.record.store import PlanRow


class UndoRefused(Exception):
    """Why a step cannot be taken back, in words."""


@dataclass(frozen=True, kw_only=True)
class Undoing:
    """`asked_by` is the person who asked for it; empty when it follows from a failed proof."""

    tools: ExecutorTools
    asked_by: str = ""

    def undo(self, row: PlanRow, plan: Plan, why: str) -> PlanRow:
        """Take back every step that may have been made. The row must be able to become `undoing`.

        Raises Conflict while another plan works on a target.
        """
        self.tools.switch.check()
        locks = self.tools.starts.claim_undo(plan)
        row = self.tools.move(row, Phase.UNDOING, {"why": why}, also=locks, epoch=row.epoch + 1, reason=why[:500])
        try:
            return self._undone(row, plan, why)
        except TakenOver:
            raise
        except (UndoRefused, AffidavitError) as error:
            return self.tools.end(self.tools.plans.get(row.plan_id), plan, Phase.UNDO_FAILED, f"{why}; {error}")

    def _undone(self, row: PlanRow, plan: Plan, why: str) -> PlanRow:
        steps = intended_steps(self.tools.plans.record(row.plan_id))
        pending = [step for step in reversed(steps) if self._is_pending(plan.actions[step])]
        if pending:
            row = self._take_back(row, plan, pending)
        return self.tools.end_seen(row, plan, Phase.UNDONE, why)

    def _is_pending(self, action: Action) -> bool:
        """False when the state of before is there already. Raises UndoRefused when it is neither."""
        live = self.tools.live_state(action)
        if is_same(live, action.precondition.state):
            return False
        if not is_same(live, action.expected):
            changed = unified(action.expected, live)
            raise UndoRefused(f"somebody else changed {action.target} since; it is left as it is:\n{changed}")
        if action.undo is None:
            raise UndoRefused(f"{action.type} on {action.target} cannot be undone")
        return True

    def _take_back(self, row: PlanRow, plan: Plan, steps: Sequence[int]) -> PlanRow:
        granted = tuple(call for step in steps for call in _undo_calls(plan.actions[step], None))
        # Some undos send nothing: what a restart did stays. Then no credentials are made either.
        grant = self.tools.grant(row, granted, asked_by=self.asked_by)
        changer = self.tools.door.open(grant) if granted else None
        for step in steps:
            row = self._step(row, plan.actions[step], step, changer)
        return row

    def _step(self, row: PlanRow, action: Action, step: int, changer: Changer | None) -> PlanRow:
        self.tools.switch.check()
        aim, read_at, ids = _undo_aim(action), self.tools.clock.now().isoformat(), list[JsonValue]()
        live = type_of(action).read(aim, self.tools.reader)
        if not is_same(live.state, action.expected):
            raise UndoRefused(f"{action.target} changed right before it was undone; it is left as it is")
        calls = _undo_calls(action, live.token)
        row = self.tools.move(row, Phase.UNDOING, {"step": step, "calls": described(calls), READ_AT: read_at})
        for call in calls:
            self.tools.tell(f"takes back with {call.action} on {call.resource}")
            self.tools.switch.check()
            if changer is not None:
                ids += request_ids(changer.call(call))
        called: Item = {"step": step, REQUEST_IDS: ids, CALLED_AT: self.tools.clock.now().isoformat()}
        self.tools.wait_for_state(action, aim, _restored(action, live.state))
        return self.tools.move(row, Phase.UNDOING, {**called, "is_undone": True})


def intended_steps(record: Sequence[RecordEntry]) -> list[int]:
    """The steps whose call may have been made, in order."""
    intents = [entry.details.get("step") for entry in record if entry.phase is Phase.INTENT_WRITTEN]
    return sorted({step for step in intents if isinstance(step, int)})


def _undo_aim(action: Action) -> Aim:
    return replace(aim_of(action), arguments=action.undo or {})


def _undo_calls(action: Action, token: str | None) -> tuple[ApiCall, ...]:
    return type_of(action).calls(_undo_aim(action), token)


def _restored(action: Action, state: Item) -> Item:
    if action.undo_class is UndoClass.EXACT:
        return action.precondition.state
    return type_of(action).expected(_undo_aim(action), state)
