"""Scans a part of a file for rule hits, block by block.

A block is read so that it ends at a line end; a line of any length up to LONGEST_LINE fits one block. Line numbers,
times and text are worked out for hits alone.
"""

import os
from collections.abc import Callable, Sequence
from itertools import accumulate
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from affidavit.bundle.log_envelopes import any_wrapped, has_colours, unwrapped
from affidavit.bundle.safety.link_free_opening import open_without_links
from affidavit.evidence.utf16 import is_wide, text_of
from affidavit.index.scanning.hits import Column, HitTable, UntimedHits
from affidavit.index.scanning.parts import FilePart, ScannedPart
from affidavit.index.scanning.rule_matching import RuleSlots
from affidavit.index.times.bulk_stamps import prefixes
from affidavit.index.times.timestamps import PREFIX, stamp_of
from affidavit.matching.matcher import ROOM, SLOT_BITS, Matcher

BLOCK = 1 << 20
LONGEST_LINE = 64 << 20
# From here on a file is scanned by what looks for only the rules that read it, if need be built for it.
LONG_FILE = 8 << 20
# From here on by that if it need not be built.
READY_FILE = 1 << 18
# Above this many hits in a block, finding all line ends at once is cheaper than one hit at a time.
MANY = 48

_SLOT_MASK = (1 << SLOT_BITS) - 1
# Behind the block: what the matcher needs, and the prefix of a line that is shorter.
_BEHIND = max(ROOM, PREFIX)
_FEED = 10
_RETURN = 13
# Every so many bytes a first look tells whether a block can be all zeros.
_STRIDE = 4096
_SNIFFED = 8192


class PartScan:
    """The scan of one part of a file."""

    def __init__(self, part: FilePart, slots: RuleSlots, buffer: bytearray, *, is_wrapped: bool = False) -> None:
        """`buffer` may be shared by scans that take turns. `is_wrapped` where lines of an earlier part were."""
        self._part = part
        self._slots = slots
        self._judge = slots.judge(part.read_as)
        self._matcher: Matcher | None = slots.first_matcher if self._judge.readers else None
        self._file = open_without_links(Path(part.location))
        self._buffer = buffer
        self._hits = HitTable()
        self._at = part.start
        self._lines = 0
        self._oversized = 0
        self._is_skipping = False
        self._is_wide = False
        self._was_wrapped = self._is_wrapped = is_wrapped
        self._has_asked = False

    def scan(self) -> ScannedPart:
        try:
            self._is_wide = is_wide(os.pread(self._file, _SNIFFED, 0))
            while self._matcher is not None and self._at < self._part.end:
                self._step()
        finally:
            os.close(self._file)
        return ScannedPart(
            part=self._part,
            hits=self._slots.told_once(self._hits.columns()),
            lines=self._lines,
            oversized=self._oversized,
            was_wrapped=self._was_wrapped,
            is_wrapped=self._is_wrapped,
        )

    def _step(self) -> None:
        """Scan the whole lines of the next block, or make room for a line longer than the block."""
        if self._is_skipping:
            self._skip_line()
            return
        length = self._read(min(self._capacity, self._part.end - self._at))
        cut = self._buffer.rfind(b"\n", 0, length) + 1
        if cut == 0 and self._at + length >= self._part.end:
            cut = length
        if cut:
            self._scan(cut)
            self._at += cut
        elif not any(memoryview(self._buffer)[:length:_STRIDE]) and not bytes(self._buffer[:length]).strip(b"\0"):
            # Zeros in front of a line are no part of it, however many there are.
            self._at += length
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

    def _skip_line(self) -> None:
        """Pass over a line too long to hold, in pieces."""
        length = self._read(min(self._capacity, self._part.end - self._at))
        end = self._buffer.find(b"\n", 0, length)
        self._at += length if end < 0 else end + 1
        if end >= 0:
            self._lines += 1
            self._is_skipping = False

    def _scan(self, cut: int) -> None:
        if self._matcher is None:
            return
        matcher = self._matcher = self._chosen(self._matcher)
        if self._is_wide:
            self._scan_inner(matcher, cut, _wide_text)
            return
        self._is_wrapped = self._is_wrapped or any_wrapped(self._buffer, cut)
        if self._at == self._part.start:
            self._was_wrapped = self._is_wrapped
        # Colours may stand in a few lines of a long log: only their blocks are read line by line.
        if self._is_wrapped or has_colours(self._buffer, cut):
            self._scan_inner(matcher, cut, _inner_text)
            return
        if self._has_zeros_in_front(cut):
            self._scan_behind_zeros(matcher, cut)
            return
        hits = matcher.scan(self._buffer, cut)
        feeds: NDArray[np.bool_] = np.frombuffer(self._buffer, dtype=np.uint8, count=cut) == _FEED
        if len(hits) > MANY:
            self._lines += self._locate_many(hits, feeds, cut)
        elif hits:
            self._lines += self._locate_few(sorted(hits), feeds, cut)
        else:
            self._lines += int(np.count_nonzero(feeds))

    def _chosen(self, matcher: Matcher) -> Matcher:
        if self._at >= LONG_FILE:
            return self._slots.matcher_of(self._judge.readers)
        if self._at < READY_FILE or self._has_asked:
            return matcher
        self._has_asked = True
        return self._slots.ready_matcher_of(self._judge.readers) or matcher

    def _has_zeros_in_front(self, cut: int) -> bool:
        """Whether a line of the block begins with zeros. Looking for one byte is many times faster than for two."""
        has_zeros = self._buffer.find(b"\0", 0, cut) >= 0
        return has_zeros and (self._buffer[0] == 0 or self._buffer.find(b"\n\0", 0, cut) >= 0)

    def _scan_inner(self, matcher: Matcher, cut: int, inner: Callable[[bytes], bytes]) -> None:
        """Scan what lines say inside their encoding. Hits keep the numbers and bytes of the stored lines."""
        raw = bytes(memoryview(self._buffer)[:cut]).split(b"\n")
        texts = [inner(line) for line in raw]
        starts = _starts(raw)
        for row, slot in _rows_hit(matcher, texts):
            start, end = _stored_span(raw[row], is_wide=self._is_wide)
            self._judge_text(slot, row, starts[row] + start, starts[row] + end, texts[row])
        self._lines += len(raw) - 1

    def _scan_behind_zeros(self, matcher: Matcher, cut: int) -> None:
        """Scan lines without the zeros in front of them, which would hide a wording that starts a line."""
        raw = bytes(memoryview(self._buffer)[:cut]).split(b"\n")
        starts = _starts(raw)
        for row, slot in _rows_hit(matcher, [line.lstrip(b"\0") for line in raw]):
            self._judge_hit(slot, row, starts[row], starts[row] + len(raw[row]))
        self._lines += len(raw) - 1

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
        block = np.frombuffer(self._buffer, dtype=np.uint8)
        if (block[ends - 1] == _RETURN).any() or (block[starts] == 0).any():
            # Each such line is looked at again without its carriage return and the zeros in front of it.
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
        if slot not in self._judge.readers:
            return
        line_text = bytes(memoryview(self._buffer)[start:end])
        text = line_text.lstrip(b"\0")
        start += len(line_text) - len(text)
        if text.endswith(b"\r"):
            text, end = text[:-1], end - 1
        # The engine saw the line with what was taken off, so it is asked again.
        if end - start == len(line_text) or self._judge.confirms(slot, text):
            self._judge_text(slot, line, start, end, text)

    def _judge_text(self, slot: int, line: int, start: int, end: int, text: bytes) -> None:
        """`text` is what the line says; its bytes are from `start` to `end` of the block."""
        judge = self._judge
        if slot not in judge.readers:
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


def _wide_text(line: bytes) -> bytes:
    return unwrapped(text_of(line, is_of_wide_file=True).encode())


def _inner_text(line: bytes) -> bytes:
    return unwrapped(line.lstrip(b"\0").removesuffix(b"\r"))


def _stored_span(line: bytes, *, is_wide: bool) -> tuple[int, int]:
    """Without zeros in front and a carriage return behind, which are no part of a line; in UTF-16 both are."""
    if is_wide:
        return 0, len(line)
    return len(line) - len(line.lstrip(b"\0")), len(line.removesuffix(b"\r"))


def _starts(lines: Sequence[bytes]) -> list[int]:
    return [0, *accumulate(len(line) + 1 for line in lines)]


def _rows_hit(matcher: Matcher, texts: Sequence[bytes]) -> list[tuple[int, int]]:
    """Which of the lines which slots hit, in order."""
    block = bytearray(b"\n".join(texts)) + bytes(ROOM)
    ends = np.cumsum([len(text) + 1 for text in texts])
    found = {
        (int(np.searchsorted(ends, hit >> SLOT_BITS, side="right")), hit & _SLOT_MASK)
        for hit in matcher.scan(block, len(block) - ROOM)
    }
    return sorted(found)
