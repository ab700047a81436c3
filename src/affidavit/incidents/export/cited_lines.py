"""The log lines that a diagnosis quotes, taken along with its cassette: without the bundle, they still re-read."""

from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from affidavit.errors import AffidavitError, EvidenceUnavailable
from affidavit.evidence.citation_check import ByteSource
from affidavit.evidence.diagnosis import Diagnosis, EvidencePointer
from affidavit.evidence.finding import ByteRange, Evidence
from affidavit.incidents.attempt.answer_ledger import Entry
from affidavit.ports.json import JsonValue
from affidavit.redaction.redact import Redactor
from affidavit.verification.pointer_lookup import Located, locate
from affidavit.verification.quoted_lines import quotes_of

_EVIDENCE = TypeAdapter(Evidence)
# What `citation_check.check` reads around a line to see that it is a whole one.
_BEFORE, _AFTER = 1, 2


class CitedLine(BaseModel):
    """The bytes `start` to `end` of a file, and a byte or two around them, in base64."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    full_key: str
    start: int
    end: int
    newlines_before: int
    around: str


def cited_lines(diagnosis: Diagnosis | None, entries: Sequence[Entry], source: ByteSource | None) -> list[CitedLine]:
    """Each line once. One that holds a secret stays behind: then its pointer does not hold elsewhere, and says so."""
    if diagnosis is None or source is None:
        return []
    redactor = Redactor()
    quotes = {quote.full_key + str(quote.byte_offset): quote for quote in _quoted(diagnosis, entries)}
    found = (_line(quote, source, redactor) for quote in quotes.values())
    return [line for line in found if line is not None]


def _quoted(diagnosis: Diagnosis, entries: Sequence[Entry]) -> Iterator[Evidence]:
    for pointer in diagnosis.evidence:
        for entry in entries:
            yield from quoted_by(pointer, entry)


def quoted_by(pointer: EvidencePointer, entry: Entry) -> Iterator[Evidence]:
    """The log lines that a pointer's value in this answer rests on."""
    located = locate(pointer.field, entry.answer) if entry.tool == pointer.tool else None
    if isinstance(located, Located):
        yield from (found for quote in quotes_of(located) if (found := _evidence(quote)) is not None)


def _evidence(quote: Mapping[str, JsonValue]) -> Evidence | None:
    try:
        return _EVIDENCE.validate_python(dict(quote))
    except ValidationError:
        return None


def _line(quote: Evidence, source: ByteSource, redactor: Redactor) -> CitedLine | None:
    span = quote.byte_offset
    if span is None:
        return None
    lead = min(span.start, _BEFORE)
    try:
        around = source.read(quote, ByteRange(start=span.start - lead, end=span.end + _AFTER))
        newlines = source.newlines_before(quote, span.start)
    except AffidavitError:
        return None
    text = around[lead : lead + span.end - span.start].decode("utf-8", "replace")
    if redactor.redact(text).text != text:
        return None
    return CitedLine(
        full_key=quote.full_key,
        start=span.start,
        end=span.end,
        newlines_before=newlines,
        around=b64encode(around).decode(),
    )


@dataclass(frozen=True)
class CitedLines:
    """A ByteSource over the lines that came along."""

    lines: Sequence[CitedLine]

    def read(self, evidence: Evidence, span: ByteRange) -> bytes:
        line = self._of(evidence)
        begins = line.start - min(line.start, _BEFORE)
        return b64decode(line.around)[span.start - begins : span.end - begins]

    def newlines_before(self, evidence: Evidence, offset: int) -> int:
        return self._of(evidence).newlines_before

    def _of(self, evidence: Evidence) -> CitedLine:
        place = (evidence.full_key, evidence.byte_offset)
        for line in self.lines:
            if place == (line.full_key, ByteRange(start=line.start, end=line.end)):
                return line
        raise EvidenceUnavailable(
            f"the cassette does not hold the line of {evidence.full_key}", hint="verify it where the bundle is stored"
        )
