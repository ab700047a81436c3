"""`quick_triage`: is the bundle whole, what is worst, what may have caused it, and what to ask next."""

from affidavit.evidence.finding import Finding
from affidavit.nodes.answers.correlate import ChainRecord
from affidavit.nodes.answers.errors import SeverityCounts
from affidavit.nodes.answers.finding import EvidenceRecord
from affidavit.nodes.answers.triage import BundleState, QuickTriageAnswer, QuickTriageRequest, TriagedFinding
from affidavit.nodes.answers.validate import ValidateAnswer, ValidateRequest
from affidavit.nodes.answers.wire import ConfidenceRecord, CoverageReport, cut
from affidavit.nodes.correlate import correlate
from affidavit.nodes.library import Library, Shelf
from affidavit.nodes.questions.validate import validate

TOP_FINDINGS = 10
TOP_CHAINS = 5
GAPS = 20


def quick_triage(library: Library, request: QuickTriageRequest) -> QuickTriageAnswer:
    shelf = library.open(request.instance_id, request.index_id)
    checked = validate(library, ValidateRequest(instance_id=request.instance_id, index_id=shelf.index.index_id))
    found = correlate(shelf.index)
    findings = shelf.index.findings
    info = cut(len(findings), len(findings[:TOP_FINDINGS]), "call errors for all findings")
    return QuickTriageAnswer(
        instance_id=request.instance_id,
        index_id=shelf.index.index_id,
        bundle=_state(checked),
        summary=SeverityCounts.model_validate(shelf.index.summary),
        top_findings=[_triaged(finding) for finding in findings[:TOP_FINDINGS]],
        potential_root_cause_chains=[
            ChainRecord.model_validate(chain) for chain in found.potential_root_cause_chains[:TOP_CHAINS]
        ],
        next_steps=_next_steps(shelf, checked),
        confidence=_bounded(ConfidenceRecord.of(found.confidence), checked),
        caveat=found.caveat,
        coverage_report=CoverageReport.of(shelf.index.coverage),
        truncated=info is not None,
        truncation_info=info,
    )


def _state(checked: ValidateAnswer) -> BundleState:
    lost = checked.truncation_info.original_count if checked.truncation_info is not None else None
    corrupted = len(checked.corrupted_files)
    return BundleState(
        complete=checked.complete,
        verified_files=checked.verified_files,
        total_expected=checked.total_expected,
        missing_total=lost - corrupted if lost is not None else len(checked.missing_files),
        corrupted_total=corrupted,
    )


def _triaged(finding: Finding) -> TriagedFinding:
    return TriagedFinding(
        finding_id=finding.finding_id,
        severity=finding.severity,
        pattern=finding.pattern,
        description=finding.description,
        component=finding.component,
        count=finding.count,
        evidence=EvidenceRecord.of(finding.evidence),
    )


def _bounded(confidence: ConfidenceRecord, checked: ValidateAnswer) -> ConfidenceRecord:
    damage = [] if checked.complete else ["the stored bundle is not whole: call validate"]
    gaps = [*damage, *confidence.gaps]
    more = [f"and {len(gaps) - GAPS} more gaps: call errors for all of them"] if len(gaps) > GAPS else []
    return confidence.model_copy(update={"gaps": [*gaps[:GAPS], *more]})


def _next_steps(shelf: Shelf, checked: ValidateAnswer) -> list[str]:
    steps = [] if checked.complete else ["validate: see which files are missing or changed"]
    if shelf.index.findings:
        ids = [finding.finding_id for finding in shelf.index.findings[:TOP_FINDINGS]]
        worst = shelf.index.findings[0]
        steps.append(f"read {worst.evidence.full_key}: the lines around {worst.finding_id}")
        steps.append("correlate: the whole timeline and its clusters")
        steps.append(f"summarize with finding_ids {ids[: min(3, len(ids))]} and index_id {shelf.index.index_id}")
    else:
        steps.append("search for what the alarm was about: no rule found anything, which is no proof of health")
    steps.append("network_diagnostics or storage_diagnostics: the state when the bundle was made")
    return steps
