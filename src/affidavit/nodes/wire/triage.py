"""`quick_triage`: the first call to make about a node."""

from pydantic import Field

from affidavit.evidence.severity import Severity
from affidavit.nodes.answers.correlate import ChainRecord
from affidavit.nodes.answers.errors import SeverityCounts
from affidavit.nodes.answers.finding import EvidenceRecord, FindingId
from affidavit.nodes.answers.wire import (
    Answer,
    ConfidenceRecord,
    CoverageReport,
    FoundIndex,
    InstanceId,
    PinnedIndex,
    Request,
    Wire,
)


class QuickTriageRequest(Request):
    instance_id: InstanceId
    index_id: PinnedIndex = None


class BundleState(Wire):
    complete: bool = Field(description="true only when every file of the archive is stored and its checksum agrees.")
    verified_files: int = Field(description="Files whose checksum was computed just now and agrees.")
    total_expected: int = Field(description="Files of the archive.")
    missing_total: int = Field(description="Files that are not stored.")
    corrupted_total: int = Field(description="Files that are not what was collected.")


class FurtherPlace(Wire):
    """Another file that shows the same, often a copy of the same log."""

    finding_id: FindingId
    source_file: str = Field(description="Path in the bundle.")
    count: int = Field(description="Exact number of occurrences there.")


class TriagedFinding(Wire):
    finding_id: FindingId
    severity: Severity = Field(description="How bad it is.")
    pattern: str = Field(description="Short name of what was found.")
    description: str = Field(description="What it means.")
    component: str = Field(description="Who wrote the line.")
    count: int = Field(description="Exact number of occurrences.")
    evidence: EvidenceRecord = Field(description="The line that stands for all.")
    also_in: list[FurtherPlace] = Field(description="Findings of the same rule in other files, at most five.")
    also_in_total: int = Field(description="How many of them there are.")


class QuickTriageAnswer(Answer):
    """validate, errors and correlate in one answer of bounded size."""

    instance_id: str = Field(description="The node.", validation_alias="instanceId", serialization_alias="instanceId")
    index_id: FoundIndex
    bundle: BundleState = Field(description="Whether the bundle is whole.")
    summary: SeverityCounts = Field(description="All findings of the index, by severity.")
    top_findings: list[TriagedFinding] = Field(description="The worst, at most ten, each rule once.")
    potential_root_cause_chains: list[ChainRecord] = Field(description="At most five, the likeliest first.")
    next_steps: list[str] = Field(description="Calls worth making next.")
    confidence: ConfidenceRecord = Field(description="How far this can be trusted.")
    caveat: str = Field(description="What this answer cannot tell; repeat it in a report.")
    coverage_report: CoverageReport = Field(description="What the index looked at.")
