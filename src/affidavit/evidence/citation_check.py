"""Checks one piece of evidence against the stored bytes.

Tools, the agent, `affidavit verify` and the evaluation all call `check`. No other code decides whether evidence holds.
"""

import hashlib
from dataclasses import dataclass
from typing import Protocol

from affidavit.errors import EvidenceUnavailable
from affidavit.evidence.finding import ByteRange, Evidence, excerpt_of
from affidavit.evidence.utf16 import wide_text

OTHER_TEXT = "the text there does not begin with the excerpt"
# A forged index could claim a huge range to make us allocate it.
_LONGEST_LINE = 1 << 30
_LARGEST_FILE = 1 << 50


class ByteSource(Protocol):
    """Reads stored bytes by the fields of a piece of evidence."""

    def read(self, evidence: Evidence, span: ByteRange) -> bytes:
        """The bytes of `span`, fewer when the file ends early. Raises EvidenceUnavailable."""
        ...

    def newlines_before(self, evidence: Evidence, offset: int) -> int:
        """How many line ends stand before `offset`."""
        ...


@dataclass(frozen=True, kw_only=True)
class CitationCheck:
    """`problems` is empty when the evidence holds, else says what does not."""

    problems: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        return not self.problems


def check(evidence: Evidence, source: ByteSource) -> CitationCheck:
    span, lines = evidence.byte_offset, evidence.line_range
    if span is None or lines is None or evidence.sha256 is None:
        return CitationCheck(problems=("it has no byte range or digest to check (made by an old indexer)",))
    if not 0 <= span.start <= span.end:
        return CitationCheck(problems=(f"its byte range {span.start}-{span.end} is reversed",))
    if span.end > _LARGEST_FILE or span.end - span.start > _LONGEST_LINE:
        return CitationCheck(problems=(f"its byte range {span.start}-{span.end} is larger than any line",))
    try:
        # One byte either side shows whether the range is a whole line.
        lead = min(span.start, 1)
        around = source.read(evidence, ByteRange(start=span.start - lead, end=span.end + 2))
        is_there = len(around) >= lead + span.end - span.start
        line = source.newlines_before(evidence, span.start) + 1 if is_there else None
    except EvidenceUnavailable as error:
        return CitationCheck(problems=(str(error),))
    before, raw = around[:lead], around[lead : lead + span.end - span.start]
    after = around[lead + len(raw) :]
    return CitationCheck(problems=tuple(_problems(evidence, span, raw, before, after, line)))


def _problems(
    evidence: Evidence, span: ByteRange, raw: bytes, before: bytes, after: bytes, line: int | None
) -> list[str]:
    """`line` is where the bytes begin; None when the file ends before they do."""
    found: list[str] = []
    if line is None:
        found.append(f"the file ends inside bytes {span.start}-{span.end}")
    if hashlib.sha256(raw).hexdigest() != evidence.sha256:
        found.append(f"bytes {span.start}-{span.end} have another sha256")
    if not excerpt_matches(evidence.excerpt, raw):
        found.append(OTHER_TEXT)
    if not _begins_line(before, raw) or not _ends_line(after) or b"\n" in raw:
        found.append("the byte range is not one whole line")
    if line is not None and evidence.line_range is not None and evidence.line_range.start != line:
        found.append(f"the bytes are on line {line}, not {evidence.line_range.start}")
    return found


def _begins_line(before: bytes, raw: bytes) -> bool:
    """Zeros in front of a line are no part of it: a log emptied while its writer goes on begins with a run of them."""
    is_behind_zeros = before == b"\0" and not raw.startswith(b"\0") and wide_text(raw) is None
    return before in (b"", b"\n") or is_behind_zeros


def _ends_line(after: bytes) -> bool:
    return after[:1] in (b"", b"\n") or after in (b"\r", b"\r\n")


def excerpt_matches(excerpt: str, raw: bytes) -> bool:
    """Whether `raw` begins with `excerpt`; an empty quote of a line that is not empty proves nothing."""
    return excerpt_of(raw).startswith(excerpt) and (bool(excerpt) or not raw)
