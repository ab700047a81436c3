"""Who may change an incident.

One conditional write takes an incident and raises its epoch. Every later write is conditional on that epoch, so a
second delivery, the watchdog and a worker that froze and woke up can never both finish it.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta

from affidavit.errors import InvariantBroken
from affidavit.incidents.diagnostician import LeaseLost
from affidavit.incidents.incident import Incident, IncidentId, incident_to_json
from affidavit.incidents.state import Due, Lease, State, Status, lease_of, state_key, state_of
from affidavit.ports import (
    Absent,
    AllOf,
    AnyOf,
    Clock,
    Condition,
    ConditionFailed,
    Equals,
    JsonValue,
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


class IncidentStates:
    """With `tells_people` an incident that ends stays in the index until its notice is sent."""

    def __init__(
        self, table: Table, clock: Clock, *, keep: timedelta = timedelta(days=30), tells_people: bool = False
    ) -> None:
        self._table, self._clock, self._keep, self._tells_people = table, clock, keep, tells_people

    @property
    def table(self) -> Table:
        return self._table

    # --- reading -----------------------------------------------------------------------------------------------------

    def get_state(self, incident_id: IncidentId) -> State | None:
        item = self._table.get(state_key(incident_id))
        return None if item is None else state_of(item)

    def due(
        self, why: Due, *, limit: int = 100, unreadable: Callable[[str, Exception], None] | None = None
    ) -> list[State]:
        """May lag behind; taking the incident decides. `unreadable` is told of an item that is none of ours: one
        that another version wrote, or somebody changed, must not keep the others from their turn."""
        items = self._table.due_before(why.value, self._clock.now().timestamp(), limit=limit)
        found: list[State] = []
        for item in (one for one in items if one.get("sk") == "state"):
            try:
                found.append(state_of(item))
            except (ValueError, KeyError, InvariantBroken) as error:
                if unreadable is None:
                    raise
                unreadable(str(item.get("pk")), error)
        return found

    def listed(self, day: datetime, *, limit: int) -> list[State]:
        """The incidents that were received on this day (UTC), newest first."""
        entries = self._table.query(_day(day), newest_first=True, limit=limit)
        ids = dict.fromkeys(IncidentId(str(entry["incident_id"])) for entry in entries)
        states = (self.get_state(incident_id) for incident_id in ids)
        return [state for state in states if state is not None]

    # --- taking ------------------------------------------------------------------------------------------------------

    def take(self, incident: Incident, seen: State | None, *, deadline: datetime) -> Lease | None:
        """One conditional write; None when somebody else was first. `seen` is what the caller read before."""
        try:
            if seen is None:
                return self.write_initial_state(incident, deadline=deadline)
            return self._retake(seen, deadline=deadline)
        except ConditionFailed:
            return None

    def write_initial_state(self, incident: Incident, *, deadline: datetime) -> Lease:
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
        self._table.write(Put(item=item, when=Absent()))
        return lease_of(state_of(item), deadline)

    def _retake(self, seen: State, *, deadline: datetime) -> Lease:
        now = self._clock.now()
        if not seen.is_due(now):
            raise ConditionFailed(f"incident {seen.incident.incident_id} is not due")
        return self._reopen(seen, attempts=seen.attempts + 1, deadline=deadline)

    def reopen(self, seen: State, *, deadline: datetime) -> Lease | None:
        """Take an incident that ended, on a person's word: attempts are counted anew."""
        try:
            return self._reopen(seen, attempts=1, deadline=deadline)
        except ConditionFailed:
            return None

    def _reopen(self, seen: State, *, attempts: int, deadline: datetime) -> Lease:
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
            remove=("next_attempt_at", "is_deferred", "error_reason", "error_category", "notices"),
            # Status and lease may move without the epoch only by their owner's hand, and that owner renews the lease.
            when=_unchanged(seen),
        )
        item = self._table.write(update)
        if item is None:
            raise InvariantBroken(f"incident {seen.incident.incident_id} vanished while it was taken")
        return lease_of(state_of(item), deadline)

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

    def give_up(self, seen: State, reason: str) -> State | None:
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

    def add_after_end(self, closed: State, writes: Sequence[Write]) -> bool:
        """More about how it ended; False, and nothing written, when it was run again meanwhile."""
        stamp: dict[str, JsonValue] = {"updated_at": self._clock.now().isoformat()}
        still = AllOf((Equals("epoch", closed.epoch), Equals("status", closed.status.value)))
        try:
            self._table.write_all([Update(key=state_key(closed.incident_id), set=stamp, when=still), *writes])
        except ConditionFailed:
            return False
        return True

    def claim_notice(self, seen: State) -> State | None:
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

    def note_told(self, claimed: State) -> bool:
        """False when the incident was run again meanwhile: its next end has a notice of its own."""
        update = Update(
            key=state_key(claimed.incident.incident_id), remove=("due", "due_at", "notices"), when=_untold(claimed)
        )
        try:
            self._table.write(update)
        except ConditionFailed:
            return False
        return True

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


def _held(lease: Lease) -> Condition:
    return Equals("epoch", lease.epoch)


def _working(lease: Lease) -> Condition:
    """Held and not ended: a late sign of life must not put an ended incident back among the leases."""
    is_open = AnyOf(tuple(Equals("status", status.value) for status in Status if status.is_open))
    return AllOf((_held(lease), is_open))


def _unchanged(seen: State) -> Condition:
    """As it was read: same owner, same status, and no sign of life since."""
    return AllOf(
        (
            Equals("epoch", seen.epoch),
            Equals("status", seen.status.value),
            Equals("lease_expires_at", seen.lease_expires_at),
        )
    )


def _untold(seen: State) -> Condition:
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
