"""Keys of clients in a file: one line each, `name sha256-of-the-key scopes`, where scopes are `read,collect,files`.

The file holds no key, so whoever reads it cannot use one. Taking a line away revokes that key at once.
"""

import hashlib
import logging
import os
import re
import secrets
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from mcp.server.auth.provider import AccessToken

from affidavit.entrypoints.mcp.scopes import AccessScope
from affidavit.errors import Conflict, InputRefused, NotFound

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")
_DIGEST: Final = re.compile(r"[0-9a-f]{64}")
_PREFIX: Final = "affidavit:"
_HEADING: Final = "# name, sha256 of the key, scopes. Take a line away to revoke its key.\n"
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True, slots=True)
class ClientKey:
    name: str
    sha256: str
    scopes: frozenset[AccessScope]

    def line(self) -> str:
        scopes = ",".join(scope.removeprefix(_PREFIX) for scope in AccessScope if scope in self.scopes)
        return f"{self.name} {self.sha256} {scopes}\n"


class ClientKeys:
    """The keys of a file, read again whenever it has changed. A line that cannot be read opens nothing."""

    def __init__(self, path: Path) -> None:
        """Raises InputRefused when the file cannot be read, or others may write it."""
        self._path = path
        self._seen: tuple[int, ...] | None = None
        self._keys: dict[str, ClientKey] = {}
        self._look()

    async def verify_token(self, token: str) -> AccessToken | None:
        try:
            self._look()
        except InputRefused as error:
            _LOG.warning("no key of the file opens: %s", error)
            self._seen, self._keys = None, {}
        found = self._keys.get(_digest(token))
        # Marked, so that it is no name that an OAuth issuer or the server's own key has.
        return AccessToken(token="", client_id=f"key:{found.name}", scopes=sorted(found.scopes)) if found else None

    def _look(self) -> None:
        try:
            status = self._path.stat()
            seen = (status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino)
            if seen != self._seen:
                _refuse_open_to_others(self._path, status)
                self._keys = {key.sha256: key for key in _keys_in(self._path)}
                self._seen = seen
        except OSError as error:
            raise _unreadable(self._path, error) from error


def add_client_key(path: Path, name: str, scopes: Sequence[str]) -> str:
    """The new key, which is nowhere else. Raises Conflict when the client has one already."""
    granted = frozenset(_scope(each) for each in scopes)
    if not _NAME.fullmatch(name):
        raise InputRefused(f"{name!a} is no name of a client", hint="use letters, digits and . _ @ -")
    if AccessScope.READ not in granted:
        raise InputRefused("a key without the scope read opens nothing", hint="add --scope read")
    lines = _lines(path) if path.exists() else [_HEADING]
    if any(key.name == name for line in lines if (key := _key_in(line)) is not None):
        raise Conflict(f"{name} has a key in {path}", hint=f"revoke it first: affidavit keys revoke {name}")
    key = secrets.token_urlsafe(32)
    _write(path, [*lines, ClientKey(name=name, sha256=_digest(key), scopes=granted).line()])
    return key


def revoke_client_key(path: Path, name: str) -> None:
    """Raises NotFound when no line names the client."""
    lines = _lines(path)
    kept = [line for line in lines if line.split(maxsplit=1)[:1] != [name]]
    if len(kept) == len(lines):
        raise NotFound(f"{path} has no key of {name!a}", hint="its lines begin with the names that it has")
    _write(path, kept)


def _keys_in(path: Path) -> Iterator[ClientKey]:
    for number, line in enumerate(_lines(path), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        key = _key_in(line)
        if key is not None:
            yield key
        else:
            _LOG.warning("line %d of %s is no key and opens nothing", number, path)


def _key_in(line: str) -> ClientKey | None:
    parts = line.split()
    if len(parts) != 3 or not _NAME.fullmatch(parts[0]) or not _DIGEST.fullmatch(parts[1]):
        return None
    try:
        return ClientKey(name=parts[0], sha256=parts[1], scopes=frozenset(map(_scope, parts[2].split(","))))
    except InputRefused:
        return None


def _scope(text: str) -> AccessScope:
    try:
        return AccessScope(f"{_PREFIX}{text.removeprefix(_PREFIX)}")
    except ValueError as error:
        known = ", ".join(scope.removeprefix(_PREFIX) for scope in AccessScope)
        raise InputRefused(f"there is no scope {text!a}", hint=f"there are {known}") from error


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8", errors="replace").splitlines(keepends=True)
    except OSError as error:
        raise _unreadable(path, error) from error


def _write(path: Path, lines: Sequence[str]) -> None:
    """Whole or not at all: a server may read it at any moment."""
    text = "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)
    try:
        place = path.resolve()
        descriptor, written = tempfile.mkstemp(dir=place.parent, prefix=f".{place.name}.")
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        if place.exists():
            # The server may run as another user, who could read it before.
            Path(written).chmod(place.stat().st_mode & 0o775)
        Path(written).replace(place)
    except OSError as error:
        raise InputRefused(f"{path} cannot be written: {error.strerror}", hint="give another --file") from error


def _refuse_open_to_others(path: Path, status: os.stat_result) -> None:
    if os.name == "posix" and status.st_mode & 0o002:
        raise InputRefused(f"everybody may write {path}, and so add a key", hint=f"chmod o-w {path}")


def _unreadable(path: Path, error: OSError) -> InputRefused:
    return InputRefused(f"{path} cannot be read: {error.strerror}", hint="make it: affidavit keys add NAME --file FILE")


def _digest(key: str) -> str:
    return hashlib.sha256(key.encode("utf-8", "surrogateescape")).hexdigest()
