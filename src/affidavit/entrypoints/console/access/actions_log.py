"""Logs every action with who took it: one row each, and one line to the server's log."""

import logging
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from affidavit.ports.clock import Clock
from affidavit.ports.table import Put, Table

_KEPT = timedelta(days=400)
_LOG = logging.getLogger("affidavit.console")


@dataclass(frozen=True, kw_only=True, slots=True)
class ConsoleAction:
    at: datetime
    who: str
    what: str
    of: str


class ActionsLog:
    def __init__(self, table: Table, clock: Clock) -> None:
        self._table, self._clock = table, clock

    def note(self, who: str, what: str, of: str = "") -> None:
        now = self._clock.now()
        self._table.write(
            Put(
                item={
                    "pk": _day(now),
                    "sk": f"{now.isoformat()}#{secrets.token_hex(4)}",
                    "who": who,
                    "what": what,
                    "of": of,
                    "ttl": int((now + _KEPT).timestamp()),
                }
            )
        )
        _LOG.info("%s: %s %s", who, what, of)

    def latest(self, count: int, *, days: int = 7) -> list[ConsoleAction]:
        found: list[ConsoleAction] = []
        for action in self._back(days):
            if len(found) == count:
                break
            found.append(action)
        return found

    def _back(self, days: int) -> Iterator[ConsoleAction]:
        now = self._clock.now()
        for back in range(days):
            for item in self._table.query(_day(now - timedelta(days=back)), newest_first=True, limit=100):
                at = datetime.fromisoformat(str(item["sk"]).partition("#")[0])
                yield ConsoleAction(at=at, who=str(item["who"]), what=str(item["what"]), of=str(item["of"]))


def _day(moment: datetime) -> str:
    return f"console-actions#{moment.astimezone(UTC).date().isoformat()}"
