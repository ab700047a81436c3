"""`network_diagnostics` and `storage_diagnostics`: the state a bundle shows, check by check."""

from enum import StrEnum

from pydantic import Field

from affidavit.evidence.confidence import Confidence
from affidavit.evidence.coverage import Coverage
from affidavit.evidence.finding import Evidence
from affidavit.nodes.wire.shared_fields import EchoedNode, FoundIndex, InstanceId, NodeRequest, PinnedIndex
from affidavit.wire.records import ToolAnswer, WireRecord


class DiagnosticsRequest(NodeRequest):
    instance_id: InstanceId
    index_id: PinnedIndex = None


class CheckStatus(StrEnum):
    PASS = "pass"
    WARN = "warn"
    FAIL = "fail"
    NOT_AVAILABLE = "not_available"


class DiagnosticCheck(WireRecord):
    check: str = Field(description="What was looked at, such as dns or conntrack.")
    status: CheckStatus = Field(
        description="not_available: the bundle does not hold what it takes to tell. It is no pass."
    )
    detail: str = Field(description="Why this status.")
    finding_ids: list[str] = Field(description="The findings it rests on, at most ten; cite them.")
    evidence: list[Evidence] = Field(description="Lines that show it, as many as fit, at most five.")
    files: list[str] = Field(description="The files it was read from, at most ten.")


class DiagnosticsAnswer(ToolAnswer):
    instance_id: EchoedNode
    index_id: FoundIndex
    checks: list[DiagnosticCheck] = Field(description="One for each thing that was looked at.")
    confidence: Confidence = Field(description="How far this can be trusted.")
    caveat: str = Field(description="What this answer cannot tell; repeat it in a report.")
    coverage_report: Coverage = Field(
        description="The files these checks rest on: the index looked for faults in them, and each was read now until "
        "it showed its state."
    )
