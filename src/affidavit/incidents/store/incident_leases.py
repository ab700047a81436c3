"""Decides who may change an incident.

One conditional write takes an incident and raises its epoch. Every later write is conditional on that epoch, so a
second delivery, the watchdog and a worker that froze and woke up can never both finish it.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta

from affidavit.errors import InvariantBroken
from affidavit.evidence.incident_subject import Subject
from affidavit.incidents.attempt.diagnostician_port import LeaseLost
from affidavit.incidents.incident import Incident, IncidentId, incident_to_json
from affidavit.incidents.store.joined_alerts import AlarmEpisode, Episodes
from affidavit.incidents.store.state import Due, IncidentState, Lease, Status, lease_of, state_key, state_of
from affidavit.ports.clock import Clock
from affidavit.ports.json import Item, JsonValue
from affidavit.ports.table import (
    Absent,
    AllOf,
    AnyOf,
    Condition,
    ConditionFailed,
    Equals,
    Present,
    Put,
    Table,
    Update,
    Write,
)

REASON_CHARACTERS = 500
# Between taking an incident and starting on it lie a few writes; a crash there should not cost minutes.
RECEIVED_LEASE = timedelta(seconds=60)
LEASE_MARGIN = timedelta(seconds=30)
# A worker that gave no sign of life for this long is taken for dead, however much time it had.
LONGEST_LEASE = timedelta(minutes=10)
# A notice that was not sent by then is somebody else's to send.
NOTICE_TIME = timedelta(minutes=2)
# Beyond any lease: the year 2286.
_FOREVER = 10_000_000_000.0
# Longer than anything waits.
WAITING_KEPT = timedelta(days=1)


class IncidentStates:
    """With `tells_people` an incident that ends stays in the index until its notice is sent."""

    def __init__(
        self, table: Table, clock: Clock, *, keep: timedelta = timedelta(days=30), tells_people: bool = False
    ) -> None:
        self._table, self._clock, self._keep, self._tells_people = table, clock, keep, tells_people

        self.episodes = Episodes(table, clock, keep=keep)

    @property
    def table(self) -> Table:
        return self._table

    # --- reading -----------------------------------------------------------------------------------------------------

    def get_state(self, incident_id: IncidentId) -> IncidentState | None:
        item = self._table.get(state_key(incident_id))
        return None if item is None else state_of(item)

    def due(
        self, why: Due, *, limit: int = 100, unreadable: Callable[[str, Exception], None] | None = None
    ) -> list[IncidentState]:
        """May lag behind; taking the incident decides. `unreadable` is told of an item that is none of ours: one
        that another version wrote, or somebody changed, must not keep the others from their turn."""
        items = self._table.due_before(why.value, self._clock.now().timestamp(), limit=limit)
        found: list[IncidentState] = []
        for item in filter(_is_state, items):
            try:
                found.append(state_of(item))
            except (ValueError, KeyError, InvariantBroken) as error:
                if unreadable is None:
                    raise
                unreadable(str(item.get("pk")), error)
        return found

    def standing(self, why: Due, *, limit: int = 100) -> list[IncidentState]:
        """Incidents that stand in the index for this reason, due or not yet, earliest first."""
        return [state_of(item) for item in self._table.due_before(why.value, _FOREVER, limit=limit) if _is_state(item)]

    def received_on(self, day: datetime, *, after: str = "", limit: int) -> list[tuple[str, IncidentId]]:
        """The incidents received on this day (UTC) with their places in it, newest first, from behind `after` on."""
        entries = self._table.query(_day(day), newest_first=True, limit=limit, after=after)
        return [(str(entry["sk"]), IncidentId(str(entry["incident_id"]))) for entry in entries]

    @property
    def days_kept(self) -> int:
        return self._keep.days

    def listed(self, day: datetime, *, limit: int) -> list[IncidentState]:
        """The incidents that were received on this day (UTC), newest first."""
        entries = self._table.query(_day(day), newest_first=True, limit=limit)
        ids = dict.fromkeys(IncidentId(str(entry["incident_id"])) for entry in entries)
        states = (self.get_state(incident_id) for incident_id in ids)
        return [state for state in states if state is not None]

    # --- taking ------------------------------------------------------------------------------------------------------

    def take(self, incident: Incident, seen: IncidentState | None, *, deadline: datetime) -> Lease | None:
        """One conditional write; None when somebody else was first. `seen` is what the caller read before."""
        try:
            if seen is None:
                return self.write_initial_state(incident, deadline=deadline)
            return self._retake(seen, deadline=deadline)
        except ConditionFailed:
            return None

    def open(self, incident: Incident, seen: AlarmEpisode | None, *, deadline: datetime, is_last: bool) -> Lease | None:
        """Open an incident that becomes the newest of its subject; None when somebody was faster.

        At the last try it is opened whatever else happened to the subject.
        """
        together_with = () if is_last else (self.episodes.opening(incident, seen),)
        try:
            return self.write_initial_state(incident, deadline=deadline, together_with=together_with)
        except ConditionFailed:
            return None

    def write_initial_state(
        self, incident: Incident, *, deadline: datetime, together_with: Sequence[Write] = ()
    ) -> Lease:
        """Raises ConditionFailed when the incident is there already."""
        self._note_day(incident)
        now = self._clock.now()
        expires = (now + RECEIVED_LEASE).timestamp()
        item: dict[str, JsonValue] = {
            "pk": state_key(incident.incident_id).pk,
            "sk": "state",
            "incident_id": incident.incident_id,
            "incident": incident_to_json(incident),
            "status": Status.RECEIVED.value,
            "created_at": now.isoformat(),
            "updated_at": now.isoformat(),
            "epoch": 1,
            "attempts": 1,
            "ttl": self._ttl(now),
            **_leased(expires),
        }
        if together_with:
            self._table.write_all([Put(item=item, when=Absent()), *together_with])
        else:
            self._table.write(Put(item=item, when=Absent()))
        return lease_of(state_of(item), deadline)

    def _retake(self, seen: IncidentState, *, deadline: datetime) -> Lease:
        now = self._clock.now()
        if not seen.is_due(now):
            raise ConditionFailed(f"incident {seen.incident.incident_id} is not due")
        return self._reopen(seen, attempts=_next_attempt(seen), deadline=deadline)

    def wake(self, seen: IncidentState, *, deadline: datetime) -> Lease | None:
        """Take an incident that waits for its evidence before its time; None when it waits no more."""
        if seen.status is not Status.AWAITING_EVIDENCE:
            return None
        try:
            return self._reopen(seen, attempts=_next_attempt(seen), deadline=deadline)
        except ConditionFailed:
            return None

    def reopen(self, seen: IncidentState, *, deadline: datetime) -> Lease | None:
        """Take an incident that ended, on a person's word: attempts are counted anew, and so is its waiting."""
        try:
            return self._reopen(seen, attempts=1, deadline=deadline, forgets=("awaiting_since",))
        except ConditionFailed:
            return None

    def _reopen(
        self, seen: IncidentState, *, attempts: int, deadline: datetime, forgets: tuple[str, ...] = ()
    ) -> Lease:
        now = self._clock.now()
        update = Update(
            key=state_key(seen.incident.incident_id),
            set={
                "status": Status.RECEIVED.value,
                "updated_at": now.isoformat(),
                "epoch": seen.epoch + 1,
                "attempts": attempts,
                **_leased((now + RECEIVED_LEASE).timestamp()),
            },
            remove=(
                "next_attempt_at",
                "is_deferred",
                "error_reason",
                "error_category",
                "provider",
                "notices",
                *forgets,
            ),
            # Status and lease may move without the epoch only by their owner's hand, and that owner renews the lease.
            when=_unchanged(seen),
        )
        item = self._table.write(update)
        if item is None:
            raise InvariantBroken(f"incident {seen.incident.incident_id} vanished while it was taken")
        return lease_of(state_of(item), deadline)

    # --- waiting for evidence -----------------------------------------------------------------------------------------

    def await_evidence(self, lease: Lease, *, since: datetime, due_at: datetime) -> None:
        """Put the incident down until its evidence is there, or until `due_at`. Raises LeaseLost.

        Who brings the evidence of a node finds the incidents that wait for it, in the same transaction.
        """
        now = self._clock.now()
        update = Update(
            key=state_key(lease.incident_id),
            set={
                "status": Status.AWAITING_EVIDENCE.value,
                "updated_at": now.isoformat(),
                "awaiting_since": _moment(since),
                "lease_expires_at": _moment(now),
                "due": Due.EVIDENCE.value,
                "due_at": _moment(due_at),
            },
            when=AllOf((_held(lease), Equals("status", Status.RECEIVED.value))),
        )
        entry: dict[str, JsonValue] = {
            "pk": _waiting(lease.incident.subject),
            "sk": lease.incident_id,
            "ttl": int((now + WAITING_KEPT).timestamp()),
        }
        self._write(lease, update, [Put(item=entry)])

    def waiting_for(self, subject: Subject) -> list[IncidentState]:
        """Incidents that wait for evidence of this subject."""
        ids = [IncidentId(str(item["sk"])) for item in self._table.query(_waiting(subject))]
        states = (self.get_state(one) for one in ids)
        return [one for one in states if one is not None and one.status is Status.AWAITING_EVIDENCE]

    # --- under a lease -----------------------------------------------------------------------------------------------

    def touch_updated_at(self, lease: Lease, progress: Mapping[str, JsonValue] | None = None) -> None:
        """A sign of life: renews the lease and keeps `progress`. Raises LeaseLost."""
        now = self._clock.now()
        expires = min(lease.deadline + LEASE_MARGIN, now + LONGEST_LEASE).timestamp()
        changes = {"updated_at": now.isoformat(), **_leased(expires), **(progress or {})}
        self._write(lease, Update(key=state_key(lease.incident_id), set=changes, when=_working(lease)))

    def transition_state(
        self,
        lease: Lease,
        from_status: Status,
        to_status: Status,
        *,
        reason: str | None = None,
        category: str | None = None,
        provider: str | None = None,
        next_attempt_at: datetime | None = None,
        is_deferred: bool = False,
        together_with: Sequence[Write] = (),
    ) -> None:
        """Move on, in one transaction with `together_with`. Raises LeaseLost when the incident is not as thought."""
        if not from_status.may_become(to_status):
            raise InvariantBroken(f"incident {lease.incident_id}: {from_status} never becomes {to_status}")
        now = self._clock.now()
        update = Update(
            key=state_key(lease.incident_id),
            set={
                "status": to_status.value,
                "updated_at": now.isoformat(),
                **_reasons(reason, category),
                **({} if provider is None else {"provider": provider}),
                **self._due(lease, to_status, next_attempt_at),
                **({"is_deferred": True} if is_deferred else {}),
            },
            # A deferred incident did not have its attempt.
            add={"attempts": -1} if is_deferred else {},
            remove=() if to_status.is_open or next_attempt_at is not None else self._done_with,
            when=AllOf((_held(lease), Equals("status", from_status.value))),
        )
        self._write(lease, update, together_with)

    def _due(self, lease: Lease, status: Status, next_attempt_at: datetime | None) -> dict[str, JsonValue]:
        now = self._clock.now()
        if status.is_open:
            return _leased(min(lease.deadline + LEASE_MARGIN, now + LONGEST_LEASE).timestamp())
        if next_attempt_at is None:
            return self._to_be_told()
        at = _moment(next_attempt_at)
        return {"next_attempt_at": at, "due": Due.RETRY.value, "due_at": at}

    def give_up(self, seen: IncidentState, reason: str) -> IncidentState | None:
        """Close an incident whose worker died for the last time; None when it is alive or was taken over."""
        update = Update(
            key=state_key(seen.incident.incident_id),
            set={
                "status": Status.FAILED.value,
                "updated_at": self._clock.now().isoformat(),
                "epoch": seen.epoch + 1,
                **_reasons(reason, None),
                **self._to_be_told(),
            },
            remove=self._done_with,
            when=_unchanged(seen),
        )
        try:
            item = self._table.write(update)
        except ConditionFailed:
            return None
        return None if item is None else state_of(item)

    # --- after the end ------------------------------------------------------------------------------------------------

    def add_after_end(self, closed: IncidentState, writes: Sequence[Write]) -> bool:
        """More about how it ended; False, and nothing written, when it was run again meanwhile."""
        stamp: dict[str, JsonValue] = {"updated_at": self._clock.now().isoformat()}
        still = AllOf((Equals("epoch", closed.epoch), Equals("status", closed.status.value)))
        try:
            self._table.write_all([Update(key=state_key(closed.incident_id), set=stamp, when=still), *writes])
        except ConditionFailed:
            return False
        return True

    def claim_notice(self, seen: IncidentState) -> IncidentState | None:
        """The right to tell people how it ended; None when nobody is to be told, or somebody else just does."""
        if seen.due is not Due.NOTICE or seen.due_at is None:
            return None
        # Later than before by however little: two tries in one moment must not look like one.
        until = max(_moment(self._clock.now() + NOTICE_TIME), round(seen.due_at + 0.001, 3))
        update = Update(
            key=state_key(seen.incident.incident_id), set={"due_at": until}, add={"notices": 1}, when=_untold(seen)
        )
        try:
            item = self._table.write(update)
        except ConditionFailed:
            return None
        return None if item is None else state_of(item)

    def note_told(self, claimed: IncidentState) -> bool:
        """False when the incident was run again meanwhile: its next end has a notice of its own."""
        update = Update(
            key=state_key(claimed.incident.incident_id), remove=("due", "due_at", "notices"), when=_untold(claimed)
        )
        try:
            self._table.write(update)
        except ConditionFailed:
            return False
        return True

    def note_resolved(self, incident_id: IncidentId) -> None:
        """Notes that its alerts are over. That ends nothing, so whoever holds the incident is not in the way."""
        resolved: dict[str, JsonValue] = {"resolved_at": round(self._clock.now().timestamp(), 3)}
        with suppress(ConditionFailed):  # it is forgotten by now
            self._table.write(Update(key=state_key(incident_id), set=resolved, when=Present()))

    @property
    def _done_with(self) -> tuple[str, ...]:
        return () if self._tells_people else ("due", "due_at")

    def _to_be_told(self) -> dict[str, JsonValue]:
        if not self._tells_people:
            return {}
        # Whoever ends it tells at once. The time is for when that one dies first.
        return {"due": Due.NOTICE.value, "due_at": _moment(self._clock.now() + NOTICE_TIME)}

    def _write(self, lease: Lease, update: Update, others: Sequence[Write] = ()) -> None:
        try:
            if others:
                self._table.write_all([update, *others])
            else:
                self._table.write(update)
        except ConditionFailed as error:
            raise LeaseLost(
                f"incident {lease.incident_id} was taken over (this worker holds epoch {lease.epoch})",
                hint="stop; whoever has it now will finish it",
            ) from error

    def _note_day(self, incident: Incident) -> None:
        """Lets incidents be listed without a scan. Written first: an entry too many, or without its incident, is
        harmless, an incident that no list shows is not."""
        at = self._clock.now()
        entry: dict[str, JsonValue] = {
            "pk": _day(at),
            "sk": f"{at.isoformat()}#{incident.incident_id}",
            "incident_id": incident.incident_id,
            "ttl": self._ttl(self._clock.now()),
        }
        self._table.write(Put(item=entry))

    def _ttl(self, now: datetime) -> int:
        return int((now + self._keep).timestamp())


def _is_state(item: Item) -> bool:
    return item.get("sk") == "state"


def _next_attempt(seen: IncidentState) -> int:
    """Whoever put an incident down to wait did not fail at it."""
    return seen.attempts if seen.status is Status.AWAITING_EVIDENCE else seen.attempts + 1


def _waiting(subject: Subject) -> str:
    return f"waiting#{subject}"


def _held(lease: Lease) -> Condition:
    return Equals("epoch", lease.epoch)


def _working(lease: Lease) -> Condition:
    """Held and not ended: a late sign of life must not put an ended incident back among the leases."""
    is_open = AnyOf(tuple(Equals("status", status.value) for status in Status if status.is_open))
    return AllOf((_held(lease), is_open))


def _unchanged(seen: IncidentState) -> Condition:
    """As it was read: same owner, same status, and no sign of life since."""
    return AllOf(
        (
            Equals("epoch", seen.epoch),
            Equals("status", seen.status.value),
            Equals("lease_expires_at", seen.lease_expires_at),
        )
    )


def _untold(seen: IncidentState) -> Condition:
    return AllOf((Equals("epoch", seen.epoch), Equals("due", Due.NOTICE.value), Equals("due_at", seen.due_at)))


def _moment(at: datetime) -> float:
    return round(at.timestamp(), 3)


def _leased(expires: float) -> dict[str, JsonValue]:
    expires = round(expires, 3)
    return {"lease_expires_at": expires, "due": Due.LEASE.value, "due_at": expires}


def _reasons(reason: str | None, category: str | None) -> dict[str, JsonValue]:
    found: dict[str, JsonValue] = {}
    if reason is not None:
        found["error_reason"] = reason if len(reason) <= REASON_CHARACTERS else f"{reason[: REASON_CHARACTERS - 1]}…"
    if category is not None:
        found["error_category"] = category
    return found


def _day(moment: datetime) -> str:
    return f"day#{moment.astimezone(UTC).date().isoformat()}"
