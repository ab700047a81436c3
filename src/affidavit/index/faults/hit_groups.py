"""The hits of one rule in one file: their lines, their times, and the names in them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from affidavit.bundle.byte_range_reader import Spans
from affidavit.bundle.file_roles import FileRole
from affidavit.bundle.log_envelopes import unwrapped
from affidavit.evidence.utf16 import text_of
from affidavit.index.faults.episodes import (
    Named,
)
from affidavit.index.scanning.hits import FileHits
from affidavit.index.scanning.rule_matching import Slot
from affidavit.index.times.bundle_clock import UNKNOWN, BundleClock, Micros, time_of
from affidavit.index.times.timestamps import StampKind
from affidavit.rules.entities import SEARCHED

# Lines of a finding that are read for the names in them: the first and the last ones.
NAMED_LINES = 4
# The record around a line may be several times as long as the line.
_WRAPPED_SEARCHED = 4 * SEARCHED


@dataclass(frozen=True, kw_only=True)
class ScannedText:
    """A scanned file as findings see it."""

    path: str
    full_key: str
    location: Path
    hits: FileHits
    role: FileRole


@dataclass(frozen=True, kw_only=True)
class HitGroup:
    """All hits of one slot in one file."""

    slot: Slot
    file: ScannedText
    reader: Spans
    rows: NDArray[np.int64]
    times: Micros

    @property
    def stamps(self) -> Micros:
        """By the file's own clock, also where nothing tells its zero: comparable with lines of the same file alone."""
        hits = self.file.hits
        return np.where(hits.clock[self.rows] == StampKind.NONE, UNKNOWN, hits.stamp[self.rows])

    @property
    def first_seen(self) -> datetime | None:
        known = self.times[self.times != UNKNOWN]
        return time_of(int(known.min())) if len(known) else None

    @property
    def last_seen(self) -> datetime | None:
        known = self.times[self.times != UNKNOWN]
        return time_of(int(known.max())) if len(known) else None


def groups_of(file: ScannedText, slots: Sequence[Slot], clock: BundleClock, reader: Spans) -> Iterator[HitGroup]:
    hits = file.hits
    if not len(hits):
        return
    times = clock.resolve(hits.clock, hits.stamp)
    order = np.argsort(hits.slot, kind="stable")
    boundaries = np.flatnonzero(np.diff(hits.slot[order])) + 1
    for rows in np.split(order, boundaries):
        yield HitGroup(slot=slots[int(hits.slot[rows[0]])], file=file, reader=reader, rows=rows, times=times[rows])


def named_in(group: HitGroup, kind: str) -> list[Named]:
    """When each line came, and what it names of this kind."""
    names = group.slot.rule.names_in
    return [
        (int(group.times[place]), names.names_of(kind, said_in(line_at(group, place))))
        for place in range(len(group.rows))
    ]


def sample_lines(group: HitGroup, quoted: int, line: bytes) -> Iterator[str]:
    """The quoted line, and some of the first and last ones: enough to tell which pod, device or unit it is."""
    yield said_in(line)
    count = len(group.rows)
    places = sorted({*range(min(NAMED_LINES, count)), *range(max(0, count - NAMED_LINES), count)} - {quoted})
    for place in places:
        start, end = group.file.hits.span(int(group.rows[place]))
        yield said_in(group.reader.read(group.file.location, start, min(end, start + _WRAPPED_SEARCHED)))


def said_in(line: bytes) -> str:
    return unwrapped(text_of(line[:_WRAPPED_SEARCHED]).encode()).decode("utf-8", "replace")[:SEARCHED]


def line_at(group: HitGroup, position: int) -> bytes:
    start, end = group.file.hits.span(int(group.rows[position]))
    return group.reader.read(group.file.location, start, end)
