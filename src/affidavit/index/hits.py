"""Hits of one file as columns: a bundle may hold a million, so they are numbers until somebody looks."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Column = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class FileHits:
    """One row a hit, in line order. `slot` says which rule (see `RuleSlots`); `clock` and `stamp` are its time."""

    slot: Column
    line: Column
    start: Column
    end: Column
    clock: NDArray[np.int8]
    stamp: Column

    def __len__(self) -> int:
        return len(self.slot)


# Slot, line, start, end, clock, stamp.
Hit = tuple[int, int, int, int, int, int]
# Tuples weigh five times as much as rows, so no more than this many are kept.
_PENDING = 16_384


class HitTable:
    """Grows while a file is scanned."""

    def __init__(self) -> None:
        self._pending: list[Hit] = []
        self._rows: list[Column] = []

    def add(self, hit: Hit) -> None:
        self._pending.append(hit)
        if len(self._pending) == _PENDING:
            self._settle()

    def columns(self) -> FileHits:
        self._settle()
        table = np.concatenate(self._rows)
        return FileHits(
            slot=table[:, 0],
            line=table[:, 1],
            start=table[:, 2],
            end=table[:, 3],
            clock=table[:, 4].astype(np.int8),
            stamp=table[:, 5],
        )

    def _settle(self) -> None:
        self._rows.append(np.array(self._pending, dtype=np.int64).reshape(-1, 6))
        self._pending = []
