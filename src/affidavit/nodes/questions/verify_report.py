"""`verify_report`: per claim, whether its quote really stands in the evidence it cites."""

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

from affidavit.errors import AffidavitError
from affidavit.evidence.coverage import Coverage
from affidavit.evidence.finding import EXCERPT_CHARACTERS, ByteRange, Evidence, LineRange, Occurrence
from affidavit.nodes.library.citations import Citable, citable, coverage_of, recheck
from affidavit.nodes.library.indexed_bundles import Library
from affidavit.nodes.library.redacted_spans import CONTEXT
from affidavit.nodes.wire.verify_report import (
    ClaimVerdict,
    JudgedClaim,
    ReportClaim,
    VerifyReportAnswer,
    VerifyReportRequest,
)
from affidavit.redaction.redact import Around, Redactor
from affidavit.wire.byte_budget import fit
from affidavit.wire.records import cut

# Shorter quotes stand in almost any line and prove nothing.
SHORTEST_QUOTE = 4


def verify_report(library: Library, request: VerifyReportRequest) -> VerifyReportAnswer:
    known = _citable(library, request)
    cited = [known[_search_of(claim, request)] for claim in request.claims]
    judged = [_judged(claim, known, library) for claim, known in zip(request.claims, cited, strict=True)]
    held = sum(each.verdict is ClaimVerdict.HOLDS for each in judged)
    coverage = _coverage(cited, judged)

    def with_claims(most: int) -> VerifyReportAnswer:
        info = cut(len(judged), most, f"check the claims from number {most + 1} on in another call, or raise max_bytes")
        return VerifyReportAnswer(
            instance_id=request.instance_id,
            index_id=cited[0].shelf.index.index_id,
            all_hold=held == len(judged),
            claims=judged[:most],
            held=held,
            refuted=len(judged) - held,
            coverage_report=coverage,
            truncated=info is not None,
            truncation_info=info,
        )

    return fit(with_claims, len(judged), request.max_bytes, least=1)


def _citable(library: Library, request: VerifyReportRequest) -> dict[str | None, Citable]:
    """By search. All of one index: the pinned one, or that of the first search, or the newest."""
    known: dict[str | None, Citable] = {}
    index_id = request.index_id
    searches = dict.fromkeys(_search_of(claim, request) for claim in request.claims)
    for search_id in sorted(searches, key=lambda each: each is None):
        ids = [claim.finding_id for claim in request.claims if _search_of(claim, request) == search_id]
        known[search_id] = citable(library, request.instance_id, ids, index_id=index_id, search_id=search_id)
        index_id = known[search_id].shelf.index.index_id
    return known


def _search_of(claim: ReportClaim, request: VerifyReportRequest) -> str | None:
    return claim.search_id or request.search_id


def _judged(claim: ReportClaim, known: Citable, library: Library) -> JudgedClaim:
    if claim.finding_id not in known.findings:
        index_id = known.shelf.index.index_id
        return _refuted(claim, ClaimVerdict.UNKNOWN_ID, f"index {index_id} has no such finding; it has {known.known}")
    evidence = known.findings[claim.finding_id].evidence
    done = recheck(evidence, known.shelf)
    if not done.holds:
        return _refuted(claim, ClaimVerdict.EVIDENCE_CHANGED, "; ".join(done.problems))
    if len(claim.quote.strip()) < min(SHORTEST_QUOTE, len(evidence.excerpt.strip())):
        return _refuted(claim, ClaimVerdict.QUOTE_NOT_FOUND, "the quote is too short to show anything; quote the line")
    for line in _lines(claim.finding_id, known):
        text = _Line.of(line, known, library)
        if text is not None and text.shows(claim.quote, library.redactor):
            return _held(claim, line, has_hidden=text.has_hidden)
    first = _Line.of(evidence, known, library)
    reads = first.visible[:EXCERPT_CHARACTERS] if first is not None else "nothing"
    reason = f"the quote is not in the lines of {claim.finding_id}; the first reads: {reads}"
    return _refuted(claim, ClaimVerdict.QUOTE_NOT_FOUND, reason)


@dataclass(frozen=True, kw_only=True)
class _Line:
    """A whole line as it is stored, and as it leaves. Quotes are looked for in what leaves: no guess is confirmed."""

    before: str
    """What stands before it, which may be the beginning of a private key."""
    stored: str
    visible: str

    @classmethod
    def of(cls, line: Evidence, known: Citable, library: Library) -> "_Line | None":
        """None when it cannot be read, or its digest says that it changed."""
        span = line.byte_offset
        if span is None:
            return None
        raw = known.shelf.lines.read(line, ByteRange(start=span.start, end=span.end))
        if line.sha256 is not None and hashlib.sha256(raw).hexdigest() != line.sha256:
            return None
        hidden = library.hidden.near(known.shelf.lines.location(line.full_key), span.start, span.end)
        before = known.shelf.lines.read(line, ByteRange(start=max(0, span.start - CONTEXT), end=span.start))
        return cls(
            before=before.decode("utf-8", "replace"),
            stored=raw.decode("utf-8", "replace"),
            visible=hidden.redacted(raw, span.start).decode("utf-8", "replace"),
        )

    @property
    def has_hidden(self) -> bool:
        return self.stored != self.visible

    def shows(self, quote: str, redactor: Redactor) -> bool:
        return any(quote in form for form in self._forms(redactor))

    def _forms(self, redactor: Redactor) -> Iterator[str]:
        """The whole line, its excerpt, whose end leaves in another way, and both without personal data."""
        if redactor.inquiry is None:
            yield self.visible
        stricter = () if redactor.hides_personal else (Redactor(hides_personal=True),)
        for each in (redactor, *stricter):
            # Nobody can say how a text left when the service does not answer. The quote then proves nothing.
            with suppress(AffidavitError):
                yield each.redact(self.stored, Around(before=self.before)).text
                excerpt = self.stored[:EXCERPT_CHARACTERS]
                yield each.redact(excerpt, Around(before=self.before, is_cut=len(excerpt) == EXCERPT_CHARACTERS)).text


def _lines(finding_id: str, known: Citable) -> list[Evidence]:
    """The cited line, then the other listed ones of the same finding."""
    kept = known.lines_of(finding_id)
    if len(kept) > 1:
        return kept
    finding = known.findings[finding_id]
    others = [_other(finding.evidence, occurrence) for occurrence in finding.additional_occurrences]
    return [*kept, *(line for line in others if line is not None)]


def _other(evidence: Evidence, occurrence: Occurrence) -> Evidence | None:
    if occurrence.byte_offset is None:
        return None
    return Evidence(
        source_file=evidence.source_file,
        full_key=evidence.full_key,
        excerpt="",
        line_range=LineRange(start=occurrence.line, end=occurrence.line),
        byte_offset=occurrence.byte_offset,
        timestamp=occurrence.timestamp,
        sha256=None,
    )


def _held(claim: ReportClaim, line: Evidence, *, has_hidden: bool) -> JudgedClaim:
    return JudgedClaim(
        finding_id=claim.finding_id,
        verdict=ClaimVerdict.HOLDS,
        reason="",
        file=line.source_file,
        line=line.line_range.start if line.line_range is not None else None,
        sha256=None if has_hidden else line.sha256,
    )


def _refuted(claim: ReportClaim, verdict: ClaimVerdict, reason: str) -> JudgedClaim:
    return JudgedClaim(finding_id=claim.finding_id, verdict=verdict, reason=reason, file=None, line=None, sha256=None)


def _coverage(cited: Sequence[Citable], judged: Sequence[JudgedClaim]) -> Coverage:
    found = [
        (known.findings[each.finding_id].evidence, each.verdict is ClaimVerdict.EVIDENCE_CHANGED)
        for known, each in zip(cited, judged, strict=True)
        if each.finding_id in known.findings
    ]
    return coverage_of([evidence for evidence, _ in found], [evidence for evidence, changed in found if changed])
