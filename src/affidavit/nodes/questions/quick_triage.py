"""`quick_triage`: is the bundle whole, what is worst, what may have caused it, and what to ask next."""

from collections.abc import Sequence
from dataclasses import replace

from affidavit.evidence.confidence import Confidence
from affidavit.evidence.finding import Finding
from affidavit.evidence.folding import by_rule
from affidavit.nodes.answers.correlate import ChainRecord
from affidavit.nodes.answers.errors import SeverityCounts
from affidavit.nodes.answers.finding import EvidenceRecord
from affidavit.nodes.answers.triage import (
    BundleState,
    FurtherPlace,
    QuickTriageAnswer,
    QuickTriageRequest,
    TriagedFinding,
)
from affidavit.nodes.answers.validate import ValidateAnswer, ValidateRequest
from affidavit.nodes.answers.wire import ConfidenceRecord, CoverageReport, cut
from affidavit.nodes.correlate import correlate
from affidavit.nodes.library import Library, Shelf
from affidavit.nodes.questions.validate import validate

TOP_FINDINGS = 10
TOP_CHAINS = 5
FURTHER_PLACES = 5
GAPS = 20


def quick_triage(library: Library, request: QuickTriageRequest) -> QuickTriageAnswer:
    shelf = library.open(request.instance_id, request.index_id)
    checked = validate(library, ValidateRequest(instance_id=request.instance_id, index_id=shelf.index.index_id))
    found = correlate(shelf.index)
    findings, chains = shelf.index.findings, found.potential_root_cause_chains
    top = [_triaged(folded) for folded in by_rule(findings)[:TOP_FINDINGS]]
    gaps = _gaps(found.confidence, checked)
    info = (
        cut(len(findings), sum(1 + len(each.also_in) for each in top), "call errors for all findings")
        or cut(len(chains), TOP_CHAINS, "call correlate for all chains")
        or cut(len(gaps), GAPS, "call errors for all gaps")
    )
    return QuickTriageAnswer(
        instance_id=request.instance_id,
        index_id=shelf.index.index_id,
        bundle=_state(checked),
        summary=SeverityCounts.model_validate(shelf.index.summary),
        top_findings=top,
        potential_root_cause_chains=[ChainRecord.model_validate(chain) for chain in chains[:TOP_CHAINS]],
        next_steps=_next_steps(shelf, checked, [each.finding_id for each in top]),
        confidence=ConfidenceRecord.of(replace(found.confidence, gaps=_bounded(gaps))),
        caveat=found.caveat,
        coverage_report=CoverageReport.of(shelf.index.coverage),
        truncated=info is not None,
        truncation_info=info,
    )


def _state(checked: ValidateAnswer) -> BundleState:
    return BundleState(
        complete=checked.complete,
        verified_files=checked.verified_files,
        total_expected=checked.total_expected,
        missing_total=checked.missing_total,
        corrupted_total=checked.corrupted_total,
    )


def _triaged(folded: Sequence[Finding]) -> TriagedFinding:
    finding, *others = folded
    return TriagedFinding(
        finding_id=finding.finding_id,
        severity=finding.severity,
        pattern=finding.pattern,
        description=finding.description,
        component=finding.component,
        count=finding.count,
        evidence=EvidenceRecord.of(finding.evidence),
        also_in=[
            FurtherPlace(finding_id=other.finding_id, source_file=other.evidence.source_file, count=other.count)
            for other in others[:FURTHER_PLACES]
        ],
        also_in_total=len(others),
    )


def _gaps(confidence: Confidence, checked: ValidateAnswer) -> tuple[str, ...]:
    damage = () if checked.complete else ("the stored bundle is not whole: call validate",)
    return (*damage, *confidence.gaps)


def _bounded(gaps: tuple[str, ...]) -> tuple[str, ...]:
    more = (f"and {len(gaps) - GAPS} more gaps: call errors for all of them",) if len(gaps) > GAPS else ()
    return (*gaps[:GAPS], *more)


def _next_steps(shelf: Shelf, checked: ValidateAnswer, top: Sequence[str]) -> list[str]:
    steps = [] if checked.complete else ["validate: see which files are missing or changed"]
    if shelf.index.findings:
        worst = shelf.index.findings[0]
        steps.append(f"read {worst.evidence.full_key}: the lines around {worst.finding_id}")
        steps.append("correlate: the whole timeline and its clusters")
        steps.append(f"summarize with finding_ids {list(top[:3])} and index_id {shelf.index.index_id}")
    else:
        steps.append("search for what the alarm was about: no rule found anything, which is no proof of health")
    steps.append("network_diagnostics or storage_diagnostics: the state when the bundle was made")
    return steps
