"""`errors`: the findings of a node's index, filtered and paged."""

from typing import Annotated, Literal

from pydantic import Field

from affidavit.nodes.answers.finding import ConciseFinding, FindingRecord
from affidavit.nodes.answers.wire import (
    Answer,
    ClusterContext,
    CoverageReport,
    Format,
    FoundIndex,
    InstanceId,
    PinnedIndex,
    Request,
    ResponseFormat,
    Wire,
)

MOST = 200


class ErrorsRequest(Request):
    instance_id: InstanceId
    severity: Literal["all", "critical", "high", "medium", "low", "info"] = Field(
        default="all", description="Only findings of this severity."
    )
    response_format: Format = ResponseFormat.DETAILED
    page_size: Annotated[
        int,
        Field(
            ge=1,
            le=MOST,
            validation_alias="pageSize",
            serialization_alias="pageSize",
            description="Findings in one answer.",
        ),
    ] = 50
    page_token: Annotated[
        str | None,
        Field(
            max_length=500,
            validation_alias="pageToken",
            serialization_alias="pageToken",
            description="`pagination.next_page_token` of the answer before, with the same severity.",
        ),
    ] = None
    cluster_context: ClusterContext = None
    index_id: PinnedIndex = None


class SeverityCounts(Wire):
    critical: int = Field(description="Findings of severity critical.")
    high: int = Field(description="Findings of severity high.")
    medium: int = Field(description="Findings of severity medium.")
    low: int = Field(description="Findings of severity low.")
    info: int = Field(description="Findings of severity info.")
    total: int = Field(description="All findings.")


class Pagination(Wire):
    page_size: int = Field(description="Findings in one answer, at most.")
    total_findings: int = Field(description="Findings of the asked severity on all pages together.")
    next_page_token: str | None = Field(description="Pass it as pageToken to get the next page; null on the last.")
    has_more: bool = Field(description="true when there is another page.")


class ErrorsAnswer(Answer):
    """Every finding has an id: a report must cite it and quote the excerpt verbatim."""

    index_id: FoundIndex
    findings: list[FindingRecord | ConciseFinding] = Field(description="Worst first, then by time.")
    summary: SeverityCounts = Field(description="All findings of the index, whatever was filtered.")
    suppressed_total: int = Field(description="Hits a known harmless context explains; they are no findings.")
    gaps: list[str] = Field(description="What the index could not see. No findings is not health while there are gaps.")
    coverage_report: CoverageReport = Field(description="What the index looked at.")
    pagination: Pagination = Field(description="Where this page stands.")
