"""Cuts files at line ends into parts that several workers scan, and joins what they found.

Cuts depend on the bytes of a file alone, so neither how fast it grows nor the number of workers changes what is found.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

from affidavit.bundle.safety.link_free_opening import open_without_links
from affidavit.index.scanning.hits import NO_HITS, FileHits, joined_hits

PART = 8 << 20
_LOOKED_AT = 64 << 10


@dataclass(frozen=True, kw_only=True)
class FilePart:
    """Whole lines of a file, whose rules are those of `read_as`. `end` is the first byte behind them."""

    path: str
    location: str
    read_as: str
    start: int
    end: int
    is_last: bool


@dataclass(frozen=True, kw_only=True)
class ScannedPart:
    """Lines are counted from its start. `was_wrapped` and `is_wrapped` tell of its first block and of its last one."""

    part: FilePart
    hits: FileHits = NO_HITS
    lines: int = 0
    oversized: int = 0
    was_wrapped: bool = False
    is_wrapped: bool = False
    failure: str = ""


@dataclass(frozen=True, kw_only=True)
class ScannedFile:
    """`oversized` lines were longer than LONGEST_LINE and were not looked at."""

    path: str
    hits: FileHits
    oversized: int = 0
    failure: str = ""

    @property
    def is_whole(self) -> bool:
        """Whether every line was looked at."""
        return not self.failure and not self.oversized


class Cutter:
    """Gives the parts of one file that may still be growing."""

    def __init__(self, path: str, location: Path, read_as: str) -> None:
        self._path, self._location, self._read_as = path, location, read_as
        self._start = self._seen = 0

    def grown(self, size: int) -> Iterator[FilePart]:
        """Parts that lie in the first `size` bytes and were not given yet."""
        while self._seen + PART <= size:
            end = self._last_line_end(self._seen, self._seen + PART)
            self._seen += PART
            if end is not None:
                yield self._part(end, is_last=False)

    def finished(self, size: int) -> Iterator[FilePart]:
        yield from self.grown(size)
        yield self._part(size, is_last=True)

    def _part(self, end: int, *, is_last: bool) -> FilePart:
        start, self._start = self._start, end
        return FilePart(
            path=self._path,
            location=str(self._location),
            read_as=self._read_as,
            start=start,
            end=end,
            is_last=is_last,
        )

    def _last_line_end(self, start: int, end: int) -> int | None:
        """None where there is none, or where the file cannot be read: its scan will tell."""
        try:
            file = open_without_links(self._location)
        except OSError:
            return None
        try:
            for at in range(end - _LOOKED_AT, start - 1, -_LOOKED_AT):
                if (feed := os.pread(file, _LOOKED_AT, at).rfind(b"\n")) >= 0:
                    return at + feed + 1
        finally:
            os.close(file)
        return None


def joined(parts: Sequence[ScannedPart], scan_wrapped: Callable[[FilePart], ScannedPart]) -> ScannedFile:
    """`parts` are those of one file, in order. Behind a part with wrapped lines, all that follow are read as such."""
    known: list[ScannedPart] = []
    for part in parts:
        is_misread = known and known[-1].is_wrapped and not part.was_wrapped
        known.append(scan_wrapped(part.part) if is_misread else part)
    return ScannedFile(
        path=known[0].part.path,
        hits=joined_hits([part.hits for part in known], [*accumulate((part.lines for part in known), initial=0)]),
        oversized=sum(part.oversized for part in known),
        failure=next((part.failure for part in known if part.failure), ""),
    )
