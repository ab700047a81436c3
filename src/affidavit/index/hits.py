"""Hits of one file as columns: a bundle may hold a million, so they are numbers until somebody looks."""

from dataclasses import dataclass, field

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


@dataclass
class HitColumns:
    """Grows while a file is scanned."""

    slots: list[int] = field(default_factory=list[int])
    lines: list[int] = field(default_factory=list[int])
    starts: list[int] = field(default_factory=list[int])
    ends: list[int] = field(default_factory=list[int])
    clocks: list[int] = field(default_factory=list[int])
    stamps: list[int] = field(default_factory=list[int])

    def add(self, slot: int, line: int, start: int, end: int, clock: int, stamp: int) -> None:
        self.slots.append(slot)
        self.lines.append(line)
        self.starts.append(start)
        self.ends.append(end)
        self.clocks.append(clock)
        self.stamps.append(stamp)

    def freeze(self) -> FileHits:
        return FileHits(
            slot=np.array(self.slots, dtype=np.int64),
            line=np.array(self.lines, dtype=np.int64),
            start=np.array(self.starts, dtype=np.int64),
            end=np.array(self.ends, dtype=np.int64),
            clock=np.array(self.clocks, dtype=np.int8),
            stamp=np.array(self.stamps, dtype=np.int64),
        )
