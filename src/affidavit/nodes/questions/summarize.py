"""`summarize`: a report of findings that were retrieved before, each re-read from the stored bytes."""

from collections.abc import Sequence
from dataclasses import dataclass

from affidavit.errors import InputRefused, NotFound
from affidavit.evidence.confidence import confidence
from affidavit.evidence.finding import Finding
from affidavit.knowledge import Knowledge
from affidavit.nodes.library.citations import Citable, citable, coverage_of, recheck
from affidavit.nodes.library.indexed_bundles import Library
from affidavit.nodes.library.pattern_prevalence import annotated, baselines, uncounted
from affidavit.nodes.wire.shared_fields import trust_in_form
from affidavit.nodes.wire.summarize import Recommendation, SummarizeAnswer, SummarizedFinding, SummarizeRequest
from affidavit.nodes.wire.verdict import VerdictRecord
from affidavit.wire.byte_budget import fit
from affidavit.wire.records import TruncationInfo, again, cut

CAVEAT = (
    "Made only of the findings that were asked for, each re-read from the stored bundle just now. That a line is there "
    "does not prove what caused it, and nothing is said about what was not asked for."
)


def summarize(library: Library, request: SummarizeRequest) -> SummarizeAnswer:
    ids = list(dict.fromkeys(request.finding_ids))
    if not ids:
        raise InputRefused(
            "finding_ids is required: a summary is made of findings that were retrieved before",
            hint="call errors or search first, then pass the ids of what matters",
        )
    known = _citable(library, request, ids)
    findings = _resolved(known, ids)
    _refuse_stale(known, findings)
    usual = baselines(library.state, request.cluster_context) if request.cluster_context is not None else {}
    findings = annotated(findings, usual)
    ordered = sorted(findings, key=lambda finding: (finding.severity.rank, finding.finding_id))
    unsaid = " ".join(uncounted(request.cluster_context, usual))
    answering = _Answering(
        request=request,
        known=known,
        findings=ordered,
        knowledge=library.knowledge,
        caveat=f"{CAVEAT} As to baselines: {unsaid}." if unsaid else CAVEAT,
    )
    return fit(answering.with_findings, len(ordered), request.max_bytes, least=1)


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


@dataclass(frozen=True, kw_only=True)
class _Answering:
    request: SummarizeRequest
    known: Citable
    findings: Sequence[Finding]
    knowledge: Knowledge
    caveat: str

    def with_findings(self, most: int) -> SummarizeAnswer:
        index, shown = self.known.shelf.index, self.findings[:most]
        info = self._cut(most)
        return SummarizeAnswer(
            instance_id=self.request.instance_id,
            index_id=index.index_id,
            verdict=VerdictRecord.of(index.verdict),
            finding_ids_requested=self.request.finding_ids,
            finding_ids_resolved=len(self.findings),
            findings=[_summarized(finding) for finding in shown],
            affected_components=sorted({finding.component for finding in self.findings}),
            recommendations=recommendations(shown, self.knowledge) if self.request.include_recommendations else [],
            # What the whole index saw decides how far the summary can be trusted, not the few lines re-read now.
            confidence=trust_in_form(confidence(index.coverage, self.findings, index.gaps)),
            caveat=self.caveat,
            coverage_report=coverage_of([finding.evidence for finding in self.findings]),
            truncated=info is not None,
            truncation_info=info,
        )

    def _cut(self, most: int) -> TruncationInfo | None:
        rest = [finding.finding_id for finding in self.findings[most:]]
        following = again("summarize", self.request, finding_ids=rest, index_id=self.known.shelf.index.index_id)
        return cut(len(self.findings), most, "summarize the remaining finding_ids, or raise max_bytes", following)


def _summarized(finding: Finding) -> SummarizedFinding:
    notes = (finding.severity_note, finding.detail, finding.baseline_note)
    return SummarizedFinding(
        finding_id=finding.finding_id,
        severity=finding.severity,
        pattern=finding.pattern,
        count=finding.count,
        description=finding.description,
        evidence=finding.evidence,
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
