"""`verify_report`: per claim, whether its quote really stands in the evidence it cites."""

import hashlib
from collections.abc import Sequence
from dataclasses import replace

from affidavit.evidence.coverage import Coverage
from affidavit.evidence.finding import EXCERPT_CHARACTERS, ByteRange, Evidence, LineRange, Occurrence
from affidavit.nodes.answers.verify_report import (
    Claim,
    ClaimVerdict,
    JudgedClaim,
    VerifyReportAnswer,
    VerifyReportRequest,
)
from affidavit.nodes.answers.wire import CoverageReport
from affidavit.nodes.cited import Citable, citable, coverage_of, recheck
from affidavit.nodes.library import Library
from affidavit.nodes.surroundings import surroundings
from affidavit.redaction.quotes import stands_in
from affidavit.redaction.redact import ALONE

# Shorter quotes stand in almost any line and prove nothing.
SHORTEST_QUOTE = 4


def verify_report(library: Library, request: VerifyReportRequest) -> VerifyReportAnswer:
    known = _citable(library, request)
    cited = [known[_search_of(claim, request)] for claim in request.claims]
    judged = [_judged(claim, known, library) for claim, known in zip(request.claims, cited, strict=True)]
    held = sum(each.verdict is ClaimVerdict.HOLDS for each in judged)
    return VerifyReportAnswer(
        index_id=cited[0].shelf.index.index_id,
        all_hold=held == len(judged),
        claims=judged,
        held=held,
        refuted=len(judged) - held,
        coverage_report=CoverageReport.of(_coverage(cited, judged)),
    )


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


def _search_of(claim: Claim, request: VerifyReportRequest) -> str | None:
    return claim.search_id or request.search_id


def _judged(claim: Claim, known: Citable, library: Library) -> JudgedClaim:
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
        if stands_in(claim.quote, _text(line, known) or "", library.redactor):
            return _held(claim, line)
    first = _harmless(evidence, known, library)
    reason = f"the quote is not in the lines of {claim.finding_id}; the first reads: {first}"
    return _refuted(claim, ClaimVerdict.QUOTE_NOT_FOUND, reason)


def _harmless(evidence: Evidence, known: Citable, library: Library) -> str:
    """Redacted here: once it is part of a sentence, nobody sees where it stood and that its end is cut."""
    stood = surroundings([evidence], known.shelf.lines).get(evidence.excerpt, ALONE)
    around = replace(stood, is_cut=len(evidence.excerpt) >= EXCERPT_CHARACTERS)
    return library.redactor.secrets(evidence.excerpt, around).text


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


def _text(line: Evidence, known: Citable) -> str | None:
    """The whole line as it is stored; None when its digest says that it changed."""
    if line.byte_offset is None:
        return None
    raw = known.shelf.lines.read(line, ByteRange(start=line.byte_offset.start, end=line.byte_offset.end))
    if line.sha256 is not None and hashlib.sha256(raw).hexdigest() != line.sha256:
        return None
    return raw.decode("utf-8", "replace")


def _held(claim: Claim, line: Evidence) -> JudgedClaim:
    return JudgedClaim(
        finding_id=claim.finding_id,
        verdict=ClaimVerdict.HOLDS,
        reason="",
        file=line.source_file,
        line=line.line_range.start if line.line_range is not None else None,
        sha256=line.sha256,
    )


def _refuted(claim: Claim, verdict: ClaimVerdict, reason: str) -> JudgedClaim:
    return JudgedClaim(finding_id=claim.finding_id, verdict=verdict, reason=reason, file=None, line=None, sha256=None)


def _coverage(cited: Sequence[Citable], judged: Sequence[JudgedClaim]) -> Coverage:
    found = [
        (known.findings[each.finding_id].evidence, each.verdict is ClaimVerdict.EVIDENCE_CHANGED)
        for known, each in zip(cited, judged, strict=True)
        if each.finding_id in known.findings
    ]
    return coverage_of([evidence for evidence, _ in found], [evidence for evidence, changed in found if changed])
