"""Asks CloudTrail who else wrote between our read and our call, where an API has no compare-and-swap.

Such a write is overwritten before anybody sees it, so it is reported afterwards. Our own call, found by its request id,
tells CloudTrail's time and that it has delivered so far: before that nobody can say.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from affidavit.errors import AffidavitError
from affidavit.ports.aws_reads_and_changes import REQUEST_IDS
from affidavit.ports.json import Item, JsonValue
from affidavit.ports.workload_inspector import LookupKey, TrailLookup, TrailPage
from affidavit.remediation.actions.arns import parse_arn
from affidavit.remediation.actions.catalog import action_type
from affidavit.remediation.plan.plan_record import Plan, UndoClass
from affidavit.remediation.record.chain import RecordEntry

READ_AT = "read_at"
CALLED_AT = "called_at"
# Clocks differ, and CloudTrail's tells whole seconds.
AROUND = timedelta(minutes=5)
MOST_EVENTS = 100


class Trail(Protocol):
    def trail(self, lookup: TrailLookup, *, start: int, end: int, limit: int) -> TrailPage: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class OwnCall:
    """A call of ours, from the read before it to its answer, by our clock."""

    target: str
    read_at: datetime
    called_at: datetime
    request_ids: frozenset[str]


@dataclass(frozen=True, kw_only=True, slots=True)
class OthersSeen:
    """What others wrote in between, each a sentence, and why somebody could not say."""

    writes: tuple[str, ...] = ()
    not_known: tuple[str, ...] = ()

    @property
    def sentences(self) -> tuple[str, ...]:
        return (*self.writes, *self.not_known)


@dataclass(frozen=True, kw_only=True)
class Bystanders:
    trail: Trail

    def seen(self, plan: Plan, record: Sequence[RecordEntry]) -> OthersSeen:
        """Never raises: a repair that is done stays done, whether or not CloudTrail answers."""
        writes, not_known = list[str](), list[str]()
        calls = list(own_calls(plan, record))
        ours = frozenset(one for call in calls for one in call.request_ids)
        for call in calls:
            try:
                found = self._others(call, ours)
            except AffidavitError as error:
                not_known.append(f"whether somebody else wrote to {call.target} meanwhile is not known: {error}")
                continue
            if found is None:
                not_known.append(f"CloudTrail does not show our own call on {call.target} yet: ask again")
            writes += found or ()
        return OthersSeen(writes=tuple(writes), not_known=tuple(not_known))

    def _others(self, call: OwnCall, ours: frozenset[str]) -> list[str] | None:
        events = {
            str(event.get("eventID")): event for lookup in _lookups(call.target) for event in self._page(lookup, call)
        }
        own = [event for event in events.values() if event.get("requestID") in call.request_ids]
        if not own:
            return None
        last = max(_time(event) for event in own)
        first = last - timedelta(seconds=math.ceil((call.called_at - call.read_at).total_seconds()) + 1)
        others = [event for event in events.values() if event.get("requestID") not in ours and _is_write(event)]
        return [_sentence(event, call) for event in others if first <= _time(event) <= last]

    def _page(self, lookup: TrailLookup, call: OwnCall) -> Sequence[Item]:
        start, end = (int(at.timestamp() * 1000) for at in (call.read_at - AROUND, call.called_at + AROUND))
        return self.trail.trail(lookup, start=start, end=end, limit=MOST_EVENTS).events


def own_calls(plan: Plan, record: Sequence[RecordEntry]) -> Iterator[OwnCall]:
    """The calls that wrote a state over another and that no token protected, by the record."""
    began: dict[object, datetime] = {}
    for entry in record:
        step = entry.details.get("step")
        if READ_AT in entry.details:
            began[step] = datetime.fromisoformat(str(entry.details[READ_AT]))
        ids = entry.details.get(REQUEST_IDS)
        if isinstance(step, int) and isinstance(ids, list) and ids and step in began:
            action = plan.actions[step]
            if action.undo_class is UndoClass.EXACT and not action_type(action.type).has_token:
                known = frozenset(str(one) for one in ids)
                called = datetime.fromisoformat(str(entry.details.get(CALLED_AT, entry.at.isoformat())))
                yield OwnCall(target=action.target, read_at=began[step], called_at=called, request_ids=known)


def request_ids(answer: Item) -> Sequence[JsonValue]:
    """Under which CloudTrail will know the call."""
    ids = answer.get(REQUEST_IDS)
    return [str(one) for one in ids] if isinstance(ids, list) else []


def _lookups(target: str) -> Iterator[TrailLookup]:
    """CloudTrail knows some things by their ARN, some by their name."""
    arn = parse_arn(target)
    name = arn.resource.split(":")[1] if arn.service == "lambda" else arn.resource.rpartition("/")[2]
    for value in (name, target):
        yield TrailLookup(by=LookupKey.RESOURCE, value=value, is_global=arn.service == "iam")


def _is_write(event: Item) -> bool:
    return str(event.get("readOnly")).lower() != "true" and not event.get("errorCode")


def _time(event: Item) -> datetime:
    return datetime.fromisoformat(str(event["eventTime"]).replace("Z", "+00:00"))


def _sentence(event: Item, call: OwnCall) -> str:
    who = event.get("userIdentity")
    name = who.get("arn") if isinstance(who, Mapping) else None
    return (
        f"{name or 'somebody'} called {event.get('eventName')} on {call.target} at {event.get('eventTime')}, "
        f"about between our read and our call: ours has overwritten it (event {event.get('eventID')})"
    )
