"""`network_diagnostics` and `storage_diagnostics`: the state a bundle shows, check by check."""

from enum import StrEnum

from pydantic import Field

from affidavit.nodes.answers.finding import EvidenceRecord
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


class DiagnosticsRequest(Request):
    instance_id: InstanceId
    index_id: PinnedIndex = None


class Outcome(StrEnum):
    PASS = "pass"
    WARN = "warn"
    FAIL = "fail"
    NOT_AVAILABLE = "not_available"


class DiagnosticCheck(Wire):
    check: str = Field(description="What was looked at, such as dns or conntrack.")
    status: Outcome = Field(description="not_available: the bundle does not hold what it takes to tell. It is no pass.")
    detail: str = Field(description="Why this status.")
    finding_ids: list[str] = Field(description="The findings it rests on; cite them.")
    evidence: list[EvidenceRecord] = Field(description="Lines that show it, at most five.")
    files: list[str] = Field(description="The files it was read from.")


class DiagnosticsAnswer(Answer):
    index_id: FoundIndex
    checks: list[DiagnosticCheck] = Field(description="One for each thing that was looked at.")
    confidence: ConfidenceRecord = Field(description="How far this can be trusted.")
    caveat: str = Field(description="What this answer cannot tell; repeat it in a report.")
    coverage_report: CoverageReport = Field(
        description="The files these checks rest on: the index looked for faults in them, and each was read now until "
        "it showed its state."
    )
