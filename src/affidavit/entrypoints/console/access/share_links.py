"""Links that show one incident, read only, to people without a login: they expire, are revocable and logged."""

import hashlib
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from affidavit.errors import InputRefused
from affidavit.incidents.incident import IncidentId
from affidavit.ports.clock import Clock
from affidavit.ports.json import JsonValue
from affidavit.ports.table import Delete, Key, Put, Table

SPANS: Final = {"1h": timedelta(hours=1), "24h": timedelta(hours=24), "7d": timedelta(days=7)}
_LONGEST: Final = 128


@dataclass(frozen=True, kw_only=True, slots=True)
class Share:
    """`handle` names the link in lists; it opens nothing."""

    handle: str
    incident_id: IncidentId
    by: str
    expires_at: datetime


class Shares:
    def __init__(self, table: Table, clock: Clock) -> None:
        self._table, self._clock = table, clock

    def make(self, incident_id: IncidentId, by: str, span: str) -> str:
        """The token for the link, which is stored nowhere. Raises InputRefused."""
        if span not in SPANS:
            raise InputRefused(f"a link cannot live for {span!a}", hint=f"choose one of {', '.join(SPANS)}")
        token, expires = secrets.token_urlsafe(32), self._clock.now() + SPANS[span]
        handle = _handle(token)
        common: dict[str, JsonValue] = {
            "incident_id": incident_id,
            "by": by,
            "expires_at": expires.timestamp(),
            "ttl": int(expires.timestamp()),
        }
        self._table.write_all(
            [
                Put(item={**common, "pk": _key(handle).pk, "sk": _key(handle).sk}),
                Put(item={**common, "pk": _of(incident_id), "sk": handle}),
            ]
        )
        return token

    def find(self, token: str) -> Share | None:
        if not token or len(token) > _LONGEST:
            return None
        handle = _handle(token)
        item = self._table.get(_key(handle))
        return self._live(handle, item) if item is not None else None

    def of(self, incident_id: IncidentId) -> list[Share]:
        rows = [(str(item["sk"]), item) for item in self._table.query(_of(incident_id))]
        return [share for handle, item in rows if (share := self._live(handle, item)) is not None]

    def revoke(self, incident_id: IncidentId, handle: str) -> bool:
        """False when this incident has no such link: another incident's stays."""
        if handle not in {share.handle for share in self.of(incident_id)}:
            return False
        self._table.write_all([Delete(key=_key(handle)), Delete(key=Key(pk=_of(incident_id), sk=handle))])
        return True

    def _live(self, handle: str, item: Mapping[str, JsonValue]) -> Share | None:
        expires = item["expires_at"]
        until = datetime.fromtimestamp(float(expires) if isinstance(expires, int | float) else 0, UTC)
        if until <= self._clock.now():
            return None
        return Share(
            handle=handle, incident_id=IncidentId(str(item["incident_id"])), by=str(item["by"]), expires_at=until
        )


def _handle(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).hexdigest()


def _key(handle: str) -> Key:
    return Key(pk=f"console-share#{handle}", sk="share")


def _of(incident_id: IncidentId) -> str:
    return f"console-shares-of#{incident_id}"
