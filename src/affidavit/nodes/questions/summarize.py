"""`summarize`: a report of findings that were retrieved before, each re-read from the stored bytes."""

from collections.abc import Sequence

from affidavit.errors import InputRefused, NotFound
from affidavit.evidence.confidence import confidence
from affidavit.evidence.finding import Finding
from affidavit.knowledge import Knowledge
from affidavit.nodes.answers.finding import EvidenceRecord
from affidavit.nodes.answers.summarize import Recommendation, SummarizeAnswer, SummarizedFinding, SummarizeRequest
from affidavit.nodes.answers.wire import ConfidenceRecord, CoverageReport
from affidavit.nodes.baselines import annotated, baselines, uncounted
from affidavit.nodes.cited import Citable, citable, coverage_of, recheck
from affidavit.nodes.library import Library
from affidavit.nodes.surroundings import surroundings

CAVEAT = (
    "Made only of the findings that were asked for, each re-read from the stored bundle just now. That a line is there "
    "does not prove what caused it, and nothing is said about what was not asked for."
)


def summarize(library: Library, request: SummarizeRequest) -> SummarizeAnswer:
    ids = list(dict.fromkeys(request.finding_ids))
    if not ids:
        raise InputRefused(
            "no finding_ids were given, and a summary is made of nothing else",
            hint="call errors or search first, then pass the ids of what matters",
        )
    known = _citable(library, request, ids)
    findings = _resolved(known, ids)
    _refuse_stale(known, findings)
    usual = baselines(library.state, request.cluster_context) if request.cluster_context is not None else {}
    findings = annotated(findings, usual)
    ordered = sorted(findings, key=lambda finding: (finding.severity.rank, finding.finding_id))
    answer = _answer(request, known, ordered, library.knowledge)
    unsaid = " ".join(uncounted(request.cluster_context, usual))
    answer = answer.model_copy(update={"caveat": f"{CAVEAT} As to baselines: {unsaid}."}) if unsaid else answer
    return answer.standing_in(surroundings((finding.evidence for finding in ordered), known.shelf.lines))


def _citable(library: Library, request: SummarizeRequest, ids: Sequence[str]) -> Citable:
    """Ids of an index or a search that is gone are stale, which is the caller's to mend: the node is there."""
    try:
        return citable(library, request.instance_id, ids, index_id=request.index_id, search_id=request.search_id)
    except NotFound as error:
        if not library.markers(request.instance_id):
            raise
        raise InputRefused(f"{_listed(ids)} cannot be resolved: {error}", hint=error.hint) from error


def _listed(ids: Sequence[str]) -> str:
    return ", ".join(map(ascii, ids))


def _resolved(known: Citable, ids: Sequence[str]) -> list[Finding]:
    unknown = [each for each in ids if each not in known.findings]
    if unknown:
        raise InputRefused(
            f"index {known.shelf.index.index_id} has no {_listed(unknown)}",
            hint=f"there are {known.known}; S- ids need the search_id of their search, which is kept for 24 hours",
        )
    return [known.findings[each] for each in ids]


def _refuse_stale(known: Citable, findings: Sequence[Finding]) -> None:
    checks = [(finding, recheck(finding.evidence, known.shelf)) for finding in findings]
    stale = [f"{finding.finding_id}: {'; '.join(done.problems)}" for finding, done in checks if not done.holds]
    if stale:
        raise InputRefused(
            f"cited evidence does not re-read from the stored bytes: {' | '.join(stale)}",
            hint="nothing was summarized. Call validate to see what changed; leave these ids out, or collect again",
        )


def _answer(
    request: SummarizeRequest, known: Citable, findings: Sequence[Finding], knowledge: Knowledge
) -> SummarizeAnswer:
    index = known.shelf.index
    return SummarizeAnswer(
        index_id=index.index_id,
        finding_ids_requested=request.finding_ids,
        finding_ids_resolved=[finding.finding_id for finding in findings],
        findings=[_summarized(finding) for finding in findings],
        affected_components=sorted({finding.component for finding in findings}),
        recommendations=recommendations(findings, knowledge) if request.include_recommendations else [],
        # How far the summary can be trusted rests on what the whole index saw, not on the few lines re-read now.
        confidence=ConfidenceRecord.of(confidence(index.coverage, findings, index.gaps)),
        caveat=CAVEAT,
        coverage_report=CoverageReport.of(coverage_of([finding.evidence for finding in findings])),
    )


def _summarized(finding: Finding) -> SummarizedFinding:
    notes = (finding.severity_note, finding.detail, finding.baseline_note)
    return SummarizedFinding(
        id=finding.finding_id,
        severity=finding.severity,
        pattern=finding.pattern,
        count=finding.count,
        description=finding.description,
        evidence=EvidenceRecord.of(finding.evidence),
        is_baseline=bool(finding.is_baseline),
        note=" ".join(note for note in notes if note),
    )


def recommendations(findings: Sequence[Finding], knowledge: Knowledge) -> list[Recommendation]:
    """First steps that the rules name, the worst finding's first, each once with all findings it rests on."""
    steps: dict[str, list[str]] = {}
    known = {rule.id: rule for rule in knowledge.rules}
    for finding in findings:
        rule = known.get(finding.rule)
        for step in rule.first_steps if rule is not None else ():
            steps.setdefault(step, []).append(finding.finding_id)
    return [Recommendation(text=text, finding_ids=ids) for text, ids in steps.items()]
