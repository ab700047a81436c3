"""Stores the hits of one file as columns of numbers, because a bundle may hold a million."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from affidavit.index.times.bulk_stamps import stamps_of

Column = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class FileHits:
    """One row a hit, in line order. `slot` says which rule (see `RuleSlots`); `clock` and `stamp` are its time.

    The columns are as narrow as they can be: 31 bytes a hit.
    """

    slot: NDArray[np.uint16]
    line: Column
    start: Column
    length: NDArray[np.uint32]
    clock: NDArray[np.int8]
    stamp: Column

    def __len__(self) -> int:
        return len(self.slot)

    def __reduce__(self) -> tuple[Callable[..., "FileHits"], tuple[object, ...]]:
        """Pickles a file without hits, as most are, as one word."""
        columns = (self.slot, self.line, self.start, self.length, self.clock, self.stamp)
        return _sent, columns if len(self) else ()

    def only(self, rows: NDArray[np.bool_] | Column) -> "FileHits":
        """Some of the rows, by a flag for each or by their numbers."""
        return FileHits(
            slot=self.slot[rows],
            line=self.line[rows],
            start=self.start[rows],
            length=self.length[rows],
            clock=self.clock[rows],
            stamp=self.stamp[rows],
        )

    def span(self, row: int) -> tuple[int, int]:
        start = int(self.start[row])
        return start, start + int(self.length[row])


NO_HITS = FileHits(
    slot=np.empty(0, np.uint16),
    line=np.empty(0, np.int64),
    start=np.empty(0, np.int64),
    length=np.empty(0, np.uint32),
    clock=np.empty(0, np.int8),
    stamp=np.empty(0, np.int64),
)


def _sent(*columns: Any) -> FileHits:
    if not columns:
        return NO_HITS
    slot, line, start, length, clock, stamp = columns
    return FileHits(slot=slot, line=line, start=start, length=length, clock=clock, stamp=stamp)


# Slot, line, start, end, clock, stamp.
Hit = tuple[int, int, int, int, int, int]
# Tuples weigh ten times as much as rows, so no more than this many are kept.
_PENDING = 16_384


# Reading the times of fewer hits than this costs more for each.
_TIMED_AT_ONCE = 4_096


@dataclass(frozen=True, kw_only=True)
class UntimedHits:
    """Hits of one block; `prefix` holds the beginning of each line, where its time stands."""

    slot: Column
    line: Column
    start: Column
    length: Column
    prefix: NDArray[np.uint8]

    def __len__(self) -> int:
        return len(self.slot)


class HitTable:
    """Grows while a file is scanned."""

    def __init__(self) -> None:
        self._pending: list[Hit] = []
        self._untimed: list[UntimedHits] = []
        self._settled: list[FileHits] = []

    def add(self, hit: Hit) -> None:
        self._pending.append(hit)
        if len(self._pending) == _PENDING:
            self._settle()

    def add_many(self, hits: "UntimedHits") -> None:
        """Their times are read when enough of them are together."""
        self._untimed.append(hits)
        if sum(map(len, self._untimed)) >= _TIMED_AT_ONCE:
            self._time()

    def columns(self) -> FileHits:
        self._settle()
        self._time()
        if not self._settled:
            return NO_HITS
        parts, self._settled = self._settled, []
        return _in_line_order(parts[0] if len(parts) == 1 else _joined(parts))

    def _time(self) -> None:
        if not self._untimed:
            return
        parts, self._untimed = self._untimed, []
        lengths = np.concatenate([part.length for part in parts])
        clock, stamp = stamps_of(np.concatenate([part.prefix for part in parts]), lengths)
        self._settled.append(
            FileHits(
                slot=np.concatenate([part.slot for part in parts]).astype(np.uint16),
                line=np.concatenate([part.line for part in parts]),
                start=np.concatenate([part.start for part in parts]),
                length=lengths.astype(np.uint32),
                clock=clock,
                stamp=stamp,
            )
        )

    def _settle(self) -> None:
        if not self._pending:
            return
        rows = np.array(self._pending, dtype=np.int64).reshape(-1, 6)
        self._pending = []
        self._settled.append(
            FileHits(
                slot=rows[:, 0].astype(np.uint16),
                line=rows[:, 1].copy(),
                start=rows[:, 2].copy(),
                length=(rows[:, 3] - rows[:, 2]).astype(np.uint32),
                clock=rows[:, 4].astype(np.int8),
                stamp=rows[:, 5].copy(),
            )
        )


def _joined(parts: list[FileHits]) -> FileHits:
    return FileHits(
        slot=np.concatenate([part.slot for part in parts]),
        line=np.concatenate([part.line for part in parts]),
        start=np.concatenate([part.start for part in parts]),
        length=np.concatenate([part.length for part in parts]),
        clock=np.concatenate([part.clock for part in parts]),
        stamp=np.concatenate([part.stamp for part in parts]),
    )


def joined_hits(parts: Sequence[FileHits], lines_before: Iterable[int]) -> FileHits:
    """Joins the hits of parts of one file. `lines_before` counts the lines before each part."""
    placed = zip(parts, lines_before, strict=False)
    found = [replace(hits, line=hits.line + before) for hits, before in placed if len(hits)]
    return _joined(found) if found else NO_HITS


def _in_line_order(hits: FileHits) -> FileHits:
    """Blocks with few hits and blocks with many are settled apart, so those of a file may stand mixed."""
    if bool(np.all(hits.line[1:] >= hits.line[:-1])):
        return hits
    return hits.only(np.argsort(hits.line, kind="stable"))
