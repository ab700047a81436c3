"""Which bytes of a stored file redaction hides: questions are asked of what is left, or counts would tell secrets."""

import os
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from affidavit.nodes.library.lru import LruCache
from affidavit.redaction.engine import Span
from affidavit.redaction.redact import Redactor

# Several times the longest key that OpenSSL or OpenSSH writes: what stands around a line decides whether it is one's.
CONTEXT: Final = 16 << 10
# Small pieces are much faster: only the patterns that may match in a piece are looked for in it.
_PIECE: Final = 64 << 10
_FILES_KEPT: Final = 4096


@dataclass(frozen=True, kw_only=True)
class HiddenSpans:
    """Ascending and apart from each other."""

    spans: Sequence[Span]

    def within(self, start: int, end: int) -> Sequence[Span]:
        first = bisect_left(self.spans, start, key=lambda span: span.end - 1)
        last = bisect_left(self.spans, end, lo=first, key=lambda span: span.start)
        return self.spans[first:last]

    def redacted(self, raw: bytes, start: int) -> bytes:
        """`raw`, which begins at `start` of the file, as it would leave."""
        parts: list[bytes] = []
        at = 0
        for span in self.within(start, start + len(raw)):
            parts += [raw[at : max(at, span.start - start)], b"[REDACTED:%s]" % span.type.encode()]
            at = min(len(raw), span.end - start)
        return b"".join((*parts, raw[at:]))


class HiddenText:
    """Safe to share between threads. A file that was replaced is looked at again."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._kept: LruCache[tuple[str, int, int], HiddenSpans] = LruCache(_FILES_KEPT)

    def of(self, location: Path) -> HiddenSpans:
        """Of the whole file, about as fast as its digest."""
        status = location.stat()
        key = (str(location), status.st_size, status.st_mtime_ns)
        return self._kept.get(key, lambda: HiddenSpans(spans=tuple(_apart(self._found(location, 0, status.st_size)))))

    def near(self, location: Path, start: int, end: int) -> HiddenSpans:
        """Of these bytes alone, with what stands around them."""
        return HiddenSpans(spans=tuple(_apart(self._found(location, start, end))))

    def _found(self, location: Path, start: int, end: int) -> Iterator[Span]:
        with location.open("rb", buffering=0) as file:
            for at in range(start, max(end, start + 1), _PIECE):
                yield from self._in_piece(file.fileno(), at, min(end, at + _PIECE))

    def _in_piece(self, file: int, start: int, end: int) -> Iterator[Span]:
        first = max(0, start - CONTEXT)
        raw = os.pread(file, end + CONTEXT - first, first)
        for span in self._redactor.hidden(raw):
            if span.end + first > start and span.start + first < end:
                yield Span(span.start + first, span.end + first, span.type)


def _apart(spans: Iterator[Span]) -> Iterator[Span]:
    """One span where several touch the same bytes, as those at the seam of two pieces do."""
    current: Span | None = None
    for span in spans:
        if current is None:
            current = span
        elif span.start < current.end:
            current = Span(min(current.start, span.start), max(current.end, span.end), current.type)
        else:
            yield current
            current = span
    if current is not None:
        yield current
