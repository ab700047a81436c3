"""`search`: a regular expression over every text file of a bundle."""

from datetime import datetime
from typing import Annotated

from pydantic import Field

from affidavit.evidence.severity import Severity
from affidavit.nodes.answers.finding import ByteSpan, ConciseFinding, EvidenceRecord, FindingId
from affidavit.nodes.answers.wire import (
    Answer,
    CoverageReport,
    Format,
    FoundIndex,
    InstanceId,
    PinnedIndex,
    Request,
    ResponseFormat,
    Wire,
)

LONGEST_QUERY = 1000
MOST = 500


class SearchRequest(Request):
    instance_id: InstanceId
    query: str = Field(
        min_length=1,
        max_length=LONGEST_QUERY,
        description="Regular expression in RE2 syntax, matched on each line. Put (?i) first to ignore case. No "
        "backreferences and no look-around.",
    )
    log_types: Annotated[
        list[Annotated[str, Field(min_length=1, max_length=200)]] | None,
        Field(
            max_length=50,
            validation_alias="logTypes",
            serialization_alias="logTypes",
            description="Only these files: names of components (kubelet, kernel, containerd, cni …), folders "
            "(networking) or globs (var_log/messages*). All text files when left out.",
        ),
    ] = None
    max_results: Annotated[
        int,
        Field(
            ge=1,
            le=MOST,
            validation_alias="maxResults",
            serialization_alias="maxResults",
            description="Matching lines listed per file. Counts are exact however few are listed.",
        ),
    ] = 100
    response_format: Format = ResponseFormat.DETAILED
    index_id: PinnedIndex = None


class MatchRecord(Wire):
    line: int = Field(description="Line number, 1-based.")
    byte_offset: ByteSpan = Field(description="Where its bytes are.")
    timestamp: datetime | None = Field(description="UTC; null when the line's time could not be read.")
    excerpt: str = Field(description="The line as it is stored, its first 500 characters.")
    sha256: str = Field(description="Of these bytes.")


class SearchResult(Wire):
    """All matching lines of one file."""

    finding_id: FindingId
    file: str = Field(description="Path in the bundle.")
    full_key: str = Field(description="Object key of the file; pass it to read.")
    severity: Severity = Field(
        description="Of the worst finding of the index that covers one of the listed lines; info when none does."
    )
    pattern: str = Field(description="The query.")
    count: int = Field(description="Exact number of matching lines in this file.")
    evidence: EvidenceRecord = Field(description="The first matching line.")
    additional_matches: list[MatchRecord] = Field(description="The next matching lines, up to maxResults in all.")


class SearchAnswer(Answer):
    """Results can be cited for 24 hours: give search_id and index_id along with the S- ids."""

    search_id: str = Field(description="Names this search; pass it to summarize or verify_report with S- ids.")
    index_id: FoundIndex
    results: list[SearchResult | ConciseFinding] = Field(description="One for each file with a match, in path order.")
    total_matches: int = Field(description="Matching lines in all files, listed or not.")
    files_matched: int = Field(description="Files with a match.")
    gaps: list[str] = Field(description="What could not be searched, and why.")
    coverage_report: CoverageReport = Field(description="What this search read.")
