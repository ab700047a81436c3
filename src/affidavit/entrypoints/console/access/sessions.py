"""Sessions as rows of a table. The browser holds a random id; only its digest is stored, and deleting a row ends it."""

import hashlib
import hmac
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from affidavit.entrypoints.console.access.person import Person, roles_named
from affidavit.ports.clock import Clock
from affidavit.ports.json import JsonValue
from affidavit.ports.table import Absent, ConditionFailed, Delete, Key, Lacks, Put, Table

LIFETIME: Final = timedelta(hours=12)
_LONGEST_ID: Final = 128


@dataclass(frozen=True, kw_only=True, slots=True)
class ConsoleSession:
    """`handle` names the session in lists; it opens nothing. `token` must stand in every form."""

    handle: str
    person: Person
    token: str
    started_at: datetime
    expires_at: datetime

    def has_token(self, given: str) -> bool:
        return hmac.compare_digest(given.encode(), self.token.encode())


class ConsoleSessions:
    def __init__(self, table: Table, clock: Clock) -> None:
        self._table, self._clock = table, clock

    def start(self, person: Person) -> str:
        """The id for the browser's cookie. Always a new one: an id that somebody brought along is never taken over."""
        session_id, now = secrets.token_urlsafe(32), self._clock.now()
        expires, handle = now + LIFETIME, _handle(session_id)
        item: dict[str, JsonValue] = {
            "pk": _key(handle).pk,
            "sk": _key(handle).sk,
            "name": person.name,
            "roles": sorted(person.roles),
            "token": secrets.token_urlsafe(32),
            "started_at": now.isoformat(),
            "expires_at": expires.timestamp(),
            "ttl": int(expires.timestamp()),
        }
        listed: dict[str, JsonValue] = {"pk": _of(person.name), "sk": handle, "ttl": int(expires.timestamp())}
        self._table.write_all([Put(item=item), Put(item=listed)])
        return session_id

    def find(self, session_id: str) -> ConsoleSession | None:
        if not session_id or len(session_id) > _LONGEST_ID:
            return None
        return self._read(_handle(session_id))

    def end(self, session_id: str) -> None:
        self.revoke(_handle(session_id))

    def revoke(self, handle: str) -> None:
        found = self._read(handle)
        deletes = [Delete(key=_key(handle))]
        if found is not None:
            deletes.append(Delete(key=Key(pk=_of(found.person.name), sk=handle)))
        self._table.write_all(deletes)

    def of(self, name: str) -> list[ConsoleSession]:
        """All sessions of a person that are open."""
        handles = [str(item["sk"]) for item in self._table.query(_of(name))]
        return [found for handle in handles if (found := self._read(handle)) is not None]

    def _read(self, handle: str) -> ConsoleSession | None:
        item = self._table.get(_key(handle))
        if item is None:
            return None
        found = _session(handle, item)
        return found if found.expires_at > self._clock.now() else None


class OneTime:
    """Random values that work once, each with a note: the state of a login, a link of the command."""

    def __init__(self, table: Table, clock: Clock, *, use: str, lifetime: timedelta) -> None:
        self._table, self._clock, self._use, self._lifetime = table, clock, use, lifetime

    def issue(self, note: Mapping[str, JsonValue]) -> str:
        value = secrets.token_urlsafe(32)
        self.keep(value, note)
        return value

    def keep(self, value: str, note: Mapping[str, JsonValue]) -> None:
        """Of a random value that somebody else made."""
        ttl = (self._clock.now() + self._lifetime).timestamp()
        key = self._key(value)
        self._table.write(Put(item={**note, "pk": key.pk, "sk": key.sk, "until": ttl, "ttl": int(ttl)}, when=Absent()))

    def redeem(self, value: str) -> Mapping[str, JsonValue] | None:
        """The note; None when the value is unknown, too old, or was redeemed before. Of many callers one gets it."""
        if not value or len(value) > _LONGEST_ID:
            return None
        key = self._key(value)
        note = self._table.get(key)
        if note is None:
            return None
        try:
            self._table.write(Put(item={**note, "used": True}, when=Lacks("used")))
        except ConditionFailed:
            return None
        until = note.get("until")
        return note if isinstance(until, int | float) and until > self._clock.now().timestamp() else None

    def _key(self, value: str) -> Key:
        return Key(pk=f"console-{self._use}#{_handle(value)}", sk="once")


def _handle(value: str) -> str:
    return hashlib.sha256(value.encode("utf-8", "surrogateescape")).hexdigest()


def _key(handle: str) -> Key:
    return Key(pk=f"console-session#{handle}", sk="session")


def _of(name: str) -> str:
    return f"console-sessions-of#{name}"


def _session(handle: str, item: Mapping[str, JsonValue]) -> ConsoleSession:
    roles, expires = item.get("roles"), item["expires_at"]
    names = [str(one) for one in roles] if isinstance(roles, list | tuple) else []
    return ConsoleSession(
        handle=handle,
        person=Person(name=str(item["name"]), roles=roles_named(names)),
        token=str(item["token"]),
        started_at=datetime.fromisoformat(str(item["started_at"])),
        expires_at=datetime.fromtimestamp(float(expires) if isinstance(expires, int | float) else 0, UTC),
    )
