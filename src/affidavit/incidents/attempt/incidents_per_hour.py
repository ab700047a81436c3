"""Limits how many incidents reach a chat model in any 60 minutes (the circuit breaker).

Each of the N places of the window is an item of its own, held by one incident until it falls free. Taking one is a
conditional write, so among any number of simultaneous incidents exactly N get in; and because a place names who holds
it, an incident that crashed and came back does not take a second one. (A counter per clock hour would let 2·N through
around the full hour, and would count a crashed worker twice.)
"""

from datetime import UTC, datetime, timedelta

from affidavit.errors import InvariantBroken
from affidavit.incidents.incident import IncidentId
from affidavit.ports.clock import Clock
from affidavit.ports.json import Item, JsonValue
from affidavit.ports.table import Absent, AnyOf, AtMost, ConditionFailed, Put, Table

WINDOW = timedelta(hours=1)
_PK = "breaker"


class Breaker:
    def __init__(self, table: Table, clock: Clock, *, limit: int) -> None:
        self._table, self._clock, self._limit = table, clock, limit

    def admit(self, incident_id: IncidentId) -> bool:
        """Whether this incident may run now; True again for one that already holds a place."""
        now = self._clock.now().timestamp()
        held = {name: place for name, place in self._places().items() if _free_at(place) > now}
        if any(place["incident_id"] == incident_id for place in held.values()):
            return True
        return any(self._take(name, incident_id) for name in self._names() if name not in held)

    def room_at(self) -> datetime:
        """When the next place falls free; now, if one is free."""
        now = self._clock.now()
        ends = [_free_at(place) for place in self._places().values()]
        if len(ends) < self._limit:
            return now
        return max(now, datetime.fromtimestamp(min(ends), UTC))

    def _take(self, name: str, incident_id: IncidentId) -> bool:
        now = self._clock.now()
        free_at = (now + WINDOW).timestamp()
        item: dict[str, JsonValue] = {
            "pk": _PK,
            "sk": name,
            "incident_id": incident_id,
            "free_at": free_at,
            "ttl": int(free_at) + 86_400,
        }
        try:
            self._table.write(Put(item=item, when=AnyOf((Absent(), AtMost("free_at", now.timestamp())))))
        except ConditionFailed:
            return False
        return True

    def _names(self) -> list[str]:
        return [f"place#{number:05d}" for number in range(self._limit)]

    def _places(self) -> dict[str, Item]:
        """Places above the limit, left from a larger one, do not count."""
        wanted = set(self._names())
        items = self._table.query(_PK, sk_prefix="place#")
        return {str(item["sk"]): item for item in items if item["sk"] in wanted}


def _free_at(place: Item) -> float:
    value = place["free_at"]
    if not isinstance(value, int | float):
        raise InvariantBroken(f"breaker {place['sk']} has no time at which it falls free")
    return value
