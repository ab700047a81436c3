"""Pages of incidents: those in work first, then the others newest first, by filters that a link can carry."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from affidavit.errors import InputRefused
from affidavit.evidence.incident_subject import SubjectKind
from affidavit.incidents.incident import IncidentId
from affidavit.incidents.store.incident_leases import IncidentStates
from affidavit.incidents.store.state import Due, IncidentState, Status
from affidavit.incidents.store.stored_diagnoses import IncidentContext, IncidentContexts

PAGE = 50
# A page that finds little ends after so many, about a tenth of a second: it says how far it looked, and a link goes on
# from there.
MOST_LOOKED_AT = 400
MOST_IN_WORK = 100
_AT_ONCE = 200
_DAYS_KEPT = 400


@dataclass(frozen=True, kw_only=True, slots=True)
class IncidentFilter:
    """`since` bounds how far back; `words` must stand in the incident's names, alert or cause."""

    statuses: frozenset[Status] = frozenset()
    kind: SubjectKind | None = None
    subject: str = ""
    account: str = ""
    words: str = ""
    since: datetime | None = None

    def lets(self, state: IncidentState, context: Callable[[], IncidentContext | None]) -> bool:
        incident = state.incident
        return (
            (not self.statuses or state.status in self.statuses)
            and (self.kind is None or incident.subject.kind is self.kind)
            and self.subject.lower() in incident.subject.id.lower()
            and (not self.account or self.account == incident.account)
            and self._has_words(state, context)
        )

    def _has_words(self, state: IncidentState, context: Callable[[], IncidentContext | None]) -> bool:
        wanted = self.words.lower().split()
        if not wanted:
            return True
        incident = state.incident
        near = f"{incident.incident_id} {incident.subject.id} {incident.message} {state.error_reason or ''}".lower()
        missing = [word for word in wanted if word not in near]
        if not missing:
            return True
        if not state.status.has_diagnosis:
            return False
        found = context()
        cause = found.diagnosis.root_cause.lower() if found is not None and found.diagnosis is not None else ""
        return all(word in cause for word in missing)


@dataclass(frozen=True, kw_only=True, slots=True)
class ListedIncident:
    state: IncidentState
    context: IncidentContext | None


@dataclass(frozen=True, kw_only=True, slots=True)
class IncidentPage:
    """`next_cursor` is empty at the end; `looked_at` counts the incidents that were read for this page."""

    listed: tuple[ListedIncident, ...]
    next_cursor: str
    looked_at: int
    back_to: datetime | None


@dataclass(frozen=True, kw_only=True)
class IncidentListing:
    states: IncidentStates
    contexts: IncidentContexts

    def page(self, wanted: IncidentFilter, *, now: datetime, cursor: str = "", size: int = PAGE) -> IncidentPage:
        """The first page begins with everything in work. Raises InputRefused for a cursor that is none."""
        in_work = self._in_work()
        shown = [one for one in in_work if wanted.lets(one, lambda: None)] if not cursor else []
        known = {one.incident_id for one in in_work}
        found = [ListedIncident(state=one, context=None) for one in shown]
        looked, last = 0, ""
        for key, state in self._ended(wanted, now, cursor):
            if len(found) >= size or looked >= MOST_LOOKED_AT:
                return _page(found, next_cursor=last, looked_at=looked, back_to=last)
            looked, last = looked + 1, key
            if state is None or state.incident_id in known:
                continue
            context = _Once(self.contexts, state.incident_id)
            if wanted.lets(state, context):
                found.append(ListedIncident(state=state, context=context()))
                known.add(state.incident_id)
        return _page(found, next_cursor="", looked_at=looked, back_to=last)

    def _in_work(self) -> list[IncidentState]:
        """Newest first. They stand in the index of what is due, so none is missed however many ended since."""
        found = [
            state
            for due in (Due.LEASE, Due.EVIDENCE)
            for state in self.states.standing(due, limit=MOST_IN_WORK)
            if state.status.is_open
        ]
        return sorted(found, key=lambda state: state.created_at, reverse=True)

    def _ended(self, wanted: IncidentFilter, now: datetime, cursor: str) -> Iterator[tuple[str, IncidentState | None]]:
        day, after = _read_cursor(cursor) if cursor else (now, "")
        oldest = (wanted.since or now - timedelta(days=_DAYS_KEPT)).astimezone(UTC)
        empty = 0
        while day.date() >= oldest.date() and empty <= self.states.days_kept:
            is_empty = True
            for key, incident_id in self._received(day, after):
                is_empty = False
                if wanted.since is not None and key.partition("#")[0] < oldest.isoformat():
                    return
                yield key, self.states.get_state(incident_id)
            day, after, empty = day - timedelta(days=1), "", empty + 1 if is_empty else 0

    def _received(self, day: datetime, after: str) -> Iterator[tuple[str, IncidentId]]:
        """All of a day, asked for in parts: a day of an alert storm has more than a page may look at."""
        while some := self.states.received_on(day, after=after, limit=_AT_ONCE):
            yield from some
            after = some[-1][0]


def _page(found: list[ListedIncident], *, next_cursor: str, looked_at: int, back_to: str) -> IncidentPage:
    at = _read_cursor(back_to)[0] if back_to else None
    return IncidentPage(listed=tuple(found), next_cursor=next_cursor, looked_at=looked_at, back_to=at)


def _read_cursor(cursor: str) -> tuple[datetime, str]:
    try:
        return datetime.fromisoformat(cursor.partition("#")[0]).astimezone(UTC), cursor
    except ValueError as error:
        raise InputRefused("this place in the list does not exist", hint="begin again at the first page") from error


class _Once:
    """A context that is read when somebody needs it, and once."""

    def __init__(self, contexts: IncidentContexts, incident_id: IncidentId) -> None:
        self._contexts, self._incident_id = contexts, incident_id
        self._found: list[IncidentContext | None] = []

    def __call__(self) -> IncidentContext | None:
        if not self._found:
            self._found.append(self._contexts.get_context(self._incident_id))
        return self._found[0]
