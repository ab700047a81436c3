"""The line that a report shows for a finding: a part around what its rule matched, or all of it.

An index keeps the first 500 characters of a line. What was found may stand behind them, so long lines are read again.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

import re2

from affidavit.bundle.unpacked_bundle import StoredBundle
from affidavit.entrypoints.report.page.context_lines import context_of
from affidavit.errors import EvidenceUnavailable
from affidavit.evidence.finding import ByteRange, Evidence, Finding
from affidavit.evidence.utf16 import text_of
from affidavit.knowledge import Knowledge
from affidavit.matching.pattern_language import byte_options
from affidavit.redaction.redact import Around, Redactor
from affidavit.rules.rule import Rule

SHOWN: Final = 300
LEFT_OUT: Final = " […] "
# Of a line that begins later its beginning is shown too: it holds the time and who wrote it.
_HEAD = 60
_READ_BYTES = 64 << 10
# Reading and redacting a line again takes about a millisecond.
_MOST_LINES = 1000


@dataclass(frozen=True, kw_only=True)
class QuotedLine:
    """`is_cut` when the line goes on."""

    text: str
    is_cut: bool


@dataclass(frozen=True, kw_only=True)
class QuotedLines:
    """`long` has the lines, by finding, that are longer than a report shows; of any other the excerpt is all."""

    long: Mapping[str, QuotedLine] = field(default_factory=dict[str, QuotedLine])

    def of(self, finding: Finding) -> QuotedLine:
        return self.long.get(finding.finding_id) or _part(finding.evidence.excerpt, (0, 0), is_whole=True)

    def text_of(self, finding: Finding) -> str:
        quoted = self.of(finding)
        return f"{quoted.text}{LEFT_OUT.rstrip()}" if quoted.is_cut else quoted.text


def quoted_lines(
    findings: Iterable[Finding], bundle: StoredBundle, knowledge: Knowledge, *, is_full: bool, is_raw: bool
) -> QuotedLines:
    """Reads the bundle, so its files must still be there. Secrets are hidden unless `is_raw`."""
    long = [finding for finding in findings if len(finding.evidence.excerpt) > SHOWN][:_MOST_LINES]
    redactor = None if is_raw else Redactor()
    patterns = {rule.id: rule.match for rule in knowledge.rules if isinstance(rule, Rule)}
    found: dict[str, QuotedLine] = {}
    for finding in long:
        text, is_whole = _stored(finding.evidence, bundle, redactor)
        if is_full:
            found[finding.finding_id] = QuotedLine(text=text, is_cut=not is_whole)
        else:
            place = _place(text, patterns.get(finding.rule, ()))
            found[finding.finding_id] = _part(text, place, is_whole=is_whole)
    return QuotedLines(long=found)


def _stored(evidence: Evidence, bundle: StoredBundle, redactor: Redactor | None) -> tuple[str, bool]:
    """The line's text and whether that is all of it; of a file that is gone the excerpt."""
    span = evidence.byte_offset
    if span is None:
        return evidence.excerpt, False
    end = min(span.end, span.start + _READ_BYTES)
    try:
        text = text_of(bundle.read(evidence, ByteRange(start=span.start, end=end)))
        around = context_of(evidence, bundle)
    except EvidenceUnavailable:
        return evidence.excerpt, False
    is_whole = end == span.end
    if redactor is None:
        return text, is_whole
    before = "".join(f"{line.text}\n" for line in around.before) if around is not None else ""
    return redactor.known(text, Around(before=before, is_cut=not is_whole)).text, is_whole


def _place(text: str, patterns: Iterable[str]) -> tuple[int, int]:
    """Where a wording of the rule stands, in characters; the beginning when none does."""
    raw = text.encode()
    for pattern in patterns:
        match = re2.compile(pattern.encode("ascii"), byte_options()).search(raw)
        if match is not None:
            return len(raw[: match.start()].decode(errors="replace")), len(raw[: match.end()].decode(errors="replace"))
    return 0, 0


def _part(text: str, place: tuple[int, int], *, is_whole: bool) -> QuotedLine:
    first, last = place
    if last <= SHOWN:
        return QuotedLine(text=text[:SHOWN], is_cut=len(text) > SHOWN or not is_whole)
    room = SHOWN - _HEAD
    # In the middle; of what is longer than the room, its beginning.
    start = max(_HEAD, min(first, (first + last - room) // 2), min(first, len(text) - room))
    return QuotedLine(
        text=f"{text[:_HEAD]}{LEFT_OUT}{text[start : start + room]}",
        is_cut=start + room < len(text) or not is_whole,
    )
