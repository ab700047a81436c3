"""Remembers, for each channel, what was told of an incident, and how many notices went out in this minute.

One item per incident and channel, so that a channel that fails repeats no other.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from affidavit.incidents.incident import IncidentId
from affidavit.incidents.notices.channel import Channel
from affidavit.ports.clock import Clock
from affidavit.ports.json import JsonValue
from affidavit.ports.table import Absent, AnyOf, AtMost, ConditionFailed, Key, Put, Table, Update

_MINUTE = timedelta(minutes=1)
# A channel's name of its message is needed for as long as the incident may end once more.
_KEPT = timedelta(days=30)


@dataclass(frozen=True, kw_only=True, slots=True)
class ToldState:
    """`message` is the channel's name of the incident's message; it outlives the end (`epoch`) it was sent for."""

    epoch: int
    tries: int = 0
    is_settled: bool = False
    """Told, not wanted, or given up."""
    not_before: float = 0.0
    message: str = ""

    def tried(self, *, not_before: float = 0.0) -> "ToldState":
        return replace(self, tries=self.tries + 1, not_before=not_before)

    def put_off(self, until: float) -> "ToldState":
        return replace(self, not_before=until)

    def settled(self, message: str = "") -> "ToldState":
        return replace(self, is_settled=True, message=message or self.message)


class ToldStates:
    def __init__(self, table: Table, clock: Clock) -> None:
        self._table, self._clock = table, clock

    def of(self, incident_id: IncidentId, channel: Channel, *, epoch: int) -> ToldState:
        item = self._table.get(_key(incident_id, channel))
        if item is None:
            return ToldState(epoch=epoch)
        message = str(item.get("message") or "")
        if item.get("epoch") != epoch:
            return ToldState(epoch=epoch, message=message)
        return ToldState(
            epoch=epoch,
            tries=int(_number(item.get("tries"))),
            is_settled=item.get("is_settled") is True,
            not_before=_number(item.get("not_before")),
            message=message,
        )

    def keep(self, incident_id: IncidentId, channel: Channel, told: ToldState) -> None:
        key = _key(incident_id, channel)
        item: dict[str, JsonValue] = {
            "pk": key.pk,
            "sk": key.sk,
            "epoch": told.epoch,
            "tries": told.tries,
            "is_settled": told.is_settled,
            "not_before": told.not_before,
            "message": told.message,
            "ttl": int((self._clock.now() + _KEPT).timestamp()),
        }
        self._table.write(Put(item=item))

    def message(self, incident_id: IncidentId, channel: Channel) -> str:
        """The channel's name of the incident's message; empty when it has none."""
        item = self._table.get(_key(incident_id, channel))
        return "" if item is None else str(item.get("message") or "")

    def keep_message(self, incident_id: IncidentId, channel: Channel, message: str) -> None:
        """Only the name: whether the end of the incident was told stays as it is."""
        ttl = int((self._clock.now() + _KEPT).timestamp())
        self._table.write(Update(key=_key(incident_id, channel), set={"message": message, "ttl": ttl}))

    def has_room(self, channel: Channel) -> bool:
        """Counts a notice against the channel's minute; False, and nothing counted, when the minute is full."""
        now = self._clock.now()
        minute = now.replace(second=0, microsecond=0)
        update = Update(
            key=Key(pk=f"notices#{channel.name}", sk=minute.isoformat()),
            set={"ttl": int((minute + 60 * _MINUTE).timestamp())},
            add={"sent": 1},
            when=AnyOf((Absent(), AtMost("sent", channel.per_minute - 1))),
        )
        try:
            self._table.write(update)
        except ConditionFailed:
            return False
        return True

    def next_minute(self) -> datetime:
        return self._clock.now().replace(second=0, microsecond=0) + _MINUTE


def _key(incident_id: IncidentId, channel: Channel) -> Key:
    return Key(pk=f"incident#{incident_id}", sk=f"told#{channel.name}")


def _number(value: JsonValue) -> float:
    return value if isinstance(value, int | float) else 0.0
