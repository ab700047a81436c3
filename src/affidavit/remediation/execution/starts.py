"""What a start takes: a lock on each target, and a place among the starts of the hour."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, cast

from affidavit.errors import Conflict
from affidavit.ports.clock import Clock
from affidavit.ports.json import Item
from affidavit.ports.table import (
    Absent,
    AllOf,
    AnyOf,
    AtMost,
    Condition,
    ConditionFailed,
    Equals,
    Key,
    Put,
    Table,
    Update,
    Write,
)
from affidavit.remediation.approvals.approval import StartClaim
from affidavit.remediation.plan.records import Plan
from affidavit.remediation.record.store import PlanRow

# Longer than the credentials live: an executor that is taken for dead can call nothing any more.
EXECUTOR_LEASE = timedelta(minutes=20)
_STARTS = Key(pk="remediation#starts", sk="starts")


@dataclass(frozen=True, kw_only=True)
class Starts:
    table: Table
    clock: Clock
    per_hour: int
    target_rest: timedelta

    def claim(self, plan: Plan, row: PlanRow) -> StartClaim:
        """The writes that belong to a start. Raises Conflict when a target is busy or the hour is full."""
        targets = sorted({action.target for action in plan.actions})
        until = self.clock.now() + EXECUTOR_LEASE
        changes: dict[str, Any] = {"epoch": row.epoch + 1, "until": until.timestamp(), "step": 0}
        return StartClaim(writes=[*(self._lock(one, plan) for one in targets), self._count()], changes=changes)

    def release(self, plan: Plan) -> None:
        """Let the targets go. A lock that another plan took stays."""
        for target in {action.target for action in plan.actions}:
            mine = Equals("held_by", plan.plan_id)
            try:
                self.table.write(Update(key=_lock_key(target), set={"held_by": ""}, when=mine))
            except ConditionFailed:
                continue

    def _lock(self, target: str, plan: Plan) -> Write:
        now, rested = self.clock.now().timestamp(), (self.clock.now() - self.target_rest).timestamp()
        held = self.table.get(_lock_key(target))
        if held is not None:
            _refuse_busy(target, held, rested)
        key = _lock_key(target)
        free: Condition = AnyOf((Absent(), AllOf((Equals("held_by", ""), AtMost("last_at", rested)))))
        return Put(item={"pk": key.pk, "sk": key.sk, "held_by": plan.plan_id, "last_at": now}, when=free)

    def _count(self) -> Write:
        item = self.table.get(_STARTS)
        now = self.clock.now().timestamp()
        earlier = [] if item is None else [one for one in _numbers(item) if one > now - 3600]
        if len(earlier) >= self.per_hour:
            raise Conflict(
                f"{len(earlier)} repairs were started in the last hour, the most that are allowed",
                hint="wait, or raise REMEDIATION_PER_HOUR",
            )
        version = 0 if item is None else int(cast("int", item["version"]))
        when = Absent() if item is None else Equals("version", version)
        return Put(
            item={"pk": _STARTS.pk, "sk": _STARTS.sk, "starts": [*earlier, now], "version": version + 1}, when=when
        )


def _refuse_busy(target: str, held: Item, rested: float) -> None:
    if held["held_by"]:
        raise Conflict(f"{target} is being repaired by {held['held_by']}", hint="wait until that one has ended")
    if cast("float", held["last_at"]) > rested:
        raise Conflict(f"{target} was repaired a short while ago", hint="see REMEDIATION_TARGET_MINUTES")


def _lock_key(target: str) -> Key:
    return Key(pk=f"remediation#lock#{target}", sk="lock")


def _numbers(item: Item) -> Sequence[float]:
    return [float(one) for one in cast("Sequence[float]", item["starts"])]
