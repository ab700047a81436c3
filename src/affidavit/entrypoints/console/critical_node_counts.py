"""Counts nodes that are critical or have unread files, within a moment; what it could not count yet, it says."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from affidavit.errors import AffidavitError
from affidavit.nodes.library.lru import LruCache

if TYPE_CHECKING:
    from affidavit.nodes.library.indexed_bundles import Library

_FRESH_SECONDS: Final = 30.0
# The first page must not wait for the indexes of a large fleet.
_MOMENT_SECONDS: Final = 0.03
_KEPT: Final = 20_000


@dataclass(frozen=True, kw_only=True, slots=True)
class NodeTotals:
    """`is_complete` is False when there may be more nodes than were looked at."""

    nodes: int
    critical: int
    unread: int
    is_complete: bool


_NONE_YET: Final = NodeTotals(nodes=0, critical=0, unread=0, is_complete=False)


class NodeCounts:
    """Remembers what each index counted, so that a second look only reads what is new."""

    def __init__(self, library: Callable[[], "Library"], *, is_long_lived: bool) -> None:
        self._library, self._is_long_lived = library, is_long_lived
        self._known: LruCache[tuple[str, str, str], tuple[bool, bool]] = LruCache(_KEPT)
        self._latest: NodeTotals | None = None
        self._at = float("-inf")
        self._so_far = _NONE_YET
        self._trouble: AffidavitError | None = None
        self._counting: threading.Thread | None = None
        self._starting = threading.Lock()

    def totals(self) -> NodeTotals:
        """Raises what reading the list of nodes raises."""
        if self._latest is not None and time.monotonic() - self._at < _FRESH_SECONDS:
            return self._latest
        if not self._is_long_lived:
            found = self._count(time.monotonic() + _MOMENT_SECONDS)
            # An older count of all of them says more than a newer one of a few.
            return found if found.is_complete or self._latest is None else self._latest
        # In a thread of its own from the start: what the first count loads, the rules, takes longer than all of it.
        self._count_on().join(_MOMENT_SECONDS)
        if self._trouble is not None:
            raise self._trouble
        return self._latest or self._so_far

    def _count_on(self) -> threading.Thread:
        with self._starting:
            if self._counting is None or not self._counting.is_alive():
                self._counting = threading.Thread(target=self._count_all, daemon=True)
                self._counting.start()
            return self._counting

    def _count_all(self) -> None:
        try:
            self._count(float("inf"))
            self._trouble = None
        except AffidavitError as error:
            self._trouble = error

    def _count(self, deadline: float) -> NodeTotals:
        nodes = critical = unread = 0
        for instance in self._library().instances():
            if nodes and time.monotonic() > deadline:
                return self._so_far
            is_critical, is_unread = self._look(instance)
            nodes, critical, unread = nodes + 1, critical + is_critical, unread + is_unread
            self._so_far = NodeTotals(nodes=nodes, critical=critical, unread=unread, is_complete=False)
        self._latest = NodeTotals(nodes=nodes, critical=critical, unread=unread, is_complete=True)
        self._at = time.monotonic()
        return self._latest

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
