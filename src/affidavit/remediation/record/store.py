"""Stores plans and their records. A phase and its entry are one conditional write: a stale writer loses."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, cast

from affidavit.errors import Conflict, InvariantBroken, NotFound
from affidavit.incidents.incident import IncidentId
from affidavit.incidents.store.state import Status, state_key
from affidavit.ports.clock import Clock
from affidavit.ports.json import Item, JsonValue
from affidavit.ports.object_store import ObjectMissing, ObjectStore
from affidavit.ports.table import Absent, AllOf, ConditionFailed, Equals, Key, Put, Table, Update, Write
from affidavit.remediation.plan.plan_record import Plan, PlanId
from affidavit.remediation.plan.seal import Seal, plan_bytes, plan_from_bytes, seal_of
from affidavit.remediation.record.chain import NOTHING, RecordEntry, entry_from_text
from affidavit.remediation.record.phases import Phase

PURPOSE = "remediation"


@dataclass(frozen=True, kw_only=True, slots=True)
class PlanRow:
    """Where a plan stands. `epoch` rises when an executor takes it; `until` is when that one is taken for dead.

    `step` is the number of the action that is worked on, from 0. All of it can be re-derived from the record.
    """

    plan_id: PlanId
    incident_id: IncidentId
    seal: Seal
    phase: Phase
    entries: int
    head: str
    at: datetime
    created_by: str
    approvers: tuple[str, ...] = ()
    epoch: int = 0
    until: float = 0.0
    step: int = 0
    reason: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class PhaseMove:
    """A step of the record: into which phase, by whom, with what to remember."""

    to: Phase
    by: str
    details: Item


class PlanStore:
    def __init__(self, table: Table, objects: ObjectStore, clock: Clock) -> None:
        self._table, self._objects, self._clock = table, objects, clock

    @property
    def table(self) -> Table:
        return self._table

    @property
    def clock(self) -> Clock:
        return self._clock

    def create(self, plan: Plan, moves: Sequence[PhaseMove]) -> PlanRow:
        """Store a plan whose record begins with these moves. Raises Conflict when its incident is elsewhere."""
        data, seal = plan_bytes(plan), seal_of(plan)
        self._objects.put_new(plan_key(plan.plan_id, seal), data, purpose=PURPOSE)
        first = PlanRow(
            plan_id=plan.plan_id,
            incident_id=plan.incident_id,
            seal=seal,
            phase=Phase.PROPOSED,
            entries=0,
            head=NOTHING,
            at=self._clock.now(),
            created_by=plan.created_by,
        )
        row, entries = self._entered(first, moves)
        writes: list[Write] = [Put(item=_item(row), when=Absent()), *entries, self._listed(row)]
        self._write([*writes, *incident_moved(first, row, moves[-1], self._clock.now())], f"plan {plan.plan_id}")
        return row

    def get(self, plan_id: str) -> PlanRow:
        item = self._table.get(_key(plan_id))
        if item is None:
            raise NotFound(f"there is no plan {plan_id}", hint="`affidavit remedy list` shows the latest ones")
        return _row_of(item)

    def plan(self, row: PlanRow) -> Plan:
        """The plan that was sealed. Raises InvariantBroken when what is stored is anything else."""
        try:
            data = self._objects.get(plan_key(row.plan_id, row.seal))
        except ObjectMissing as error:
            raise InvariantBroken(f"the sealed bytes of {row.plan_id} are gone", hint="propose again") from error
        plan = plan_from_bytes(data, row.seal)
        if plan.plan_id != row.plan_id or plan.incident_id != row.incident_id:
            raise InvariantBroken(f"the sealed plan is not {row.plan_id}", hint="propose again; look who wrote it")
        return plan

    def advance(
        self,
        row: PlanRow,
        *moves: PhaseMove,
        also: Sequence[Write] = (),
        changes: Mapping[str, Any] | None = None,
    ) -> PlanRow:
        """Take the plan through these phases in one write. Raises ConditionFailed when somebody else was faster."""
        after, entries = self._entered(row, moves, changes or {})
        still = AllOf((Equals("head", row.head), Equals("epoch", row.epoch), Equals("phase", row.phase.value)))
        update = Update(
            key=_key(row.plan_id),
            set={name: value for name, value in _item(after).items() if name not in ("pk", "sk")},
            when=still,
        )
        incident = incident_moved(row, after, moves[-1], self._clock.now())
        self._table.write_all([update, *entries, *also, *incident])
        return after

    def record(self, plan_id: str) -> list[RecordEntry]:
        return [entry_from_text(text) for text, _ in self.stored_entries(plan_id)]

    def stored_entries(self, plan_id: str) -> list[tuple[str, str]]:
        """Text and digest of each entry, as stored."""
        items = self._table.query(_key(plan_id).pk, sk_prefix="entry#")
        return [(str(item.get("entry")), str(item.get("sha256"))) for item in items]

    def listed(self, day: datetime, *, limit: int) -> list[PlanRow]:
        return [self.get(plan_id) for plan_id in self.listed_ids(day, limit=limit)]

    def listed_ids(self, day: datetime, *, limit: int) -> list[PlanId]:
        """The plans made on this day, newest first, unread: one that was damaged does not hide the others."""
        items = self._table.query(_day(day), newest_first=True, limit=limit)
        return [PlanId(str(item["plan_id"])) for item in items]

    def _entered(
        self, row: PlanRow, moves: Sequence[PhaseMove], changes: Mapping[str, Any] | None = None
    ) -> tuple[PlanRow, list[Write]]:
        now, writes = self._clock.now(), list[Write]()
        if now < row.at:
            raise Conflict(
                f"the clock shows {now:%H:%M:%S}, but {row.plan_id} was last changed at {row.at:%H:%M:%S}",
                hint="a clock that was set back could revive what has expired; set it right",
            )
        for move in moves:
            if row.entries and not row.phase.may_become(move.to):
                raise Conflict(f"plan {row.plan_id} is {row.phase}", hint=f"it cannot become {move.to} any more")
            entry = RecordEntry(
                plan_id=row.plan_id,
                number=row.entries + 1,
                phase=move.to,
                at=now,
                by=move.by,
                details={**move.details, **_remembered(changes or {})},
                previous=row.head,
            )
            writes.append(Put(item=_entry_item(entry), when=Absent()))
            row = _with(row, phase=move.to, entries=entry.number, head=entry.sha256, at=now, **(changes or {}))
        return row, writes

    def _listed(self, row: PlanRow) -> Write:
        item: Item = {"pk": _day(row.at), "sk": f"{row.at.isoformat()}#{row.plan_id}", "plan_id": row.plan_id}
        return Put(item=item)

    def _write(self, writes: Sequence[Write], thing: str) -> None:
        try:
            self._table.write_all(writes)
        except ConditionFailed as error:
            raise Conflict(
                f"{thing}: its incident is not waiting for a plan", hint="another plan is open, or it was repaired"
            ) from error


def derived(plan_id: PlanId, seal: Seal, entries: Sequence[RecordEntry]) -> PlanRow:
    """The row that this record leads to, from its entries alone."""
    first = entries[0]
    row = PlanRow(
        plan_id=plan_id,
        incident_id=IncidentId(str(first.details["incident_id"])),
        seal=seal,
        phase=first.phase,
        entries=0,
        head=NOTHING,
        at=first.at,
        created_by=first.by,
    )
    for entry in entries:
        changed = {name: _as_row(value) for name, value in cast("Item", entry.details.get("row") or {}).items()}
        row = _with(row, phase=entry.phase, entries=entry.number, head=entry.sha256, at=entry.at, **changed)
    return row


def plan_key(plan_id: str, seal: str) -> str:
    return f"remediation/{plan_id}/{seal}.json"


def incident_moved(before: PlanRow, after: PlanRow, move: PhaseMove, now: datetime) -> list[Write]:
    """The write that keeps the incident's status in step with its plan."""
    was, becomes = _status(before), _status(after)
    if was is becomes:
        return []
    changes: dict[str, JsonValue] = {
        "status": becomes.value,
        "updated_at": now.isoformat(),
        "plan_id": after.plan_id,
        "remediation_reason": f"{move.to}: {after.reason}"[:500] if after.reason else move.to.value,
    }
    return [Update(key=state_key(after.incident_id), set=changes, when=Equals("status", was.value))]


def _status(row: PlanRow) -> Status:
    if row.phase is Phase.PROVEN:
        return Status.REMEDIATED
    if row.phase in (Phase.AWAITING,):
        return Status.AWAITING_APPROVAL
    return Status.REMEDIATING if row.phase.is_running or row.phase is Phase.APPROVED else Status.DIAGNOSED


def _with(row: PlanRow, **changes: Any) -> PlanRow:
    from dataclasses import replace

    return replace(row, **changes)


def _remembered(changes: Mapping[str, Any]) -> dict[str, JsonValue]:
    """What changes in the row stands in the entry, too: the row is never the only witness."""
    return {"row": dict(changes)} if changes else {}


def _as_row(value: JsonValue) -> Any:
    """Lists of an entry are tuples in a row."""
    return tuple(value) if isinstance(value, Sequence) and not isinstance(value, str) else value


def _key(plan_id: str) -> Key:
    return Key(pk=f"remediation#{plan_id}", sk="state")


def _entry_item(entry: RecordEntry) -> dict[str, JsonValue]:
    return {
        "pk": _key(entry.plan_id).pk,
        "sk": f"entry#{entry.number:06}",
        "entry": entry.text,
        "sha256": entry.sha256,
    }


def _item(row: PlanRow) -> dict[str, JsonValue]:
    key = _key(row.plan_id)
    return {
        "pk": key.pk,
        "sk": key.sk,
        "plan_id": row.plan_id,
        "incident_id": row.incident_id,
        "seal": row.seal,
        "phase": row.phase.value,
        "entries": row.entries,
        "head": row.head,
        "at": row.at.isoformat(),
        "created_by": row.created_by,
        "approvers": json.dumps(row.approvers),
        "epoch": row.epoch,
        "until": row.until,
        "step": row.step,
        "reason": row.reason,
    }


def _row_of(item: Item) -> PlanRow:
    raw: Mapping[str, Any] = item
    try:
        row = PlanRow(
            plan_id=PlanId(raw["plan_id"]),
            incident_id=IncidentId(raw["incident_id"]),
            seal=Seal(raw["seal"]),
            phase=Phase(raw["phase"]),
            entries=int(raw["entries"]),
            head=raw["head"],
            at=datetime.fromisoformat(raw["at"]),
            created_by=raw["created_by"],
            approvers=tuple(json.loads(raw["approvers"])),
            epoch=int(raw["epoch"]),
            until=float(raw["until"]),
            step=int(raw["step"]),
            reason=raw["reason"],
        )
    except (KeyError, ValueError, TypeError) as error:
        raise InvariantBroken(
            "a stored plan cannot be read", hint="its row was changed; see `affidavit verify`"
        ) from error
    # A time or a list can be written in two ways: only ours was written by us.
    if _item(row) != dict(item):
        raise InvariantBroken("a stored plan was not written by Affidavit", hint="look who changed its row")
    return row


def _day(moment: datetime) -> str:
    return f"remediation#day#{moment.astimezone(UTC).date().isoformat()}"
