"""Make evidence of lines that were found by their bytes: number, time, excerpt and digest."""

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from affidavit.bundle.line_index import STRIDE, LineIndex
from affidavit.evidence.finding import ByteRange, Evidence, LineRange, excerpt_of
from affidavit.index.findings_index import ClockNote
from affidavit.index.times.bundle_clock import BundleClock, time_of
from affidavit.index.times.timestamps import PREFIX, stamp_of
from affidavit.nodes.library.stored_lines import LineIndexes
from affidavit.nodes.search.located_lines import LineSpan

# Nearer than this, line ends are counted from the line before rather than looked up.
_NEAR = 32 << 10
# Counting so much of a file is cheaper than making an index of all of it.
_SHORT = 2 << 20


def clock_of(note: ClockNote) -> BundleClock:
    """The clock that the index read its times by."""
    return BundleClock(
        collected_at=note.collected_at,
        collected_from=note.collected_from,
        booted_at=note.booted_at,
        booted_from=note.booted_from,
        gaps=(),
    )


def evidence_of(
    path: str, key: str, location: Path, spans: Sequence[LineSpan], clock: BundleClock, indexes: LineIndexes
) -> list[Evidence]:
    """`spans` ascend. Lines are read once."""
    file = os.open(location, os.O_RDONLY)
    try:
        lines = [os.pread(file, end - start, start) for start, end in spans]
        index = indexes.of(location) if spans and spans[-1][0] > _SHORT else None
        numbers = _numbers(file, spans, index)
    finally:
        os.close(file)
    stamps = [stamp_of(line[:PREFIX]) for line in lines]
    times = clock.resolve(
        np.array([stamp[0] for stamp in stamps], dtype=np.int8),
        np.array([stamp[1] for stamp in stamps], dtype=np.int64),
    )
    return [
        Evidence(
            source_file=path,
            full_key=key,
            excerpt=excerpt_of(line),
            line_range=LineRange(start=number, end=number),
            byte_offset=ByteRange(start=span[0], end=span[1]),
            timestamp=time_of(time),
            sha256=hashlib.sha256(line).hexdigest(),
        )
        for line, number, span, time in zip(lines, numbers, spans, times.tolist(), strict=True)
    ]


def _numbers(file: int, spans: Sequence[LineSpan], index: LineIndex | None) -> list[int]:
    numbers: list[int] = []
    at, line = 0, 1
    for start, _ in spans:
        if index is not None and start - at > _NEAR:
            at, line = _stride_before(index, start, at, line)
        line += os.pread(file, start - at, at).count(b"\n")
        at = start
        numbers.append(line)
    return numbers


def _stride_before(index: LineIndex, start: int, at: int, line: int) -> tuple[int, int]:
    stride = start // STRIDE
    if stride * STRIDE <= at:
        return at, line
    return stride * STRIDE, int(index.ends[stride - 1]) + 1
