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
    verified_files: int
    total_expected: int
    missing_total: int
    corrupted_total: int


class TriagedFinding(Wire):
    finding_id: FindingId
    severity: Severity
    pattern: str
    description: str
    component: str
    count: int
    evidence: EvidenceRecord


class QuickTriageAnswer(Answer):
    """validate, errors and correlate in one answer of bounded size."""

    instance_id: str = Field(validation_alias="instanceId", serialization_alias="instanceId")
    index_id: FoundIndex
    bundle: BundleState
    summary: SeverityCounts
    top_findings: list[TriagedFinding] = Field(description="The worst, at most ten.")
    potential_root_cause_chains: list[ChainRecord] = Field(description="At most five, the likeliest first.")
    next_steps: list[str] = Field(description="Calls worth making next.")
    confidence: ConfidenceRecord
    caveat: str
    coverage_report: CoverageReport
