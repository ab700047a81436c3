"""Limits starts: one plan per target at a time, and so many starts an hour."""

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
    Equals,
    Key,
    Put,
    Table,
    Update,
    Write,
)
from affidavit.remediation.approvals.plan_decisions import StartClaim
from affidavit.remediation.plan.plan_record import Plan
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
        until = self.clock.now() + EXECUTOR_LEASE
        changes: dict[str, Any] = {"epoch": row.epoch + 1, "until": until.timestamp(), "step": 0}
        return StartClaim(writes=[*(self._lock(one, plan) for one in _targets(plan)), self._count()], changes=changes)

    def claim_undo(self, plan: Plan) -> list[Write]:
        """The locks that an undo takes, or still holds. It waits for no rest and counts for no hour.

        Raises Conflict when another plan works on a target.
        """
        return [self._lock_again(target, plan) for target in _targets(plan)]

    def releasing(self, plan: Plan) -> list[Write]:
        """The writes that let the targets go, for the write that ends the plan: nobody dies between the two."""
        held = [target for target in _targets(plan) if self._holder(target) == plan.plan_id]
        mine = Equals("held_by", plan.plan_id)
        return [Update(key=_lock_key(target), set={"held_by": ""}, when=mine) for target in held]

    def _holder(self, target: str) -> str:
        held = self.table.get(_lock_key(target))
        return "" if held is None else str(held["held_by"])

    def _lock_again(self, target: str, plan: Plan) -> Write:
        if (holder := self._holder(target)) not in ("", plan.plan_id):
            raise _busy(target, holder)
        key, now = _lock_key(target), self.clock.now().timestamp()
        free = AnyOf((Absent(), Equals("held_by", ""), Equals("held_by", plan.plan_id)))
        return Put(item={"pk": key.pk, "sk": key.sk, "held_by": plan.plan_id, "last_at": now}, when=free)

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
        raise _busy(target, str(held["held_by"]))
    if cast("float", held["last_at"]) > rested:
        raise Conflict(f"{target} was repaired a short while ago", hint="see REMEDIATION_TARGET_MINUTES")


def _busy(target: str, holder: str) -> Conflict:
    return Conflict(f"{target} is being repaired by {holder}", hint="wait until that one has ended")


def _targets(plan: Plan) -> list[str]:
    return sorted({action.target for action in plan.actions})


def _lock_key(target: str) -> Key:
    return Key(pk=f"remediation#lock#{target}", sk="lock")


def _numbers(item: Item) -> Sequence[float]:
    return [float(one) for one in cast("Sequence[float]", item["starts"])]
