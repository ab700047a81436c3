"""From hits of the engine, or from RE2 alone, to the lines that match: all counted, the first ones located."""

import mmap
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from affidavit.nodes.search.queries import Query

FEED: Final = 10
RETURN: Final = 13

LineSpan: TypeAlias = tuple[int, int]
"""Where a line begins and where its text ends, without the line end."""


@dataclass(frozen=True, kw_only=True)
class LocatedLines:
    """`spans` are the first matching lines."""

    count: int
    spans: list[LineSpan]

    def and_then(self, other: "LocatedLines", most: int) -> "LocatedLines":
        return LocatedLines(count=self.count + other.count, spans=[*self.spans, *other.spans][:most])


def lines_of(
    buffer: mmap.mmap,
    start: int,
    end: int,
    hits: list[int],
    most: int,
    verdict: Callable[[mmap.mmap, int, int], LineSpan | None],
) -> LocatedLines:
    """`verdict` says of a line, by where it begins and ends, whether it matches and where its text ends."""
    spans: list[LineSpan] = []
    count, line_end = 0, -1
    for hit in hits:
        at = start + hit - 1
        if at <= line_end:
            continue
        begin, line_end = _around(buffer, start, end, at)
        if (span := verdict(buffer, begin, line_end)) is not None:
            count += 1
            if len(spans) < most:
                spans.append(span)
    return LocatedLines(count=count, spans=spans)


def lines_of_certain(buffer: mmap.mmap, start: int, end: int, hits: list[int], most: int) -> LocatedLines:
    """Every hit is a match, and of the lines behind the first ones only their number is asked."""
    spans: list[LineSpan] = []
    count, line_end = 0, -1
    for hit in hits:
        at = start + hit - 1
        if at <= line_end:
            continue
        count += 1
        if count > most:
            feed = buffer.find(b"\n", at, end)
            line_end = end if feed < 0 else feed
            continue
        begin, line_end = _around(buffer, start, end, at)
        spans.append((begin, line_end - (buffer[line_end - 1] == RETURN)))
    return LocatedLines(count=count, spans=spans)


def _around(buffer: mmap.mmap, start: int, end: int, at: int) -> LineSpan:
    """The line that `at` lies in, without its line feed."""
    feed = buffer.find(b"\n", at, end)
    return buffer.rfind(b"\n", start, at) + 1 or start, end if feed < 0 else feed


def judged(query: Query, buffer: mmap.mmap, begin: int, end: int) -> LineSpan | None:
    """By RE2 alone."""
    line_end = end - (end > begin and buffer[end - 1] == RETURN)
    return (begin, line_end) if query.matches(buffer[begin:line_end]) else None


def confirmed(query: Query, buffer: mmap.mmap, begin: int, end: int) -> LineSpan | None:
    """A carriage return is part of the line end; the engine has seen it as part of the line."""
    if end > begin and buffer[end - 1] == RETURN:
        return (begin, end - 1) if query.matches(buffer[begin : end - 1]) else None
    return begin, end


def lines_of_many(query: Query, buffer: mmap.mmap, start: int, end: int, hits: list[int], most: int) -> LocatedLines:
    bytes_: NDArray[np.uint8] = np.frombuffer(buffer, dtype=np.uint8, count=end - start, offset=start)
    feeds = np.flatnonzero(bytes_ == FEED)
    # A hit may be the line feed itself, which belongs to the line it ends.
    numbers = np.searchsorted(feeds, np.array(hits, dtype=np.int64) - 1)
    numbers = numbers[np.concatenate(([True], numbers[1:] != numbers[:-1]))]
    bounds = np.concatenate(([-1], feeds, [end - start]))
    begins, ends = bounds[numbers] + 1, bounds[numbers + 1]
    returns = np.flatnonzero((ends > begins) & (bytes_[np.maximum(ends - 1, 0)] == RETURN))
    is_match = np.ones(len(numbers), dtype=np.bool_)
    for row in returns.tolist():
        ends[row] -= 1
        is_match[row] = query.matches(bytes_[begins[row] : ends[row]].tobytes())
    rows = np.flatnonzero(is_match)
    listed = rows[:most]
    spans = list(zip((begins[listed] + start).tolist(), (ends[listed] + start).tolist(), strict=True))
    # The map cannot be closed while arrays look at it.
    del bytes_
    return LocatedLines(count=len(rows), spans=spans)


def line_by_line(query: Query, buffer: mmap.mmap, start: int, end: int, most: int) -> LocatedLines:
    block = buffer[start:end]
    spans: list[LineSpan] = []
    count = at = 0
    # A match of nothing may stand behind the last byte: on the last line, unless a line feed ends that.
    last = len(block) - block.endswith(b"\n")
    while at < len(block) and (hit := query.next_match(block, at)) is not None and hit <= last:
        begin = block.rfind(b"\n", 0, hit) + 1
        feed = block.find(b"\n", hit)
        feed = len(block) if feed < 0 else feed
        line_end = feed - (feed > begin and block[feed - 1] == RETURN)
        if line_end == feed or query.matches(block[begin:line_end]):
            count += 1
            if len(spans) < most:
                spans.append((start + begin, start + line_end))
        at = feed + 1
    return LocatedLines(count=count, spans=spans)


def every_line(query: Query, buffer: mmap.mmap, start: int, end: int, most: int) -> LocatedLines:
    spans: list[LineSpan] = []
    count, at = 0, start
    while at < end:
        feed = buffer.find(b"\n", at, end)
        feed = end if feed < 0 else feed
        line_end = feed - (feed > at and buffer[feed - 1] == RETURN)
        if query.matches(buffer[at:line_end]):
            count += 1
            if len(spans) < most:
                spans.append((at, line_end))
        at = feed + 1
    return LocatedLines(count=count, spans=spans)
