"""What the executor works with, and the small steps that doing and undoing share."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from affidavit.errors import AffidavitError, Conflict, InvariantBroken, UpstreamFailed
from affidavit.ports.aws_reads_and_changes import ApiCall, ChangerDoor, Grant, StateReader
from affidavit.ports.clock import Clock
from affidavit.ports.json import Item, JsonValue
from affidavit.ports.table import ConditionFailed, Write
from affidavit.remediation.actions.action_type import ActionType, Aim
from affidavit.remediation.actions.catalog import action_type, patience
from affidavit.remediation.citation_rereading import Citations
from affidavit.remediation.execution.function_symptoms import SymptomReader
from affidavit.remediation.execution.other_writers import Bystanders
from affidavit.remediation.execution.start_limits import EXECUTOR_LEASE, Starts
from affidavit.remediation.kill_switch import KillSwitch
from affidavit.remediation.plan.plan_record import Action, Plan
from affidavit.remediation.plan.rendering import unified
from affidavit.remediation.plan.seal import sha256_of
from affidavit.remediation.record.phases import Phase
from affidavit.remediation.record.store import PhaseMove, PlanRow, PlanStore

READ_BACK_SECONDS = 60.0
LOOK_SECONDS = 1.0
BY = "executor"


class NotReadBack(UpstreamFailed):
    """The state could not be seen to be as expected. `was_read` tells whether somebody could look at all."""

    def __init__(self, message: str, *, was_read: bool) -> None:
        super().__init__(message, hint="see the record; a person has to look")
        self.was_read = was_read


class TakenOver(Conflict):
    """Another executor has the plan now: this one writes and calls nothing more."""


@dataclass(frozen=True, kw_only=True)
class ExecutorTools:
    plans: PlanStore
    reader: StateReader
    door: ChangerDoor
    switch: KillSwitch
    citations: Citations
    symptoms: SymptomReader
    starts: Starts
    clock: Clock
    sleep: Callable[[float], None]
    read_back_seconds: float = READ_BACK_SECONDS
    tell: Callable[[str], None] = lambda _: None
    """How far it is, for who waits. The record is the truth."""
    bystanders: Bystanders | None = None

    def move(
        self, row: PlanRow, to: Phase, details: Item | None = None, *, also: Sequence[Write] = (), **changes: Any
    ) -> PlanRow:
        """Raises Conflict when another executor took over."""
        until = (self.clock.now() + EXECUTOR_LEASE).timestamp()
        try:
            return self.plans.advance(
                row, PhaseMove(to=to, by=BY, details=details or {}), also=also, changes={"until": until, **changes}
            )
        except ConditionFailed as error:
            raise TakenOver(f"plan {row.plan_id} was taken over", hint="stop; whoever has it now ends it") from error

    def end(self, row: PlanRow, plan: Plan, to: Phase, reason: str, details: Item | None = None) -> PlanRow:
        told: Item = {"why": reason, **(details or {})}
        return self.move(row, to, told, also=self.starts.releasing(plan), reason=reason[:500])

    def end_seen(self, row: PlanRow, plan: Plan, to: Phase, reason: str) -> PlanRow:
        """End it with what others wrote between our reads and our calls, which nobody saw then."""
        if self.bystanders is None:
            return self.end(row, plan, to, reason)
        seen = self.bystanders.seen(plan, self.plans.record(row.plan_id))
        details: Item = {"others": list(seen.writes), "others_not_known": list(seen.not_known)}
        return self.end(row, plan, to, "; ".join((reason, *seen.writes)), details)

    def grant(self, row: PlanRow, calls: tuple[ApiCall, ...], *, asked_by: str = "") -> Grant:
        """In the name of who approved last, or of who asked for an undo."""
        if not row.approvers:
            raise InvariantBroken(f"nobody approved {row.plan_id}")
        person = asked_by or row.approvers[-1]
        return Grant(calls=calls, source_identity=person, session_name=f"affidavit-{row.plan_id}")

    def live_state(self, action: Action) -> Item:
        return type_of(action).read(aim_of(action), self.reader).state

    def wait_for_state(self, action: Action, aim: Aim, wanted: Item) -> None:
        """Read until the state is as wanted and settled. An error while reading is never success.

        Raises NotReadBack.
        """
        deadline = self.clock.now() + timedelta(seconds=self.read_back_seconds * patience(action.type))
        while True:
            trouble, was_read = self._look(action, aim, wanted)
            if not trouble:
                return
            if self.clock.now() >= deadline:
                raise NotReadBack(trouble, was_read=was_read)
            self.sleep(LOOK_SECONDS)

    def _look(self, action: Action, aim: Aim, wanted: Item) -> tuple[str, bool]:
        try:
            live = type_of(action).read(aim, self.reader)
        except AffidavitError as error:
            return f"{action.target} could not be read back: {error}", False
        if not live.is_settled:
            return f"{action.target}: AWS still carries the change out", True
        if is_same(live.state, wanted):
            return "", True
        return f"{action.target} is not as expected; it changed in between:\n{unified(wanted, live.state)}", True


def type_of(action: Action) -> ActionType:
    return action_type(action.type)


def aim_of(action: Action) -> Aim:
    return Aim(target=action.target, arguments=action.arguments)


def is_same(one: JsonValue, other: JsonValue) -> bool:
    return sha256_of(one) == sha256_of(other)


def described(calls: tuple[ApiCall, ...]) -> list[JsonValue]:
    """Calls as they go into the record."""
    return [{"action": one.action, "resource": one.resource, "parameters": one.parameters} for one in calls]
