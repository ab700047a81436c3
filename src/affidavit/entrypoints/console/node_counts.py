"""Counts nodes that are critical or have unread files, within a moment; what it could not count yet, it says."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from affidavit.errors import AffidavitError
from affidavit.nodes.library.lru import LruCache

if TYPE_CHECKING:
    from affidavit.nodes.library.library import Library

_FRESH_SECONDS: Final = 30.0
# The first page must not wait for the indexes of a large fleet.
_MOMENT_SECONDS: Final = 0.03
_KEPT: Final = 20_000


@dataclass(frozen=True, kw_only=True, slots=True)
class NodeTotals:
    """`is_complete` is False when there are more nodes than were looked at."""

    nodes: int
    critical: int
    unread: int
    is_complete: bool


class NodeCounts:
    """Remembers what each index counted, so that a second look only reads what is new."""

    def __init__(self, library: Callable[[], "Library"], *, is_long_lived: bool) -> None:
        self._library, self._is_long_lived = library, is_long_lived
        self._known: LruCache[tuple[str, str, str], tuple[bool, bool]] = LruCache(_KEPT)
        self._latest: NodeTotals | None = None
        self._at = float("-inf")
        self._counting = threading.Lock()

    def totals(self) -> NodeTotals:
        if self._latest is not None and time.monotonic() - self._at < _FRESH_SECONDS:
            return self._latest
        found = self._count(time.monotonic() + _MOMENT_SECONDS)
        if found.is_complete:
            self._latest, self._at = found, time.monotonic()
        elif self._is_long_lived:
            self._count_on()
        # An older count of all of them says more than a newer one of a few.
        return found if found.is_complete or self._latest is None else self._latest

    def _count_on(self) -> None:
        def count() -> None:
            try:
                self._latest, self._at = self._count(float("inf")), time.monotonic()
            finally:
                self._counting.release()

        if self._counting.acquire(blocking=False):
            threading.Thread(target=count, daemon=True).start()

    def _count(self, deadline: float) -> NodeTotals:
        nodes = critical = unread = 0
        for instance in self._library().instances():
            if nodes and time.monotonic() > deadline:
                return NodeTotals(nodes=nodes, critical=critical, unread=unread, is_complete=False)
            is_critical, is_unread = self._look(instance)
            nodes, critical, unread = nodes + 1, critical + is_critical, unread + is_unread
        return NodeTotals(nodes=nodes, critical=critical, unread=unread, is_complete=True)

    def _look(self, instance: str) -> tuple[bool, bool]:
        """An index that cannot be read counts as unread."""
        try:
            markers = self._library().markers(instance)
            if not markers:
                return False, True
            marker = markers[0]
            key = (marker.index_key, marker.content, marker.index_id)
            return self._known.get(key, lambda: self._counted(instance))
        except AffidavitError:
            return False, True

    def _counted(self, instance: str) -> tuple[bool, bool]:
        shelf = self._library().newest(instance)
        if shelf is None:
            return False, True
        return shelf.index.summary.critical > 0, bool(shelf.index.coverage.lost_files)
