"""Find the lines of files on which a query matches: all of them counted, the first ones located.

Files are taken in ranges of whole lines by two threads; both engines work outside the interpreter's lock.
"""

import mmap
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from affidavit.nodes.queries import Query

RANGE = 8 << 20
# A line longer than this cannot be handed to the engine in one piece.
LONGEST_LINE = 1 << 30
# Above this many matches in a range, finding all line ends at once is cheaper than one match at a time.
_MANY = 4000
# More matches than one in so many bytes, and telling about each costs more than asking RE2 line by line.
_FLOOD = 24
# More needles than one in so many bytes, and asking RE2 about each of their lines costs more than the engine does.
_NEEDLES = 4096
# Vectorscan 5.4.12 misses some matches that reach the last byte of its input (`b+$`, `(a|bk)b*[ab]`): it is shown a
# little more than is asked of it.
_BEYOND = 64
# RE2 is given so much at a time, so that the clock can be looked at in between.
_PIECE = 256 << 10
# Small enough to stay in a core's cache.
_LOOK = 256 << 10
# No query hangs, but one of many wide repetitions may crawl. What is left then is said to be unsearched.
SECONDS = 30.0
_FEED, _RETURN = 10, 13

_TIME_IS_UP = f"not searched to its end: the query took longer than {SECONDS:.0f} s in all"

Span = tuple[int, int]


@dataclass(kw_only=True)
class FileMatches:
    """`spans` are the first matching lines, without their line ends. `failure` says why it was not searched."""

    count: int = 0
    spans: list[Span] = field(default_factory=list[Span])
    failure: str = ""


@dataclass(frozen=True, kw_only=True)
class _Range:
    file: int
    start: int
    end: int


@dataclass(frozen=True, kw_only=True)
class _Located:
    count: int
    spans: list[Span]

    def and_then(self, other: "_Located", most: int) -> "_Located":
        return _Located(count=self.count + other.count, spans=[*self.spans, *other.spans][:most])


def scan_files(query: Query, locations: Sequence[Path], most: int, *, threads: int | None = None) -> list[FileMatches]:
    """One result for each file, in order. `most` is how many lines of each are located."""
    found = [FileMatches() for _ in locations]
    with _Open(locations, found) as opened:
        crew = _Crew(query, opened, most)
        crew.run(threads or min(2, os.cpu_count() or 1))
        for place, located in sorted(crew.located.items()):
            matches = found[place[0]]
            matches.count += located.count
            matches.spans.extend(located.spans[: most - len(matches.spans)])
    for matches, failure in zip(found, crew.failures, strict=True):
        matches.failure = matches.failure or failure
    return found


class _Open:
    """The bytes of all files; an empty one has none."""

    def __init__(self, locations: Sequence[Path], found: Sequence[FileMatches]) -> None:
        self.buffers: list[mmap.mmap | None] = [_mapped(path, found[at]) for at, path in enumerate(locations)]

    def __enter__(self) -> "_Open":
        return self

    def __exit__(self, *_: object) -> None:
        for buffer in self.buffers:
            if buffer is not None:
                buffer.close()

    def ranges(self) -> list[_Range]:
        """The largest files first, so that no thread is left alone with one at the end."""
        sizes = [(len(buffer), at) for at, buffer in enumerate(self.buffers) if buffer is not None]
        return [
            _Range(file=at, start=start, end=min(start + RANGE, size))
            for size, at in sorted(sizes, reverse=True)
            for start in range(0, size, RANGE)
        ]


def _mapped(path: Path, matches: FileMatches) -> mmap.mmap | None:
    try:
        with path.open("rb") as file:
            if os.fstat(file.fileno()).st_size == 0:
                return None
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except OSError as error:
        matches.failure = error.strerror or type(error).__name__
        return None


class _Crew:
    def __init__(self, query: Query, opened: _Open, most: int) -> None:
        self._query = query
        self._opened = opened
        self._most = most
        self._tasks: Iterator[_Range] = iter(opened.ranges())
        self._lock = threading.Lock()
        self._is_flooded = query.database is None
        self._seeks_needles = query.needles is not None
        self._error: BaseException | None = None
        self.located: dict[tuple[int, int], _Located] = {}
        self._deadline = time.monotonic() + SECONDS
        self.failures = [""] * len(opened.buffers)

    def run(self, threads: int) -> None:
        others = [threading.Thread(target=self._work, daemon=True) for _ in range(threads - 1)]
        for other in others:
            other.start()
        self._work()
        for other in others:
            other.join()
        if self._error is not None:
            raise self._error

    def _work(self) -> None:
        try:
            scratches = _Scratches(self._query)
            while self._error is None and (task := self._next()) is not None:
                self._do(task, scratches)
        except BaseException as error:  # noqa: BLE001  # the door of the thread: `run` raises it again
            self._error = error

    def _next(self) -> _Range | None:
        with self._lock:
            return next(self._tasks, None)

    def _do(self, task: _Range, scratches: "_Scratches") -> None:
        buffer = self._opened.buffers[task.file]
        if buffer is None:
            return
        start, end = _whole_lines(buffer, task)
        if time.monotonic() > self._deadline:
            self.failures[task.file] = _TIME_IS_UP
        elif end - start > LONGEST_LINE:
            self.failures[task.file] = f"a line is longer than {LONGEST_LINE >> 30} GiB"
        elif start < end:
            located = self._locate(task, buffer, start, end, scratches)
            if located.count:
                self.located[task.file, task.start] = located

    def _locate(self, task: _Range, buffer: mmap.mmap, start: int, end: int, scratches: "_Scratches") -> _Located:
        # At the very end of its input the engine misses matches, so the last line of a file is RE2's.
        last = buffer.rfind(b"\n", start, end - 1) + 1 or start if end == len(buffer) else end
        found = self._by_needles(buffer, start, last, scratches) or self._by_pattern(buffer, start, last, scratches)
        if found is None:
            if self._query.sees_line_ends and _has_returns(buffer, start, end):
                return _every_line(self._query, buffer, start, end, self._most)
            return self._in_pieces(task, buffer, start, end)
        return found if last == end else found.and_then(_every_line(self._query, buffer, last, end, 1), self._most)

    def _by_needles(self, buffer: mmap.mmap, start: int, end: int, scratches: "_Scratches") -> _Located | None:
        """None, and never again, when what every match holds stands in too many lines."""
        if not self._seeks_needles:
            return None
        most = (end - start) // _NEEDLES + 100
        hits = _hyperscanned(self._query.needles, buffer, start, end, scratches.needles, most)
        if isinstance(hits, _Stopped):
            self._seeks_needles = False
            return None
        return _lines_of(buffer, start, end, hits, self._most, partial(_judged, self._query))

    def _by_pattern(self, buffer: mmap.mmap, start: int, end: int, scratches: "_Scratches") -> _Located | None:
        """None when RE2 has to look at every line."""
        if self._is_flooded:
            return None
        most = (end - start) // _FLOOD + 1000
        hits = _hyperscanned(self._query.database, buffer, start, end, scratches.pattern, most)
        if isinstance(hits, _Stopped):
            self._is_flooded = self._is_flooded or hits is _Stopped.FLOOD
            return None
        if len(hits) > _MANY:
            return _lines_of_many(self._query, buffer, start, end, hits, self._most)
        if not self._query.may_take_returns:
            return _lines_of_certain(buffer, start, end, hits, self._most)
        return _lines_of(buffer, start, end, hits, self._most, partial(_confirmed, self._query))

    def _in_pieces(self, task: _Range, buffer: mmap.mmap, start: int, end: int) -> _Located:
        found = _Located(count=0, spans=[])
        while start < end:
            if time.monotonic() > self._deadline:
                self.failures[task.file] = _TIME_IS_UP
                break
            stop = min(end, _behind_line_end(buffer, min(start + _PIECE, end) - 1))
            found = found.and_then(_line_by_line(self._query, buffer, start, stop, self._most), self._most)
            start = stop
        return found


def _has_returns(buffer: mmap.mmap, start: int, end: int) -> bool:
    """Whether a line may end in a carriage return. `mmap.find` looks at byte after byte, at a fifth the speed."""
    for at in range(start, end, _LOOK):
        piece = np.frombuffer(buffer, dtype=np.uint8, count=min(_LOOK, end - at), offset=at)
        found = bool((piece == _RETURN).any())
        del piece  # the map cannot be closed while an array looks at it
        if found:
            return True
    return False


def _whole_lines(buffer: mmap.mmap, task: _Range) -> Span:
    """The lines that begin in the range."""
    start = 0 if task.start == 0 else _behind_line_end(buffer, task.start - 1)
    return start, max(start, _behind_line_end(buffer, task.end - 1))


def _behind_line_end(buffer: mmap.mmap, at: int) -> int:
    feed = buffer.find(b"\n", at)
    return len(buffer) if feed < 0 else feed + 1


class _Scratches:
    """What the engine works with: of one thread, one for each database."""

    def __init__(self, query: Query) -> None:
        self.pattern, self.needles = _scratch_of(query.database), _scratch_of(query.needles)


def _scratch_of(database: Any) -> Any:
    if database is None:
        return None
    import hyperscan

    return hyperscan.Scratch(database)


class _Stopped(Enum):
    FLOOD = auto()
    """There are too many matches to be worth telling about each."""
    RETURNS = auto()
    """Lines end in carriage returns, and the query sees line ends."""


def _hyperscanned(
    database: Any, buffer: mmap.mmap, start: int, end: int, scratch: Any, most: int
) -> list[int] | _Stopped:
    """The byte behind one of each matching line, ascending, with repeats."""
    import hyperscan

    hits: list[int] = []
    note = hits.append

    # Called for every match: names of this function are found faster than attributes of a context.
    def collect(what: int, _start: int, stop: int, _flags: int, _context: object) -> bool | int:
        note(stop)
        return what or len(hits) > most

    with memoryview(buffer) as whole, whole[start : end + _BEYOND] as view:
        try:
            database.scan(view, match_event_handler=collect, scratch=scratch)
        except hyperscan.ScanTerminated:
            return _Stopped.FLOOD if len(hits) > most else _Stopped.RETURNS
    while hits and hits[-1] > end - start:
        hits.pop()
    return hits


def _lines_of(
    buffer: mmap.mmap,
    start: int,
    end: int,
    hits: list[int],
    most: int,
    judged: Callable[[mmap.mmap, int, int], Span | None],
) -> _Located:
    """`judged` says of a line, by where it begins and ends, whether it matches and where its text ends."""
    spans: list[Span] = []
    count, line_end = 0, -1
    for hit in hits:
        at = start + hit - 1
        if at <= line_end:
            continue
        begin, line_end = _around(buffer, start, end, at)
        if (span := judged(buffer, begin, line_end)) is not None:
            count += 1
            if len(spans) < most:
                spans.append(span)
    return _Located(count=count, spans=spans)


def _lines_of_certain(buffer: mmap.mmap, start: int, end: int, hits: list[int], most: int) -> _Located:
    """Every hit is a match, and of the lines behind the first ones only their number is asked."""
    spans: list[Span] = []
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
        spans.append((begin, line_end - (buffer[line_end - 1] == _RETURN)))
    return _Located(count=count, spans=spans)


def _around(buffer: mmap.mmap, start: int, end: int, at: int) -> Span:
    """The line that `at` lies in, without its line feed."""
    feed = buffer.find(b"\n", at, end)
    return buffer.rfind(b"\n", start, at) + 1 or start, end if feed < 0 else feed


def _judged(query: Query, buffer: mmap.mmap, begin: int, end: int) -> Span | None:
    """By RE2 alone."""
    line_end = end - (end > begin and buffer[end - 1] == _RETURN)
    return (begin, line_end) if query.matches(buffer[begin:line_end]) else None


def _confirmed(query: Query, buffer: mmap.mmap, begin: int, end: int) -> Span | None:
    """A carriage return is part of the line end; the engine has seen it as part of the line."""
    if end > begin and buffer[end - 1] == _RETURN:
        return (begin, end - 1) if query.matches(buffer[begin : end - 1]) else None
    return begin, end


def _lines_of_many(query: Query, buffer: mmap.mmap, start: int, end: int, hits: list[int], most: int) -> _Located:
    bytes_: NDArray[np.uint8] = np.frombuffer(buffer, dtype=np.uint8, count=end - start, offset=start)
    feeds = np.flatnonzero(bytes_ == _FEED)
    # A hit may be the line feed itself, which belongs to the line it ends.
    numbers = np.searchsorted(feeds, np.array(hits, dtype=np.int64) - 1)
    numbers = numbers[np.concatenate(([True], numbers[1:] != numbers[:-1]))]
    bounds = np.concatenate(([-1], feeds, [end - start]))
    begins, ends = bounds[numbers] + 1, bounds[numbers + 1]
    returns = np.flatnonzero((ends > begins) & (bytes_[np.maximum(ends - 1, 0)] == _RETURN))
    is_match = np.ones(len(numbers), dtype=np.bool_)
    for row in returns.tolist():
        ends[row] -= 1
        is_match[row] = query.matches(bytes_[begins[row] : ends[row]].tobytes())
    rows = np.flatnonzero(is_match)
    listed = rows[:most]
    spans = list(zip((begins[listed] + start).tolist(), (ends[listed] + start).tolist(), strict=True))
    # The map cannot be closed while arrays look at it.
    del bytes_
    return _Located(count=len(rows), spans=spans)


def _line_by_line(query: Query, buffer: mmap.mmap, start: int, end: int, most: int) -> _Located:
    block = buffer[start:end]
    spans: list[Span] = []
    count = at = 0
    # A match of nothing may stand behind the last byte: on the last line, unless a line feed ends that.
    last = len(block) - block.endswith(b"\n")
    while at < len(block) and (hit := query.next_match(block, at)) is not None and hit <= last:
        begin = block.rfind(b"\n", 0, hit) + 1
        feed = block.find(b"\n", hit)
        feed = len(block) if feed < 0 else feed
        line_end = feed - (feed > begin and block[feed - 1] == _RETURN)
        if line_end == feed or query.matches(block[begin:line_end]):
            count += 1
            if len(spans) < most:
                spans.append((start + begin, start + line_end))
        at = feed + 1
    return _Located(count=count, spans=spans)


def _every_line(query: Query, buffer: mmap.mmap, start: int, end: int, most: int) -> _Located:
    spans: list[Span] = []
    count, at = 0, start
    while at < end:
        feed = buffer.find(b"\n", at, end)
        feed = end if feed < 0 else feed
        line_end = feed - (feed > at and buffer[feed - 1] == _RETURN)
        if query.matches(buffer[at:line_end]):
            count += 1
            if len(spans) < most:
                spans.append((at, line_end))
        at = feed + 1
    return _Located(count=count, spans=spans)
