"""Hits of one file as columns: a bundle may hold a million, so they are numbers until somebody looks."""

from collections.abc import Sequence
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


def columns_of(hits: Sequence[Hit]) -> FileHits:
    table = np.array(hits, dtype=np.int64).reshape(-1, 6)
    return FileHits(
        slot=table[:, 0],
        line=table[:, 1],
        start=table[:, 2],
        end=table[:, 3],
        clock=table[:, 4].astype(np.int8),
        stamp=table[:, 5],
    )
