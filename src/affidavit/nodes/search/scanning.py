"""Find the lines of files on which a query matches: all of them counted, the first ones located.

Files are taken in ranges of whole lines by two threads; both engines work outside the interpreter's lock.
"""

import mmap
import os
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np

from affidavit.nodes.search.hyperscan_search import QueryScratches, Stopped, hyperscanned
from affidavit.nodes.search.located_lines import (
    RETURN,
    LineSpan,
    LocatedLines,
    confirmed,
    every_line,
    judged,
    line_by_line,
    lines_of,
    lines_of_certain,
    lines_of_many,
)
from affidavit.nodes.search.queries import Query
from affidavit.progress import who_waits

RANGE = 8 << 20
# A line longer than this cannot be handed to the engine in one piece.
LONGEST_LINE = 1 << 30
# Above this many matches in a range, finding all line ends at once is cheaper than one match at a time.
_MANY = 4000
# More matches than one in so many bytes, and telling about each costs more than asking RE2 line by line.
_FLOOD = 24
# More needles than one in so many bytes, and asking RE2 about each of their lines costs more than the engine does.
_NEEDLES = 4096
# RE2 is given so much at a time, so that the clock can be looked at in between.
_PIECE = 256 << 10
# Small enough to stay in a core's cache.
_LOOK = 256 << 10
# No query hangs, but one of many wide repetitions may crawl. What is left then is said to be unsearched.
SECONDS = 30.0

_TIME_IS_UP = f"not searched to its end: the query took longer than {SECONDS:.0f} s in all"


@dataclass(kw_only=True)
class FileMatches:
    """`spans` are the first matching lines, without their line ends. `failure` says why it was not searched."""

    count: int = 0
    spans: list[LineSpan] = field(default_factory=list[LineSpan])
    failure: str = ""


@dataclass(frozen=True, kw_only=True)
class _Range:
    file: int
    start: int
    end: int


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
        self.located: dict[tuple[int, int], LocatedLines] = {}
        self._deadline = time.monotonic() + SECONDS
        self._waiting = who_waits().next_stage()
        self._done = 0
        self._total = sum(len(buffer) for buffer in opened.buffers if buffer is not None)
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
            scratches = QueryScratches(self._query)
            while self._error is None and (task := self._next()) is not None:
                self._do(task, scratches)
        except BaseException as error:  # noqa: BLE001  # the door of the thread: `run` raises it again
            self._error = error

    def _next(self) -> _Range | None:
        with self._lock:
            return next(self._tasks, None)

    def _do(self, task: _Range, scratches: QueryScratches) -> None:
        self._done += task.end - task.start
        self._waiting.tell(self._done, self._total, "bytes searched")
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

    def _locate(self, task: _Range, buffer: mmap.mmap, start: int, end: int, scratches: QueryScratches) -> LocatedLines:
        # At the very end of its input the engine misses matches, so the last line of a file is RE2's.
        last = buffer.rfind(b"\n", start, end - 1) + 1 or start if end == len(buffer) else end
        found = self._by_needles(buffer, start, last, scratches) or self._by_pattern(buffer, start, last, scratches)
        if found is None:
            if self._query.sees_line_ends and _has_returns(buffer, start, end):
                return every_line(self._query, buffer, start, end, self._most)
            return self._in_pieces(task, buffer, start, end)
        return found if last == end else found.and_then(every_line(self._query, buffer, last, end, 1), self._most)

    def _by_needles(self, buffer: mmap.mmap, start: int, end: int, scratches: QueryScratches) -> LocatedLines | None:
        """None, and never again, when what every match holds stands in too many lines."""
        if not self._seeks_needles:
            return None
        most = (end - start) // _NEEDLES + 100
        hits = hyperscanned(self._query.needles, buffer, start, end, scratches.needles, most)
        if isinstance(hits, Stopped):
            self._seeks_needles = False
            return None
        return lines_of(buffer, start, end, hits, self._most, partial(judged, self._query))

    def _by_pattern(self, buffer: mmap.mmap, start: int, end: int, scratches: QueryScratches) -> LocatedLines | None:
        """None when RE2 has to look at every line."""
        if self._is_flooded:
            return None
        most = (end - start) // _FLOOD + 1000
        hits = hyperscanned(self._query.database, buffer, start, end, scratches.pattern, most)
        if isinstance(hits, Stopped):
            self._is_flooded = self._is_flooded or hits is Stopped.FLOOD
            return None
        if len(hits) > _MANY:
            return lines_of_many(self._query, buffer, start, end, hits, self._most)
        if not self._query.may_take_returns:
            return lines_of_certain(buffer, start, end, hits, self._most)
        return lines_of(buffer, start, end, hits, self._most, partial(confirmed, self._query))

    def _in_pieces(self, task: _Range, buffer: mmap.mmap, start: int, end: int) -> LocatedLines:
        found = LocatedLines(count=0, spans=[])
        while start < end:
            self._waiting.check()
            if time.monotonic() > self._deadline:
                self.failures[task.file] = _TIME_IS_UP
                break
            stop = min(end, _behind_line_end(buffer, min(start + _PIECE, end) - 1))
            found = found.and_then(line_by_line(self._query, buffer, start, stop, self._most), self._most)
            start = stop
        return found


def _has_returns(buffer: mmap.mmap, start: int, end: int) -> bool:
    """Whether a line may end in a carriage return. `mmap.find` looks at byte after byte, at a fifth the speed."""
    for at in range(start, end, _LOOK):
        piece = np.frombuffer(buffer, dtype=np.uint8, count=min(_LOOK, end - at), offset=at)
        found = bool((piece == RETURN).any())
        del piece  # the map cannot be closed while an array looks at it
        if found:
            return True
    return False


def _whole_lines(buffer: mmap.mmap, task: _Range) -> LineSpan:
    """The lines that begin in the range."""
    start = 0 if task.start == 0 else _behind_line_end(buffer, task.start - 1)
    return start, max(start, _behind_line_end(buffer, task.end - 1))


def _behind_line_end(buffer: mmap.mmap, at: int) -> int:
    feed = buffer.find(b"\n", at)
    return len(buffer) if feed < 0 else feed + 1
