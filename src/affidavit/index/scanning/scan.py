"""Scan one file, line by line in effect and block by block in fact.

A block is read so that it ends at a line end; a line of any length up to LONGEST_LINE fits one block. Line numbers,
times and text are worked out for hits alone.
"""

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from affidavit.index.bulk_stamps import prefixes
from affidavit.index.hits import NO_HITS, Column, FileHits, HitTable, UntimedHits
from affidavit.index.slots import RuleSlots
from affidavit.index.timestamps import PREFIX, stamp_of
from affidavit.rules.matcher import ROOM, SLOT_BITS

BLOCK = 1 << 20
LONGEST_LINE = 64 << 20
# Above this many hits in a block, finding all line ends at once is cheaper than one hit at a time.
MANY = 48

_SLOT_MASK = (1 << SLOT_BITS) - 1
# Behind the block: what the matcher needs, and the prefix of a line that is shorter.
_BEHIND = max(ROOM, PREFIX)
_FEED = 10
_RETURN = 13


@dataclass(frozen=True, kw_only=True)
class ScannedFile:
    """`oversized` lines were longer than LONGEST_LINE and were not looked at."""

    path: str
    hits: FileHits
    lines: int
    size: int
    oversized: int = 0
    failure: str = ""

    @property
    def is_whole(self) -> bool:
        """Whether every line was looked at."""
        return not self.failure and not self.oversized


class FileScan:
    """The scan of a file that may still be growing: `advance` as bytes arrive, then `finish`."""

    def __init__(self, path: str, location: Path, slots: RuleSlots, buffer: bytearray) -> None:
        """`buffer` may be shared by scans that take turns: nothing stays in it between calls."""
        self._path = path
        self._judge = slots.judge(path)
        self._matcher = slots.matcher if self._judge.readers else None
        self._file = os.open(location, os.O_RDONLY)
        self._buffer = buffer
        self._hits = HitTable()
        self._at = 0
        self._lines = 0
        self._oversized = 0
        self._is_skipping = False

    def advance(self, available: int) -> None:
        """Scan all full blocks of the first `available` bytes."""
        while self._matcher is not None and available - self._at >= self._capacity:
            self._step(available, is_last=False)

    def finish(self, size: int) -> ScannedFile:
        try:
            while self._matcher is not None and self._at < size:
                self._step(size, is_last=True)
        finally:
            self.close()
        return ScannedFile(
            path=self._path,
            hits=self._hits.columns(),
            lines=self._lines,
            size=size,
            oversized=self._oversized,
        )

    def close(self) -> None:
        """Also for a scan that will never finish."""
        file, self._file = self._file, -1
        if file >= 0:
            os.close(file)

    def _step(self, available: int, *, is_last: bool) -> None:
        """Scan the whole lines of the next block, or make room for a line longer than the block."""
        if self._is_skipping:
            self._skip_line(available)
            return
        length = self._read(min(self._capacity, available - self._at))
        cut = self._buffer.rfind(b"\n", 0, length) + 1
        if cut == 0 and is_last and self._at + length >= available:
            cut = length
        if cut:
            self._scan(cut)
            self._at += cut
        elif self._capacity < LONGEST_LINE:
            self._buffer = scan_buffer(self._capacity * 2)
        else:
            self._oversized += 1
            self._is_skipping = True

    @property
    def _capacity(self) -> int:
        return len(self._buffer) - _BEHIND

    def _read(self, length: int) -> int:
        view = memoryview(self._buffer)
        done = 0
        while done < length:
            got = os.preadv(self._file, [view[done:length]], self._at + done)
            if got == 0:
                raise OSError(f"the file ended at byte {self._at + done}, before its {self._at + length} bytes")
            done += got
        return done

    def _skip_line(self, available: int) -> None:
        """Pass over a line too long to hold, in pieces, as far as bytes are there."""
        while self._is_skipping and self._at < available:
            length = self._read(min(self._capacity, available - self._at))
            end = self._buffer.find(b"\n", 0, length)
            self._at += length if end < 0 else end + 1
            if end >= 0:
                self._lines += 1
                self._is_skipping = False

    def _scan(self, cut: int) -> None:
        if self._matcher is None:
            return
        hits = self._matcher.scan(self._buffer, cut)
        feeds: NDArray[np.bool_] = np.frombuffer(self._buffer, dtype=np.uint8, count=cut) == _FEED
        if len(hits) > MANY:
            self._lines += self._locate_many(hits, feeds, cut)
        elif hits:
            self._lines += self._locate_few(sorted(hits), feeds, cut)
        else:
            self._lines += int(np.count_nonzero(feeds))

    def _locate_few(self, hits: list[int], feeds: NDArray[np.bool_], cut: int) -> int:
        """Count line ends between one hit and the next. Returns the line ends of the block."""
        line = counted = 0
        start, end = 0, -1
        seen: set[int] = set()
        for hit in hits:
            position, slot = hit >> SLOT_BITS, hit & _SLOT_MASK
            if position >= end:
                line += int(np.count_nonzero(feeds[counted:position]))
                counted = position
                start = self._buffer.rfind(b"\n", 0, position) + 1
                end = self._buffer.find(b"\n", position, cut)
                end = cut if end < 0 else end
                seen.clear()
            if slot not in seen:
                seen.add(slot)
                self._judge_hit(slot, line, start, end)
        return line + int(np.count_nonzero(feeds[counted:]))

    def _locate_many(self, hits: list[int], feeds: NDArray[np.bool_], cut: int) -> int:
        """Find every line end of the block, then look all hits up. Returns the line ends of the block."""
        ends = np.flatnonzero(feeds)
        packed = np.array(hits, dtype=np.int64)
        lines = np.searchsorted(ends, packed >> SLOT_BITS)
        unique = np.unique(lines << SLOT_BITS | packed & _SLOT_MASK)
        lines = unique >> SLOT_BITS
        bounds = np.concatenate(([-1], ends, [cut]))
        self._judge_many(unique & _SLOT_MASK, lines, bounds[lines] + 1, bounds[lines + 1])
        return len(ends)

    def _judge_many(self, slots: Column, lines: Column, starts: Column, ends: Column) -> None:
        if (np.frombuffer(self._buffer, dtype=np.uint8)[ends - 1] == _RETURN).any():
            # Each such line is looked at again without its carriage return.
            for hit in zip(slots.tolist(), lines.tolist(), starts.tolist(), ends.tolist(), strict=True):
                self._judge_hit(*hit)
            return
        slots = self._judge.slots_for(slots, self._buffer, starts, ends)
        is_counted = slots >= 0
        slots, lines, starts, ends = slots[is_counted], lines[is_counted], starts[is_counted], ends[is_counted]
        self._hits.add_many(
            UntimedHits(
                slot=slots,
                line=lines + (self._lines + 1),
                start=starts + self._at,
                length=ends - starts,
                prefix=prefixes(self._buffer, starts),
            )
        )

    def _judge_hit(self, slot: int, line: int, start: int, end: int) -> None:
        judge = self._judge
        if slot not in judge.readers:
            return
        text = bytes(memoryview(self._buffer)[start:end])
        if text.endswith(b"\r"):
            text, end = text[:-1], end - 1
            if not judge.confirms(slot, text):
                return
        if slot in judge.must_see:
            judged = judge.slot_for(slot, text)
            if judged is None:
                return
            slot = judged
        clock, stamp = stamp_of(text[:PREFIX])
        self._hits.add((slot, self._lines + line + 1, self._at + start, self._at + end, clock, stamp))


def scan_buffer(capacity: int = BLOCK) -> bytearray:
    return bytearray(capacity + _BEHIND)


def failed_scan(path: str, size: int, failure: str) -> ScannedFile:
    return ScannedFile(path=path, hits=NO_HITS, lines=0, size=size, failure=failure)
