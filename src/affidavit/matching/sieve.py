"""Looks for short texts first, and asks the engine of the patterns only about lines that hold one.

Every line that a pattern matches holds one of the texts (see `needles`), so the same lines are found. A block in which
too many lines hold one is given to an engine as a whole.
"""

from collections.abc import Callable, Iterable
from importlib.metadata import version

import numpy as np

from affidavit.matching.engine_cache import engine_name, is_kept
from affidavit.matching.matcher import ROOM, SLOT_BITS, HyperscanMatcher, Matcher
from affidavit.matching.needle_cache import expressions_of, made_needles, maker

# An engine is given a block whole if each so many bytes hold a needle, or if lines with one are so large a part of it.
DENSE = 256
_LARGE = 1 / 4
# After a block that the sieve did not help with, up to so many more are scanned without it.
_MOST_SKIPPED = 31


class SievedMatcher:
    """`engine` is asked about lines, `whole` about blocks that are full of them; it is made when it is needed."""

    def __init__(self, sieve: Matcher, engine: Matcher, whole: Callable[[], Matcher]) -> None:
        self._sieve, self._engine, self._whole = sieve, engine, whole
        self._skipped = self._to_skip = 0

    def scan(self, block: bytearray, length: int) -> list[int]:
        if self._to_skip:
            self._to_skip -= 1
            return self._whole().scan(block, length)
        marks = self._sieve.scan(block, length)
        lines = _lines_at(marks, block, length) if len(marks) * DENSE <= length else [(0, length)]
        if sum(end - start for start, end in lines) > length * _LARGE:
            self._skipped = self._to_skip = min(2 * self._skipped + 1, _MOST_SKIPPED)
            return self._whole().scan(block, length)
        self._skipped = 0
        return _hits_in(self._engine, block, lines) if lines else []


def sieve_of(patterns: Iterable[str]) -> Matcher:
    """Finds lines in which one of the patterns may match, all for slot 0. Raises ImportError without Hyperscan."""
    wanted = sorted(set(patterns))
    return HyperscanMatcher(_name_of(wanted), lambda: _expressions(wanted))


def is_sieve_ready(patterns: Iterable[str]) -> bool:
    return is_kept(_name_of(sorted(set(patterns))))


def _name_of(patterns: list[str]) -> str:
    """Finding needles takes longer than loading what is made of them, so the patterns name it."""
    return engine_name([maker(), *map(str.encode, patterns)], [], version=version("hyperscan"))


def _expressions(patterns: list[str]) -> tuple[list[bytes], list[int]]:
    found = expressions_of(made_needles(patterns))
    return [expression.encode() for expression in found], [0] * len(found)


def _lines_at(marks: list[int], block: bytearray, length: int) -> list[tuple[int, int]]:
    """Start and end of the lines that were marked, each once."""
    lines: list[tuple[int, int]] = []
    end = -1
    for mark in sorted(marks):
        position = mark >> SLOT_BITS
        if position >= end:
            feed = block.find(b"\n", position, length)
            end = length if feed < 0 else feed
            lines.append((block.rfind(b"\n", 0, position) + 1, end))
    return lines


def _hits_in(engine: Matcher, block: bytearray, lines: list[tuple[int, int]]) -> list[int]:
    """Scans the lines as one text, and tells where its hits are in the block."""
    view = memoryview(block)
    text = bytearray(b"\n".join([view[start:end] for start, end in lines]))
    hits = np.array(engine.scan(text + bytes(ROOM), len(text)), dtype=np.int64)
    bounds = np.array(lines)
    ends = np.cumsum(bounds[:, 1] - bounds[:, 0] + 1)
    rows = np.searchsorted(ends, hits >> SLOT_BITS, side="right")
    moved = (bounds[:, 1] + 1 - ends)[rows]
    return (hits + (moved << SLOT_BITS)).tolist()
