"""`verify_report`: does what a report says re-read from the stored bytes?"""

from enum import StrEnum
from typing import Annotated, cast

from pydantic import Field, model_validator

from affidavit.evidence.coverage import Coverage
from affidavit.nodes.wire.shared_fields import EchoedNode, FoundIndex, InstanceId, NodeRequest, PinnedIndex
from affidavit.nodes.wire.summarize import SearchId
from affidavit.wire.records import ToolAnswer, WireRecord


class ReportClaim(WireRecord):
    text: str | None = Field(default=None, max_length=10_000, description="Not judged.")
    finding_id: str = Field(
        max_length=40,
        description="F-001 or S-001.",
    )
    quote: str = Field(max_length=20_000, description="Verbatim.")
    search_id: SearchId = Field(default=None, description="If not that of the request.")

    @model_validator(mode="before")
    @classmethod
    def _cites_a_finding(cls, given: object) -> object:
        if isinstance(given, dict) and "logKey" in given and "finding_id" not in given:
            raise ValueError("a claim cites a finding_id, not a logKey: search for the line and cite its S- id")
        return cast("object", given)  # of whatever keys


class VerifyReportRequest(NodeRequest):
    instance_id: InstanceId
    claims: Annotated[list[ReportClaim], Field(min_length=1, max_length=200, description="What the report rests on.")]
    index_id: PinnedIndex = None
    search_id: SearchId = None


class ClaimVerdict(StrEnum):
    HOLDS = "holds"
    UNKNOWN_ID = "unknown_id"
    QUOTE_NOT_FOUND = "quote_not_found"
    EVIDENCE_CHANGED = "evidence_changed"


class JudgedClaim(WireRecord):
    finding_id: str = Field(description="The finding the claim cites.")
    verdict: ClaimVerdict = Field(description="Whether it holds, or what does not.")
    reason: str = Field(description="What does not hold, and what to do about it. Empty when the claim holds.")
    file: str | None = Field(description="Where the quote stands.")
    line: int | None = Field(description="Its line number, 1-based.")
    sha256: str | None = Field(description="Of the line's bytes; null where text is hidden.")


class VerifyReportAnswer(ToolAnswer):
    instance_id: EchoedNode
    index_id: FoundIndex
    all_hold: bool = Field(description="Report only when this is true; a quote that holds does not prove a conclusion.")
    claims: list[JudgedClaim] = Field(description="In the order of the request.")
    held: int = Field(description="Claims that hold.")
    refuted: int = Field(description="Claims that do not.")
    coverage_report: Coverage = Field(description="The files that were re-read for this answer.")
