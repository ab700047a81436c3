"""`errors`: the findings of a node's index, filtered and paged."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from affidavit.evidence.coverage import Coverage
from affidavit.evidence.finding import Finding
from affidavit.evidence.severity import Severity
from affidavit.nodes.wire import shared_fields as asked
from affidavit.nodes.wire.finding import ConciseFinding
from affidavit.wire.records import ToolAnswer, WireRecord

MOST = 200


class SeverityFilter(StrEnum):
    ALL = "all"
    CRITICAL = "critical"
    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"
    INFO = "info"

    def lets_through(self, severity: Severity) -> bool:
        return self is SeverityFilter.ALL or self.value == severity.value


class ErrorsRequest(asked.NodeRequest):
    instance_id: asked.InstanceId
    severity: SeverityFilter = Field(default=SeverityFilter.ALL)
    response_format: asked.Format = asked.ResponseFormat.DETAILED
    page_size: Annotated[
        int,
        Field(
            ge=1,
            le=MOST,
            validation_alias="pageSize",
            serialization_alias="pageSize",
        ),
    ] = 50
    page_token: Annotated[
        str | None,
        Field(
            max_length=500,
            validation_alias="pageToken",
            serialization_alias="pageToken",
            description="next_page_token of the page before.",
        ),
    ] = None
    cluster_context: asked.ClusterContext = None
    index_id: asked.PinnedIndex = None


class SeverityCounts(WireRecord):
    critical: int = Field(description="Findings of severity critical.")
    high: int = Field(description="Findings of severity high.")
    medium: int = Field(description="Findings of severity medium.")
    low: int = Field(description="Findings of severity low.")
    info: int = Field(description="Findings of severity info.")
    total: int = Field(description="All findings.")


class Pagination(WireRecord):
    page_size: int = Field(description="Findings in one answer, at most.")
    total_findings: int = Field(description="Findings of the asked severity on all pages together.")
    next_page_token: str | None = Field(description="Pass it as pageToken to get the next page; null on the last.")
    has_more: bool = Field(description="true when there is another page.")


class ErrorsAnswer(ToolAnswer):
    """Every finding has an id: a report must cite it and quote the excerpt verbatim."""

    instance_id: asked.EchoedNode
    index_id: asked.FoundIndex
    findings: list[Finding | ConciseFinding] = Field(description="Worst first, then by time.")
    summary: SeverityCounts = Field(description="All findings of the index, whatever was filtered.")
    suppressed_total: int = Field(description="Hits a known harmless context explains; they are no findings.")
    gaps: list[str] = Field(description="What the index could not see. No findings is not health while there are gaps.")
    coverage_report: Coverage = Field(description="What the index looked at.")
    pagination: Pagination = Field(description="Where this page stands.")
