"""`quick_triage`: is the bundle whole, what is worst, what may have caused it, and what to ask next."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from affidavit.evidence.confidence import Confidence
from affidavit.evidence.finding import Finding
from affidavit.evidence.finding_groups import by_rule
from affidavit.nodes.correlation.correlate import Correlation, correlate
from affidavit.nodes.library.indexed_bundles import IndexMarker, Library, Shelf
from affidavit.nodes.questions.network_and_storage import known_areas
from affidavit.nodes.questions.summarize import recommendations
from affidavit.nodes.questions.validate import validate
from affidavit.nodes.wire.correlate import ChainRecord
from affidavit.nodes.wire.findings_page import SeverityCounts
from affidavit.nodes.wire.shared_fields import gaps_in_form
from affidavit.nodes.wire.summarize import Recommendation
from affidavit.nodes.wire.triage import (
    BundleState,
    FurtherPlace,
    NextStep,
    QuickTriageAnswer,
    QuickTriageRequest,
    TriagedFinding,
)
from affidavit.nodes.wire.validate import ValidateAnswer, ValidateRequest
from affidavit.nodes.wire.verdict import VerdictRecord
from affidavit.wire.byte_budget import fit
from affidavit.wire.records import NextCall, TruncationInfo, cut

TOP_FINDINGS = 10
_CHAINS = 3
_STEPS = 3
_FURTHER_PLACES = 3
_GAPS = 3
# Lines shown before and behind the worst one by the read that is proposed.
_LINES_AROUND = 10


def quick_triage(library: Library, request: QuickTriageRequest) -> QuickTriageAnswer:
    shelf = library.open(request.instance_id, request.index_id)
    checked = validate(library, ValidateRequest(instance_id=request.instance_id, index_id=shelf.index.index_id))
    # Without the names of skipped files, which errors has: they would fill half of this answer.
    index = replace(shelf.index, coverage=replace(shelf.index.coverage, skipped_files=()))
    folded = by_rule(shelf.index.findings)
    answering = _Answering(
        shelf=shelf,
        checked=checked,
        found=correlate(index),
        folded=folded,
        steps=recommendations([finding for finding, *_ in folded[:TOP_FINDINGS]], library.knowledge),
    )
    most = min(TOP_FINDINGS, len(folded))
    return fit(answering.with_findings, most, request.max_bytes, least=min(1, most))


@dataclass(frozen=True, kw_only=True)
class _Answering:
    shelf: Shelf
    checked: ValidateAnswer
    found: Correlation
    folded: Sequence[Sequence[Finding]]
    steps: Sequence[Recommendation]

    def with_findings(self, most: int) -> QuickTriageAnswer:
        marker, index, found = self.shelf.marker, self.shelf.index, self.found
        top = [_triaged(folded) for folded in self.folded[:most]]
        gaps = _gaps(found.confidence, self.checked)
        info = self._cut(top)
        return QuickTriageAnswer(
            instance_id=marker.instance_id,
            index_id=index.index_id,
            verdict=VerdictRecord.of(index.verdict),
            bundle=_state(self.checked, marker),
            summary=SeverityCounts.model_validate(index.summary),
            top_findings=top,
            potential_root_cause_chains=[
                ChainRecord.model_validate(chain) for chain in found.potential_root_cause_chains[:_CHAINS]
            ],
            recommendations=list(self.steps[:_STEPS]),
            next_steps=list(_next_steps(self.shelf, self.checked, [each.finding_id for each in top])),
            confidence=replace(found.confidence, gaps=tuple(gaps_in_form(gaps, most=_GAPS))),
            caveat=found.caveat,
            coverage_report=found.coverage_report,
            truncated=info is not None,
            truncation_info=info,
        )

    def _cut(self, top: Sequence[TriagedFinding]) -> TruncationInfo | None:
        where = {"instanceId": self.shelf.marker.instance_id, "index_id": self.shelf.index.index_id}
        errors, timeline = NextCall(tool="errors", arguments=where), NextCall(tool="correlate", arguments=where)
        listed = sum(1 + len(each.also_in) for each in top)
        chains = self.found.potential_root_cause_chains
        return (
            cut(len(self.shelf.index.findings), listed, "call errors for all findings", errors)
            or cut(len(chains), _CHAINS, "call correlate for all chains", timeline)
            or cut(len(self.steps), _STEPS, "call summarize for the first steps of more findings", errors)
            or cut(len(_gaps(self.found.confidence, self.checked)), _GAPS, "call errors for all gaps", errors)
        )


def _state(checked: ValidateAnswer, marker: IndexMarker) -> BundleState:
    return BundleState(
        origin=marker.origin,
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
        evidence=finding.evidence,
        also_in=[
            FurtherPlace(finding_id=other.finding_id, source_file=other.evidence.source_file, count=other.count)
            for other in others[:_FURTHER_PLACES]
        ],
        also_in_total=len(others),
    )


def _gaps(confidence: Confidence, checked: ValidateAnswer) -> tuple[str, ...]:
    damage = () if checked.complete else ("the stored bundle is not whole: call validate",)
    return (*damage, *confidence.gaps)


def _next_steps(shelf: Shelf, checked: ValidateAnswer, top: Sequence[str]) -> Iterator[NextStep]:
    where = {"instanceId": shelf.marker.instance_id, "index_id": shelf.index.index_id}
    if not checked.complete:
        yield NextStep(tool="validate", arguments=where, why="which files are missing or changed")
    if top:
        worst = shelf.findings[top[0]]
        yield NextStep(tool="read", arguments=_around(worst), why=f"the lines around {top[0]}")
        yield NextStep(tool="correlate", arguments=where, why="what happened together, in order")
        yield NextStep(
            tool="summarize", arguments={**where, "finding_ids": list(top[:3])}, why="a report, re-read from the bytes"
        )
    else:
        looked_for = {**where, "query": "(?i)error|fail"}
        yield NextStep(tool="search", arguments=looked_for, why="no rule found anything, which is no proof of health")
    for area, checks in known_areas().items():
        if not top or any(each.concerns(finding) for each in checks for finding in shelf.index.findings):
            yield NextStep(tool=f"{area}_diagnostics", arguments=where, why=f"the state of {area} in the bundle")


def _around(finding: Finding) -> dict[str, object]:
    lines = finding.evidence.line_range
    first = max(1, lines.start - _LINES_AROUND) if lines is not None else 1
    return {"logKey": finding.evidence.full_key, "startLine": first, "lineCount": 2 * _LINES_AROUND}
