"""Some lines of a stored log, however large it is: secrets hidden, cited bytes lit."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Final

from affidavit.bundle.line_index import line_start, newlines_before
from affidavit.entrypoints.console.highlighting.cited_json_lines import LitPart
from affidavit.errors import InputRefused
from affidavit.evidence.finding import ByteRange
from affidavit.evidence.utf16 import text_of
from affidavit.nodes.library.files_by_key import log_file
from affidavit.nodes.library.indexed_bundles import Library
from affidavit.nodes.library.redacted_spans import HiddenSpans

LINES: Final = 200
# A page of it stays under 300 KB, markup included.
_BYTES: Final = 160 << 10
_LONGEST: Final = 3_000
_NOTHING_HIDDEN: Final = HiddenSpans(spans=())


@dataclass(frozen=True, kw_only=True, slots=True)
class ShownLine:
    """`left_out` counts the characters of a long line that are not shown."""

    number: int
    parts: tuple[LitPart, ...]
    is_cited: bool
    left_out: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class LogWindow:
    """`key` is where the file lies; `before` and `behind` are the first lines of the windows around this one."""

    key: str
    size: int
    total_lines: int
    lines: tuple[ShownLine, ...]
    before: int | None
    behind: int | None


@dataclass(frozen=True, kw_only=True)
class LogFile:
    """A file of a bundle, found once."""

    library: Library
    key: str
    location: Path
    size: int

    def line_of(self, offset: int) -> int:
        index = self.library.line_indexes.of(self.location)
        return newlines_before(self.location, index, min(offset, self.size)) + 1

    @property
    def total_lines(self) -> int:
        index = self.library.line_indexes.of(self.location)
        return (int(index.ends[-1]) if len(index.ends) else 0) + (not self._ends_with_feed())

    def start_of(self, line: int) -> int:
        """Raises InputRefused when the file has fewer lines."""
        start = line_start(self.location, self.library.line_indexes.of(self.location), line)
        if start is None or (start >= self.size and line > 1):
            raise InputRefused(f"{self.key} has fewer than {line} lines", hint="begin at its first line")
        return start

    def bytes(self, start: int, count: int) -> bytes:
        with self.location.open("rb", buffering=0) as file:
            return os.pread(file.fileno(), count, start)

    def _ends_with_feed(self) -> bool:
        return self.size == 0 or self.bytes(self.size - 1, 1) == b"\n"


def open_log(library: Library, key: str) -> LogFile:
    """Raises InputRefused or NotFound: only files that came from a node and are in an indexed bundle exist."""
    stored = log_file(library, key)
    location = library.objects.local_copy(stored.key)
    return LogFile(library=library, key=stored.key, location=location, size=stored.size)


def log_window(
    log: LogFile, first: int, *, cited: Sequence[ByteRange] = (), count: int = LINES, is_raw: bool = False
) -> LogWindow:
    start = log.start_of(first)
    raw = log.bytes(start, _BYTES)
    hidden = _NOTHING_HIDDEN if is_raw else log.library.hidden.near(log.location, start, start + len(raw))
    lines = tuple(_lines(raw, start, first, count, hidden, cited, is_last=start + len(raw) >= log.size))
    following, total = first + len(lines), log.total_lines
    return LogWindow(
        key=log.key,
        size=log.size,
        total_lines=total,
        lines=lines,
        before=max(1, first - count) if first > 1 else None,
        behind=following if following <= total else None,
    )


def cited_window(library: Library, key: str, cited: ByteRange, *, around: int = 6) -> LogWindow:
    """A few lines before and behind the one that is cited."""
    log = open_log(library, key)
    line = log.line_of(cited.start)
    return log_window(log, max(1, line - around), cited=(cited,), count=2 * around + 1)


def _lines(
    raw: bytes,
    start: int,
    first: int,
    count: int,
    hidden: HiddenSpans,
    cited: Sequence[ByteRange],
    *,
    is_last: bool,
) -> Iterator[ShownLine]:
    """Whole lines; the first one even when it is longer than the window."""
    at = 0
    for number in range(first, first + count):
        feed = raw.find(b"\n", at)
        if at >= len(raw) or (feed < 0 and not is_last and number > first):
            return
        end = feed if feed >= 0 else len(raw)
        yield _line(number, raw[at:end], start + at, hidden, cited)
        at = end + 1


def _line(number: int, raw: bytes, start: int, hidden: HiddenSpans, cited: Sequence[ByteRange]) -> ShownLine:
    end = start + len(raw)
    touching = [span for span in cited if span.start < end and span.end > start]
    cuts = sorted({start, end, *(cut for span in touching for cut in (max(start, span.start), min(end, span.end)))})
    parts: list[LitPart] = []
    for left, right in pairwise(cuts):
        is_lit = any(span.start <= left < span.end for span in touching)
        piece = hidden.redacted(raw[left - start : right - start], left)
        parts.append(LitPart(text=text_of(piece).rstrip("\r"), is_lit=is_lit))
    return _bounded(number, parts, is_cited=bool(touching))


def _bounded(number: int, parts: Sequence[LitPart], *, is_cited: bool) -> ShownLine:
    left, kept, left_out = _LONGEST, list[LitPart](), 0
    for part in parts:
        kept.append(LitPart(text=part.text[:left], is_lit=part.is_lit))
        left_out += max(0, len(part.text) - left)
        left = max(0, left - len(part.text))
    return ShownLine(number=number, parts=tuple(kept), is_cited=is_cited, left_out=left_out)
