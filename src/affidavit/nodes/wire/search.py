"""`search`: a regular expression over every text file of a bundle."""

from datetime import datetime
from typing import Annotated

from pydantic import BeforeValidator, Field

from affidavit.evidence.coverage import Coverage
from affidavit.evidence.finding import EXCERPT_CHARACTERS, ByteRange, Evidence, FindingId
from affidavit.evidence.severity import Severity
from affidavit.nodes.wire import shared_fields as asked
from affidavit.nodes.wire.finding import ConciseFinding
from affidavit.wire.records import ToolAnswer, WireRecord

LONGEST_QUERY = 1000
MOST = 500


def _listed(given: object) -> object:
    """`kubelet, kernel` is the list of both."""
    return [part for each in given.split(",") if (part := each.strip())] if isinstance(given, str) else given


class SearchRequest(asked.NodeRequest):
    instance_id: asked.InstanceId
    query: str = Field(
        min_length=1,
        max_length=LONGEST_QUERY,
        description="RE2, matched on each line.",
    )
    log_types: Annotated[
        list[Annotated[str, Field(min_length=1, max_length=200)]] | None,
        BeforeValidator(_listed),
        Field(
            max_length=50,
            validation_alias="logTypes",
            serialization_alias="logTypes",
            description="Components (kubelet, kernel, cni …), folders or globs.",
        ),
    ] = None
    max_results: Annotated[
        int,
        Field(
            ge=1,
            le=MOST,
            validation_alias="maxResults",
            serialization_alias="maxResults",
            description="Lines listed per file; counts are exact anyway.",
        ),
    ] = 100
    response_format: asked.Format = asked.ResponseFormat.DETAILED
    index_id: asked.PinnedIndex = None


class MatchRecord(WireRecord):
    line: int = Field(description="Line number, 1-based.")
    byte_offset: ByteRange = Field(description="Where its bytes are.")
    timestamp: datetime | None = Field(description="UTC; null when the line's time could not be read.")
    excerpt: str = Field(
        description="The line as it is stored, its first 500 characters.",
        json_schema_extra={"maxLength": EXCERPT_CHARACTERS},
    )
    sha256: str | None = Field(description="Of these bytes; null where text is hidden.")


class SearchResult(WireRecord):
    """All matching lines of one file."""

    finding_id: FindingId
    file: str = Field(description="Path in the bundle.")
    full_key: str = Field(description="Object key of the file; pass it to read.")
    severity: Severity = Field(
        description="Of the worst finding of the index that covers one of the listed lines; info when none does."
    )
    pattern: str = Field(description="The query.")
    count: int = Field(description="Exact number of matching lines in this file.")
    evidence: Evidence = Field(description="The first matching line.")
    additional_matches: list[MatchRecord] = Field(description="The next matching lines, as many as fit.")


class SearchAnswer(ToolAnswer):
    """Results can be cited for 24 hours: give search_id and index_id along with the S- ids."""

    instance_id: asked.EchoedNode
    query: str = Field(description="The query that was asked.")
    search_id: str = Field(description="Names this search; pass it to summarize or verify_report with S- ids.")
    index_id: asked.FoundIndex
    results: list[SearchResult | ConciseFinding] = Field(
        description="One for each file with a match: worst severity first, then in path order."
    )
    total_matches: int = Field(description="Matching lines in all files, listed or not.")
    files_matched: int = Field(description="Files with a match.")
    gaps: list[str] = Field(description="What could not be searched, and why.")
    coverage_report: Coverage = Field(description="What this search read.")
