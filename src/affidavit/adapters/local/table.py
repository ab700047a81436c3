"""Tables in one SQLite file, which any number of threads and processes may use at once."""

import json
import os
import sqlite3
import stat
import threading
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import Any, assert_never, cast

from affidavit.adapters.dynamodb_item_limits import (
    check_item,
    check_key,
    check_transaction,
    is_expired,
    is_number,
    key_of,
    normal,
)
from affidavit.adapters.local.item_conditions import holds
from affidavit.errors import InvariantBroken, UpstreamFailed
from affidavit.ports.clock import Clock
from affidavit.ports.json import Item, JsonValue
from affidavit.ports.table import ConditionFailed, Delete, Key, Put, Update, Write

# Writers wait for each other; a transaction takes a millisecond or two.
BUSY_SECONDS = 30.0
SCHEMA = """
CREATE TABLE IF NOT EXISTS items (
    name TEXT NOT NULL, pk TEXT NOT NULL, sk TEXT NOT NULL, body TEXT NOT NULL, due TEXT, due_at REAL,
    PRIMARY KEY (name, pk, sk)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS items_due ON items (name, due, due_at, pk, sk) WHERE due IS NOT NULL AND due_at IS NOT NULL;
"""
NOWHERE = Path(":memory:")
_opened = threading.local()
_opening = threading.Lock()


class SqliteTable:
    """One table of the file; tables of one file can be written in one transaction."""

    def __init__(self, path: Path, name: str, clock: Clock) -> None:
        self._path, self._name, self._clock = path, name, clock

    @property
    def name(self) -> str:
        return self._name

    @property
    def path(self) -> Path:
        return self._path

    def get(self, key: Key) -> Item | None:
        check_key(key)
        with self._reading() as connection:
            return self._live(connection, self._name, key)

    def write(self, write: Write) -> Item | None:
        return self._write_together([write])[0]

    def write_all(self, writes: Sequence[Write]) -> None:
        self._write_together(writes)

    def query(
        self, pk: str, *, sk_prefix: str = "", newest_first: bool = False, limit: int | None = None, after: str = ""
    ) -> Sequence[Item]:
        bounds, values = _bounds(sk_prefix)
        order = "DESC" if newest_first else "ASC"
        if after:
            bounds, values = f"{bounds} AND sk {'<' if newest_first else '>'} ?", (*values, after)
        statement = f"SELECT body FROM items WHERE name = ? AND pk = ?{bounds} ORDER BY sk {order}"
        return self._selected(statement, (self._name, pk, *values), limit)

    def due_before(self, due: str, at: float, *, limit: int = 100) -> Sequence[Item]:
        statement = "SELECT body FROM items WHERE name = ? AND due = ? AND due_at <= ? ORDER BY due_at, pk, sk"
        return self._selected(statement, (self._name, due, at), limit)

    def _write_together(self, writes: Sequence[Write]) -> list[Item | None]:
        check_transaction(writes, self)
        names = [self._name_of(write) for write in writes]
        with self._writing() as connection:
            return [self._apply(connection, name, write) for name, write in zip(names, writes, strict=True)]

    def _name_of(self, write: Write) -> str:
        table = write.table or self
        if isinstance(table, SqliteTable) and table.path != self._path:
            raise InvariantBroken(f"{self._path} and {table.path} cannot be written together")
        return table.name

    def _apply(self, connection: sqlite3.Connection, name: str, write: Write) -> Item | None:
        key = key_of(write)
        current = self._live(connection, name, key)
        if not holds(write.when, current):
            raise ConditionFailed(f"{name} {key.pk} {key.sk} is not as the writer thought", existing=current)
        changed = _changed(write, current)
        if changed is None:
            connection.execute("DELETE FROM items WHERE name = ? AND pk = ? AND sk = ?", (name, key.pk, key.sk))
        else:
            check_item(changed)
            connection.execute("INSERT OR REPLACE INTO items VALUES (?, ?, ?, ?, ?, ?)", _row(name, key, changed))
        return changed

    def _live(self, connection: sqlite3.Connection, name: str, key: Key) -> Item | None:
        statement = "SELECT body FROM items WHERE name = ? AND pk = ? AND sk = ?"
        row = connection.execute(statement, (name, key.pk, key.sk)).fetchone()
        item = _item(row) if row is not None else None
        return None if item is None or is_expired(item, self._now()) else item

    def _selected(self, statement: str, values: tuple[str | float, ...], limit: int | None) -> list[Item]:
        now = self._now()
        with self._reading() as connection:
            items = (_item(row) for row in connection.execute(statement, values))
            return list(islice((item for item in items if not is_expired(item, now)), limit))

    def _now(self) -> float:
        return self._clock.now().timestamp()

    @contextmanager
    def _reading(self) -> Generator[sqlite3.Connection]:
        """Nothing is made before the first write: a file that is not there yet reads as an empty one."""
        with _translated(self._path):
            yield _connection(self._path if _is_there(self._path) else NOWHERE)

    @contextmanager
    def _writing(self) -> Generator[sqlite3.Connection]:
        with _translated(self._path):
            connection = _connection(self._path)
            # IMMEDIATE: what a condition was decided on cannot change before the commit.
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise


def _changed(write: Write, current: Item | None) -> Item | None:
    match write:
        case Put(item=item):
            return {name: normal(value) for name, value in item.items()}
        case Delete():
            return None
        case Update():
            return _updated(write, current or {"pk": write.key.pk, "sk": write.key.sk})
        case _:
            assert_never(write)


def _updated(update: Update, current: Item) -> Item:
    kept = {name: value for name, value in current.items() if name not in update.remove}
    changes = {name: normal(value) for name, value in update.set.items()}
    sums = {name: _sum(update.key, name, current.get(name, 0), more) for name, more in update.add.items()}
    return {**kept, **changes, **sums}


def _sum(key: Key, name: str, value: JsonValue, more: int) -> int | float:
    if not is_number(value):
        raise InvariantBroken(f"{name} of {key.pk} {key.sk} is no number to add to")
    return value + more


def _row(name: str, key: Key, item: Item) -> tuple[str | float | None, ...]:
    due, due_at = item.get("due"), item.get("due_at")
    return (
        name,
        key.pk,
        key.sk,
        json.dumps(item, ensure_ascii=False, separators=(",", ":")),
        due if isinstance(due, str) else None,
        due_at if is_number(due_at) else None,
    )


def _item(row: Any) -> Item:
    return cast(Item, json.loads(row[0]))  # the file holds what _row wrote


def _bounds(prefix: str) -> tuple[str, tuple[str, ...]]:
    """A range instead of a comparison of beginnings, so that the primary key is used."""
    # The text after every text with this prefix. Surrogates are no characters; nothing follows the last one.
    head = prefix.rstrip("\U0010ffff")
    if not head:
        return " AND sk >= ?", (prefix,)
    following = ord(head[-1]) + 1
    after = head[:-1] + chr(0xE000 if 0xD800 <= following < 0xE000 else following)
    return " AND sk >= ? AND sk < ?", (prefix, after)


def _connection(path: Path) -> sqlite3.Connection:
    """One a thread. A forked child opens its own: SQLite's must not cross a fork."""
    known = cast(dict[tuple[int, Path], sqlite3.Connection], _opened.__dict__.setdefault("connections", {}))
    place = (os.getpid(), path)
    if place not in known:
        known[place] = _open(path)
    return known[place]


def _is_there(path: Path) -> bool:
    """A path that cannot even be looked at is an outage, not an empty table."""
    try:
        path.stat()
    except FileNotFoundError:
        return False
    return True


def _open(path: Path) -> sqlite3.Connection:
    if path == NOWHERE:
        nothing = sqlite3.connect(":memory:", isolation_level=None)
        nothing.executescript(SCHEMA)
        return nothing
    path.parent.mkdir(parents=True, exist_ok=True)
    with _opening:
        _keep_private(path)
        connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)
        _use_wal(connection)
    # An incident that was taken must stay taken after a power cut, too.
    connection.execute("PRAGMA synchronous = FULL")
    connection.executescript(SCHEMA)
    return connection


def _keep_private(path: Path) -> None:
    """Alerts and diagnoses are for the owner alone. SQLite gives its other files the mode of this one.

    A file that is there is not opened: closing it would drop the locks of every connection of this process, and the
    next program that ends would take the log of changes away from under them.
    """
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    if stat.S_IMODE(path.stat().st_mode) & 0o077:
        with suppress(PermissionError):  # somebody else's file: its owner decides
            path.chmod(0o600)


def _use_wal(connection: sqlite3.Connection) -> None:
    """SQLite does not wait when two connections switch a new file at once; whoever comes second tries again."""
    deadline = time.monotonic() + BUSY_SECONDS
    while connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.01)


@contextmanager
def _translated(path: Path) -> Generator[None]:
    try:
        yield
    except sqlite3.Error as error:
        is_busy = isinstance(error, sqlite3.OperationalError) and "locked" in str(error)
        raise UpstreamFailed(
            f"{path} could not be used: {error}",
            hint="another program holds it; try again" if is_busy else "check the file, its folder and free space",
            is_retryable=is_busy,
        ) from error
    except OSError as error:
        raise UpstreamFailed(
            f"{path} could not be used: {error.strerror}", hint="check that the data folder is writable"
        ) from error
