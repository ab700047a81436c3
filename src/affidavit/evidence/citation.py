"""The one check: does a piece of evidence re-read from the stored bytes?

Tools, the agent, `affidavit verify` and the evaluation all call `check`; nobody else decides.
"""

import hashlib
from dataclasses import dataclass
from typing import Protocol

from affidavit.errors import EvidenceUnavailable
from affidavit.evidence.finding import ByteRange, Evidence, excerpt_of

# Nobody cites a longer line or reads a larger file. An index that claims one would have us allocate it.
_LONGEST_LINE = 1 << 30
_LARGEST_FILE = 1 << 50


class ByteSource(Protocol):
    """Stored bytes, addressed the way evidence addresses them."""

    def read(self, evidence: Evidence, span: ByteRange) -> bytes:
        """The bytes of `span`, fewer when the file ends early. Raises EvidenceUnavailable."""
        ...

    def newlines_before(self, evidence: Evidence, offset: int) -> int:
        """How many line ends stand before `offset`."""
        ...


@dataclass(frozen=True, kw_only=True)
class Check:
    """`problems` is empty when the evidence holds, else says what does not."""

    problems: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        return not self.problems


def check(evidence: Evidence, source: ByteSource) -> Check:
    span, lines = evidence.byte_offset, evidence.line_range
    if span is None or lines is None or evidence.sha256 is None:
        return Check(problems=("it has no byte range or digest to check (made by an old indexer)",))
    if not 0 <= span.start <= span.end:
        return Check(problems=(f"its byte range {span.start}-{span.end} is reversed",))
    if span.end > _LARGEST_FILE or span.end - span.start > _LONGEST_LINE:
        return Check(problems=(f"its byte range {span.start}-{span.end} is larger than any line",))
    try:
        # One byte either side shows whether the range is a whole line.
        lead = min(span.start, 1)
        around = source.read(evidence, ByteRange(start=span.start - lead, end=span.end + 2))
        is_there = len(around) >= lead + span.end - span.start
        line = source.newlines_before(evidence, span.start) + 1 if is_there else None
    except EvidenceUnavailable as error:
        return Check(problems=(str(error),))
    before, raw = around[:lead], around[lead : lead + span.end - span.start]
    after = around[lead + len(raw) :]
    return Check(problems=tuple(_problems(evidence, span, raw, before, after, line)))


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
        found.append("the text there does not begin with the excerpt")
    if before not in (b"", b"\n") or (after[:1] not in (b"", b"\n") and after not in (b"\r", b"\r\n")) or b"\n" in raw:
        found.append("the byte range is not one whole line")
    if line is not None and evidence.line_range is not None and evidence.line_range.start != line:
        found.append(f"the bytes are on line {line}, not {evidence.line_range.start}")
    return found


def excerpt_matches(excerpt: str, raw: bytes) -> bool:
    """Whether `raw` begins with `excerpt`; an empty quote of a line that is not empty proves nothing."""
    return excerpt_of(raw).startswith(excerpt) and (bool(excerpt) or not raw)
