"""Reads the lines around a piece of evidence.

It reads by byte range, not by line number, so no lines are counted, and a neighbouring line of 60 MB costs no more
memory than any other.
"""

from dataclasses import dataclass, replace

from affidavit.bundle.unpacked_bundle import StoredBundle
from affidavit.evidence.finding import EXCERPT_CHARACTERS, ByteRange, Evidence
from affidavit.evidence.utf16 import is_wide, text_of
from affidavit.redaction.redact import Around, Redactor

AROUND = 5
LINE_CHARACTERS = 500
_REACH = 32 * 1024
_HEAD = ByteRange(start=0, end=8192)


@dataclass(frozen=True, kw_only=True)
class ContextLine:
    text: str
    is_cut: bool


@dataclass(frozen=True, kw_only=True)
class Context:
    """`before` ends just above the evidence, `after` begins just below it. Fewer at the ends of a file."""

    before: tuple[ContextLine, ...]
    after: tuple[ContextLine, ...]


def context_of(evidence: Evidence, bundle: StoredBundle) -> Context | None:
    """None when the evidence has no byte range (made by an old indexer). Raises EvidenceUnavailable."""
    span = evidence.byte_offset
    if span is None:
        return None
    start = max(0, span.start - _REACH)
    above = bundle.read(evidence, ByteRange(start=start, end=span.start))
    below = bundle.read(evidence, ByteRange(start=span.end, end=span.end + _REACH))
    wide = is_wide(bundle.read(evidence, _HEAD))
    return Context(
        before=_before(above, wide=wide, is_whole=start == 0),
        after=_after(below, wide=wide, is_whole=len(below) < _REACH),
    )


def without_secrets(context: Context, excerpt: str, redactor: Redactor) -> Context:
    """Hides secrets. A secret may span several lines, so they are redacted together; a cut line may end inside one."""
    lines = (*context.before, *context.after)
    middle = len(context.before)
    together = "\n".join([*(line.text for line in lines[:middle]), excerpt, *(line.text for line in lines[middle:])])
    texts = redactor.secrets(together).text.split("\n")
    del texts[middle]
    hidden = [_without_cut_secret(replace(line, text=text), redactor) for line, text in zip(lines, texts, strict=True)]
    return Context(before=tuple(hidden[:middle]), after=tuple(hidden[middle:]))


def _without_cut_secret(line: ContextLine, redactor: Redactor) -> ContextLine:
    if not line.is_cut:
        return line
    return replace(line, text=redactor.known(line.text, Around(is_cut=True)).text)


def is_longer_than_excerpt(evidence: Evidence, bundle: StoredBundle) -> bool:
    span = evidence.byte_offset
    if span is None or len(evidence.excerpt) < EXCERPT_CHARACTERS:
        return False
    # A character takes at most four bytes.
    end = min(span.end, span.start + 4 * (EXCERPT_CHARACTERS + 1))
    raw = bundle.read(evidence, ByteRange(start=span.start, end=end))
    return len(text_of(raw)) > EXCERPT_CHARACTERS


def _before(raw: bytes, *, wide: bool, is_whole: bool) -> tuple[ContextLine, ...]:
    lines = raw.split(b"\n")[:-1]
    reached = lines if is_whole else lines[1:]
    return tuple(_line(line, wide=wide) for line in reached[-AROUND:])


def _after(raw: bytes, *, wide: bool, is_whole: bool) -> tuple[ContextLine, ...]:
    _, _, rest = raw.partition(b"\n")
    lines = rest.split(b"\n")
    # In UTF-16 the high byte of the last line feed is left over.
    if is_whole and lines[-1] == (b"\0" if wide else b""):
        lines.pop()
    last = len(lines) - 1
    return tuple(_line(line, wide=wide, is_cut=not is_whole and at == last) for at, line in enumerate(lines[:AROUND]))


def _line(raw: bytes, *, wide: bool, is_cut: bool = False) -> ContextLine:
    text = text_of(raw, is_of_wide_file=wide).removesuffix("\r")
    return ContextLine(text=text[:LINE_CHARACTERS], is_cut=is_cut or len(text) > LINE_CHARACTERS)
