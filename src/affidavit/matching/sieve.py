"""Looks for short texts first, and asks the engine of the patterns only about lines that hold one.

Every line that a pattern matches holds one of the texts (see `needles`), so the same lines are found. A block in which
too many lines hold one is given to an engine as a whole.
"""

from collections.abc import Callable, Iterable
from importlib.metadata import version
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from affidavit.matching.engine_cache import engine_name, is_kept
from affidavit.matching.matcher import ROOM, SLOT_BITS, HyperscanMatcher, Matcher
from affidavit.matching.needle_cache import expressions_of, made_needles, maker

# An engine is given a block whole if each so many bytes hold a needle, or if lines with one are so large a part of it.
DENSE = 256
_LARGE = 1 / 4
# After a block that the sieve did not help with, up to so many more are scanned without it.
_MOST_SKIPPED = 31
BY_TEXT = 0
BY_PATTERN = 1
_SLOT_MASK = (1 << SLOT_BITS) - 1
_FEED = 10
_NO_LINES: NDArray[np.int64] = np.empty((0, 2), dtype=np.int64)


class SievedMatcher:
    """`engine` is asked about lines, `plain` about those on which no text stands, `whole` about blocks that are full of
    lines with one; `plain` and `whole` are made when they are needed."""

    def __init__(
        self, sieve: Matcher, engine: Matcher, *, plain: Callable[[], Matcher], whole: Callable[[], Matcher]
    ) -> None:
        self._sieve, self._engine, self._plain, self._whole = sieve, engine, plain, whole
        self._skipped = self._to_skip = 0

    def scan(self, block: bytearray, length: int) -> list[int]:
        if self._to_skip:
            self._to_skip -= 1
            return self._whole().scan(block, length)
        marks = self._sieve.scan(block, length)
        if len(marks) * DENSE > length:
            return self._without_sieve(block, length)
        marked = _marked(marks, block, length)
        if (marked.by_text[:, 1] - marked.by_text[:, 0]).sum() > length * _LARGE:
            return self._without_sieve(block, length)
        self._skipped = 0
        hits = _hits_in(self._engine, block, marked.by_text) if len(marked.by_text) else []
        if len(marked.by_pattern):
            hits = sorted([*hits, *_hits_in(self._plain(), block, marked.by_pattern)])
        return hits

    def _without_sieve(self, block: bytearray, length: int) -> list[int]:
        self._skipped = self._to_skip = min(2 * self._skipped + 1, _MOST_SKIPPED)
        return self._whole().scan(block, length)


class _Marked(NamedTuple):
    """Start and end of lines: those that hold a text, and those that only a pattern without one may match."""

    by_text: NDArray[np.int64]
    by_pattern: NDArray[np.int64]


def sieve_of(patterns: Iterable[str]) -> Matcher:
    """Finds lines in which one of the patterns may match: for slot BY_TEXT those that hold a text, for BY_PATTERN those
    that a pattern without one may match. Raises ImportError without Hyperscan."""
    wanted = sorted(set(patterns))
    return HyperscanMatcher(_name_of(wanted), lambda: _expressions(wanted))


def is_sieve_ready(patterns: Iterable[str]) -> bool:
    return is_kept(_name_of(sorted(set(patterns))))


def _name_of(patterns: list[str]) -> str:
    """Finding needles takes longer than loading what is made of them, so the patterns name it."""
    return engine_name([maker(), *map(str.encode, patterns)], [BY_TEXT, BY_PATTERN], version=version("hyperscan"))


def without_text(patterns: Iterable[str]) -> frozenset[str]:
    """The patterns that are looked for themselves."""
    return frozenset(made_needles(patterns).others)


def _expressions(patterns: list[str]) -> tuple[list[bytes], list[int]]:
    needles = made_needles(patterns)
    found = expressions_of(needles)
    texts = len(needles.texts)
    return [expression.encode() for expression in found], [BY_TEXT] * texts + [BY_PATTERN] * (len(found) - texts)


def _marked(marks: list[int], block: bytearray, length: int) -> _Marked:
    """Each line once."""
    if not marks:
        return _Marked(_NO_LINES, _NO_LINES)
    found = np.array(marks, dtype=np.int64)
    feeds = np.flatnonzero(np.frombuffer(block, dtype=np.uint8, count=length) == _FEED)
    rows = np.searchsorted(feeds, found >> SLOT_BITS)
    has_text = np.zeros(len(feeds) + 1, dtype=np.bool_)
    is_marked = has_text.copy()
    has_text[rows[found & _SLOT_MASK == BY_TEXT]] = True
    is_marked[rows] = True
    bounds = np.concatenate(([-1], feeds, [length]))
    return _Marked(*(_spans(np.flatnonzero(each), bounds) for each in (has_text, is_marked & ~has_text)))


def _spans(rows: NDArray[np.int64], bounds: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.stack((bounds[rows] + 1, bounds[rows + 1]), axis=1)


def _hits_in(engine: Matcher, block: bytearray, lines: NDArray[np.int64]) -> list[int]:
    """Scans the lines as one text, and tells where its hits are in the block."""
    view = memoryview(block)
    text = bytearray(b"\n".join([view[start:end] for start, end in lines.tolist()]))
    found = engine.scan(text + bytes(ROOM), len(text))
    if not found:
        return []
    hits = np.array(found, dtype=np.int64)
    ends = np.cumsum(lines[:, 1] - lines[:, 0] + 1)
    rows = np.searchsorted(ends, hits >> SLOT_BITS, side="right")
    moved = (lines[:, 1] + 1 - ends)[rows]
    return (hits + (moved << SLOT_BITS)).tolist()
