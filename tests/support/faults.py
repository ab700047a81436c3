"""Adapters that fail on purpose, before or after a call, so that a test can stop a program at every boundary.

Run once with plain `Boundaries()` to learn the boundaries (`reached`), then once per number with `at=number`.
"""

import os
import signal
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from affidavit.errors import UpstreamFailed
from affidavit.ports.json import Item
from affidavit.ports.node_collector import Execution, NodeCollector
from affidavit.ports.object_store import ObjectStore, StoredObject
from affidavit.ports.table import Key, Table, Write


def outage(boundary: str) -> None:
    raise UpstreamFailed(f"scripted outage at {boundary}", is_retryable=True)


def sigkill(_boundary: str) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@dataclass
class Boundaries:
    """Counts the boundaries that a program passes; at number `at` (from 0), or at each one that `only` picks, acts."""

    at: int | None = None
    act: Callable[[str], None] = outage
    only: Callable[[str], bool] | None = None
    reached: list[str] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def reach(self, boundary: str) -> None:
        with self._lock:
            number = len(self.reached)
            self.reached.append(boundary)
        if number == self.at or (self.only is not None and self.only(boundary)):
            self.act(boundary)

    @contextmanager
    def around(self, call: str) -> Generator[None]:
        """`before`: nothing has happened yet. `after`: it has happened, and the caller does not hear of it."""
        self.reach(f"{call} before")
        yield
        self.reach(f"{call} after")


@dataclass(frozen=True)
class FailingTable:
    inner: Table
    boundaries: Boundaries

    @property
    def name(self) -> str:
        return self.inner.name

    def get(self, key: Key) -> Item | None:
        with self._around("get"):
            return self.inner.get(key)

    def write(self, write: Write) -> Item | None:
        with self._around("write"):
            return self.inner.write(write)

    def write_all(self, writes: Sequence[Write]) -> None:
        with self._around("write_all"):
            self.inner.write_all(writes)

    def query(
        self, pk: str, *, sk_prefix: str = "", newest_first: bool = False, limit: int | None = None, after: str = ""
    ) -> Sequence[Item]:
        with self._around("query"):
            return self.inner.query(pk, sk_prefix=sk_prefix, newest_first=newest_first, limit=limit, after=after)

    def due_before(self, due: str, at: float, *, limit: int = 100) -> Sequence[Item]:
        with self._around("due_before"):
            return self.inner.due_before(due, at, limit=limit)

    def _around(self, method: str):
        return self.boundaries.around(f"{self.name}.{method}")


@dataclass(frozen=True)
class FailingObjectStore:
    inner: ObjectStore
    boundaries: Boundaries

    def get(self, key: str) -> bytes:
        with self.boundaries.around("objects.get"):
            return self.inner.get(key)

    def read(self, key: str, start: int, end: int) -> bytes:
        with self.boundaries.around("objects.read"):
            return self.inner.read(key, start, end)

    def head(self, key: str) -> StoredObject | None:
        with self.boundaries.around("objects.head"):
            return self.inner.head(key)

    def put(self, key: str, data: bytes, *, purpose: str) -> None:
        with self.boundaries.around("objects.put"):
            self.inner.put(key, data, purpose=purpose)

    def put_new(self, key: str, data: bytes, *, purpose: str) -> bool:
        with self.boundaries.around("objects.put_new"):
            return self.inner.put_new(key, data, purpose=purpose)

    def put_file(self, key: str, path: Path, *, purpose: str) -> None:
        with self.boundaries.around("objects.put_file"):
            self.inner.put_file(key, path, purpose=purpose)

    def list(self, prefix: str) -> Iterator[StoredObject]:
        with self.boundaries.around("objects.list"):
            yield from self.inner.list(prefix)

    def folders(self, prefix: str, *, after: str = "") -> Iterator[str]:
        with self.boundaries.around("objects.folders"):
            yield from self.inner.folders(prefix, after=after)

    def local_copy(self, key: str) -> Path:
        with self.boundaries.around("objects.local_copy"):
            return self.inner.local_copy(key)

    def link(self, key: str, *, seconds: int) -> str:
        with self.boundaries.around("objects.link"):
            return self.inner.link(key, seconds=seconds)


@dataclass(frozen=True)
class FailingCollector:
    inner: NodeCollector
    boundaries: Boundaries

    def start(self, instance_id: str, *, region: str, client_token: str) -> str:
        with self.boundaries.around("collector.start"):
            return self.inner.start(instance_id, region=region, client_token=client_token)

    def find(self, execution_id: str, *, region: str) -> Execution | None:
        with self.boundaries.around("collector.find"):
            return self.inner.find(execution_id, region=region)

    def stop(self, execution_id: str, *, region: str) -> None:
        with self.boundaries.around("collector.stop"):
            self.inner.stop(execution_id, region=region)
