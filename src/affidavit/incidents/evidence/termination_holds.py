"""Keeps nodes alive until their logs are saved, and lets every one of them go.

Auto Scaling waits with the end of a node for somebody to complete its lifecycle action. The action is written down
before anything else is done about it, so whatever crashes, the watchdog finds it: a node must never hang because of us.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from fnmatch import fnmatchcase
from typing import Protocol

from pydantic import BaseModel, ConfigDict

from affidavit.errors import AffidavitError
from affidavit.incidents.evidence.readiness import EvidenceCheck
from affidavit.incidents.incident import Incident, IncidentId
from affidavit.incidents.store.state import IncidentState, Status
from affidavit.incidents.telemetry import Telemetry
from affidavit.ports.clock import Clock
from affidavit.ports.json import Item
from affidavit.ports.lifecycle_hooks import HookAction, LifecycleHooks
from affidavit.ports.table import Absent, ConditionFailed, Delete, Key, Present, Put, Table, Update

DUE = "lifecycle"
# A group that waits longer than this for one node is worth more than the rest of its logs.
HOLD_LIMIT = timedelta(minutes=15)
# The heartbeat timeout of a hook must be longer than two rounds of the watchdog.
LOOK_AGAIN = timedelta(minutes=1)
KEPT = timedelta(days=2)
MOST_AT_ONCE = 200
NOBODYS = ""


class States(Protocol):
    def get_state(self, incident_id: IncidentId) -> IncidentState | None: ...


class _Hold(BaseModel):
    """A node that a group waits with, as it is stored."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    group: str
    hook: str
    token: str
    instance_id: str
    region: str
    incident_id: str
    begun_at: datetime

    @property
    def key(self) -> Key:
        return _key(self.instance_id, self.token)

    @property
    def action(self) -> HookAction:
        return HookAction(
            group=self.group, hook=self.hook, token=self.token, instance_id=self.instance_id, region=self.region
        )


@dataclass(frozen=True, kw_only=True)
class HeldNodes:
    table: Table
    clock: Clock
    hooks: LifecycleHooks
    states: States
    evidence: EvidenceCheck
    telemetry: Telemetry
    own_hooks: tuple[str, ...] = ("*",)
    """Patterns of names. A group may have hooks of others, too, whose end must not be told by us."""

    def awaits_us(self, alert: Incident) -> bool:
        """Whether a group waits for us with the end of this node."""
        hook = alert.lifecycle.hook if alert.lifecycle is not None else ""
        return bool(hook) and any(fnmatchcase(hook, one) for one in self.own_hooks)

    def hold(self, alert: Incident) -> None:
        """Write down that a group waits. Twice is once."""
        if alert.lifecycle is None:
            return
        now = self.clock.now()
        hold = _Hold(
            group=alert.lifecycle.group,
            hook=alert.lifecycle.hook,
            token=alert.lifecycle.token,
            instance_id=alert.subject.id,
            region=alert.region,
            incident_id=alert.incident_id,
            begun_at=now,
        )
        item: Item = {
            "pk": hold.key.pk,
            "sk": hold.key.sk,
            **hold.model_dump(mode="json"),
            "due": DUE,
            "due_at": round((now + LOOK_AGAIN).timestamp(), 3),
            "ttl": int((now + KEPT).timestamp()),
        }
        try:
            self.table.write(Put(item=item, when=Absent()))
        except ConditionFailed:
            return  # the same action, delivered again

    def settle(self, alert: Incident, incident_id: IncidentId | None) -> bool:
        """The alert was handled: its evidence belongs to this incident, or to none. Whether the node was let go."""
        if alert.lifecycle is None:
            return False
        key = _key(alert.subject.id, alert.lifecycle.token)
        if incident_id != alert.incident_id:
            # Written down: should the group not hear us now, the next round knows that the node is not ours.
            self._changed(key, {"incident_id": incident_id or NOBODYS})
        item = self.table.get(key)
        return item is not None and self._look(item)

    def look(self, instance_id: str) -> int:
        """How many holds on this node could be ended."""
        return sum(self._look(item) for item in self.table.query(_partition(instance_id)))

    def tick(self) -> int:
        """One round of the watchdog over every node that a group waits with."""
        items = self.table.due_before(DUE, self.clock.now().timestamp(), limit=MOST_AT_ONCE)
        return sum(self._look(item) for item in items)

    def _look(self, item: Item) -> bool:
        hold = _Hold.model_validate(item)
        try:
            why = next(self._reasons(hold), None)
            if why is not None:
                return self._let_go(hold, why)
            if not self.hooks.heartbeat(hold.action):
                self.table.write(Delete(key=hold.key))
                return True
            self._changed(hold.key, {"due_at": round((self.clock.now() + LOOK_AGAIN).timestamp(), 3)})
        except AffidavitError as error:
            # It stays written down, and the next round tries again.
            self.telemetry.log("hold_failed", instance_id=hold.instance_id, message=str(error))
        return False

    def _reasons(self, hold: _Hold) -> Iterator[str]:
        """Why the node may end now."""
        if hold.incident_id == NOBODYS:
            yield "it is not ours"
            return
        if self.clock.now() >= hold.begun_at + HOLD_LIMIT:
            yield "its limit has come"
            return
        state = self.states.get_state(IncidentId(hold.incident_id))
        if state is None:
            return  # the alert is still on its way to become an incident
        if state.status not in (Status.RECEIVED, Status.AWAITING_EVIDENCE):
            yield f"its incident is {state.status}"
        elif state.status is Status.AWAITING_EVIDENCE and self.evidence.is_saved(state.incident):
            yield "its logs are saved, or nobody can get them"

    def _let_go(self, hold: _Hold, why: str) -> bool:
        self.hooks.go_on(hold.action)
        self.table.write(Delete(key=hold.key))
        self.telemetry.log("node_let_go", instance_id=hold.instance_id, group=hold.group, why=why)
        return True

    def _changed(self, key: Key, changes: dict[str, str | float]) -> None:
        try:
            self.table.write(Update(key=key, set=changes, when=Present()))
        except ConditionFailed:
            return  # somebody else let it go


def _partition(instance_id: str) -> str:
    return f"held#{instance_id}"


def _key(instance_id: str, token: str) -> Key:
    return Key(pk=_partition(instance_id), sk=token)
