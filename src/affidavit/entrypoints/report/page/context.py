"""The lines around a piece of evidence.

They are read by byte range and not by line number: the evidence knows its bytes, so nothing is counted, and a bundle
whose neighbouring line is 60 MB long costs no more memory than any other.
"""

from dataclasses import dataclass

from affidavit.bundle.stored import StoredBundle
from affidavit.evidence.finding import EXCERPT_CHARACTERS, ByteRange, Evidence

AROUND = 5
LINE_CHARACTERS = 500
_REACH = 32 * 1024


@dataclass(frozen=True, kw_only=True)
class Line:
    text: str
    is_cut: bool


@dataclass(frozen=True, kw_only=True)
class Context:
    """`before` ends just above the evidence, `after` begins just below it. Fewer at the ends of a file."""

    before: tuple[Line, ...]
    after: tuple[Line, ...]


def context_of(evidence: Evidence, bundle: StoredBundle) -> Context | None:
    """None when the evidence has no byte range (made by an old indexer). Raises EvidenceUnavailable."""
    span = evidence.byte_offset
    if span is None:
        return None
    start = max(0, span.start - _REACH)
    above = bundle.read(evidence, ByteRange(start=start, end=span.start))
    below = bundle.read(evidence, ByteRange(start=span.end, end=span.end + _REACH))
    return Context(before=_before(above, is_whole=start == 0), after=_after(below, is_whole=len(below) < _REACH))


def is_longer_than_excerpt(evidence: Evidence, bundle: StoredBundle) -> bool:
    span = evidence.byte_offset
    if span is None or len(evidence.excerpt) < EXCERPT_CHARACTERS:
        return False
    # A character takes at most four bytes.
    end = min(span.end, span.start + 4 * (EXCERPT_CHARACTERS + 1))
    raw = bundle.read(evidence, ByteRange(start=span.start, end=end))
    return len(raw.decode("utf-8", "replace")) > EXCERPT_CHARACTERS


def _before(raw: bytes, *, is_whole: bool) -> tuple[Line, ...]:
    lines = raw.split(b"\n")[:-1]
    reached = lines if is_whole else lines[1:]
    return tuple(_line(line) for line in reached[-AROUND:])


def _after(raw: bytes, *, is_whole: bool) -> tuple[Line, ...]:
    _, _, rest = raw.partition(b"\n")
    lines = rest.split(b"\n")
    if is_whole and not lines[-1]:
        lines.pop()
    last = len(lines) - 1
    return tuple(_line(line, is_cut=not is_whole and at == last) for at, line in enumerate(lines[:AROUND]))


def _line(raw: bytes, *, is_cut: bool = False) -> Line:
    text = raw.removesuffix(b"\r").decode("utf-8", "replace")
    return Line(text=text[:LINE_CHARACTERS], is_cut=is_cut or len(text) > LINE_CHARACTERS)
