"""Hyperscan over a range of a mapped file: where matches end."""

import mmap
from enum import Enum, auto
from typing import Any, Final

from affidavit.nodes.search.queries import Query

# Vectorscan 5.4.12 misses some matches that reach the last byte of its input (`b+$`, `(a|bk)b*[ab]`): it is shown a
# little more than is asked of it.
_BEYOND: Final = 64


class QueryScratches:
    """Working memory of the engine: one for each database and thread."""

    def __init__(self, query: Query) -> None:
        self.pattern, self.needles = _scratch_of(query.database), _scratch_of(query.needles)


def _scratch_of(database: Any) -> Any:
    if database is None:
        return None
    import hyperscan

    return hyperscan.Scratch(database)


class Stopped(Enum):
    FLOOD = auto()
    """Too many matches to report each."""
    RETURNS = auto()
    """Lines end in carriage returns, and the query sees line ends."""


def hyperscanned(
    database: Any, buffer: mmap.mmap, start: int, end: int, scratch: Any, most: int
) -> list[int] | Stopped:
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
            return Stopped.FLOOD if len(hits) > most else Stopped.RETURNS
    while hits and hits[-1] > end - start:
        hits.pop()
    return hits
