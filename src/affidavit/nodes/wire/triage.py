"""`quick_triage`: the first call to make about a node."""

from typing import Annotated

from pydantic import Field

from affidavit.evidence.confidence import Confidence
from affidavit.evidence.coverage import Coverage
from affidavit.evidence.finding import ABSENT_WHEN_NONE, Evidence, FindingId
from affidavit.evidence.severity import Severity
from affidavit.nodes.library.upload_origin import OriginProof
from affidavit.nodes.wire.correlate import ChainRecord
from affidavit.nodes.wire.findings_page import SeverityCounts
from affidavit.nodes.wire.shared_fields import EchoedNode, FoundIndex, InstanceId, NodeRequest, PinnedIndex
from affidavit.nodes.wire.summarize import Recommendation
from affidavit.nodes.wire.verdict import VerdictRecord
from affidavit.wire.byte_budget import MaxBytes
from affidavit.wire.records import NextCall, ToolAnswer, WireRecord

# Small enough to leave room for checking quotes in one more call, within what fits on a page.
TRIAGE_BYTES = 6 << 10


class QuickTriageRequest(NodeRequest):
    instance_id: InstanceId
    max_bytes: MaxBytes = TRIAGE_BYTES
    index_id: PinnedIndex = None


class BundleState(WireRecord):
    complete: bool = Field(description="true only when every file of the archive is stored and its checksum agrees.")
    verified_files: int = Field(description="Files whose checksum was computed just now and agrees.")
    total_expected: int = Field(description="Files of the archive.")
    origin: Annotated[OriginProof | None, ABSENT_WHEN_NONE] = Field(
        default=None, description="unproven: another node brought this bundle. Absent: an operator did."
    )
    missing_total: int = Field(description="Files that are not stored.")
    corrupted_total: int = Field(description="Files that are not what was collected.")


class FurtherPlace(WireRecord):
    """Another file that shows the same, often a copy of the same log."""

    finding_id: FindingId
    source_file: str = Field(description="Path in the bundle.")
    count: int = Field(description="Exact number of occurrences there.")


class TriagedFinding(WireRecord):
    finding_id: FindingId
    severity: Severity = Field(description="How bad it is.")
    pattern: str = Field(description="Short name of what was found.")
    description: str = Field(description="What it means.")
    component: str = Field(description="Who wrote the line.")
    count: int = Field(description="Exact number of occurrences.")
    evidence: Evidence = Field(description="The line that stands for all.")
    also_in: list[FurtherPlace] = Field(description="Findings of the same rule in other files, at most five.")
    also_in_total: int = Field(description="How many of them there are.")


class NextStep(NextCall):
    why: str = Field(description="What it would tell.")


class QuickTriageAnswer(ToolAnswer):
    """validate, errors and correlate in one answer of bounded size."""

    instance_id: EchoedNode
    index_id: FoundIndex
    verdict: VerdictRecord | None = Field(description="Causes and what they explain; null for an old index.")
    bundle: BundleState = Field(description="Whether the bundle is whole.")
    summary: SeverityCounts = Field(description="All findings of the index, by severity.")
    top_findings: list[TriagedFinding] = Field(description="The worst, each rule once, as many as fit.")
    potential_root_cause_chains: list[ChainRecord] = Field(description="At most five, the likeliest first.")
    recommendations: list[Recommendation] = Field(description="First steps that the rules of these findings name.")
    next_steps: list[NextStep] = Field(description="Calls worth making next, ready to be made.")
    confidence: Confidence = Field(description="How far this can be trusted.")
    caveat: str = Field(description="What this answer cannot tell; repeat it in a report.")
    coverage_report: Coverage = Field(description="What the index looked at.")
