"""`correlate`: what happened together on a node, and what may have caused what."""

from datetime import datetime
from typing import Annotated

from pydantic import Field

from affidavit.evidence.confidence import Level
from affidavit.evidence.severity import Severity
from affidavit.nodes.answers.finding import ConciseFinding, EvidenceRecord, FindingId
from affidavit.nodes.answers.wire import (
    Answer,
    ConfidenceRecord,
    CoverageReport,
    Format,
    FoundIndex,
    InstanceId,
    PinnedIndex,
    Request,
    ResponseFormat,
    Wire,
)


class CorrelateRequest(Request):
    instance_id: InstanceId
    time_window: Annotated[
        int,
        Field(
            ge=1,
            le=86_400,
            validation_alias="timeWindow",
            serialization_alias="timeWindow",
            description="Seconds. Events further apart than this belong to different clusters.",
        ),
    ] = 60
    pivot_event: Annotated[
        str | None,
        Field(
            min_length=1,
            max_length=200,
            validation_alias="pivotEvent",
            serialization_alias="pivotEvent",
            description="Only what happened around this finding: a finding id (F-001), or part of a pattern's name.",
        ),
    ] = None
    components: list[Annotated[str, Field(min_length=1, max_length=100)]] | None = Field(
        default=None, max_length=50, description="Only findings these components report, such as kubelet or kernel."
    )
    response_format: Format = ResponseFormat.DETAILED
    index_id: PinnedIndex = None


class TimelineEvent(Wire):
    finding_id: FindingId
    timestamp: datetime
    source: str = Field(description="The component that reported it.")
    severity: Severity
    event: str
    evidence: EvidenceRecord


class SharedSignalRecord(Wire):
    """One kind of trouble that several components report close together in time."""

    signal: str
    sources: list[str]
    finding_ids: list[str]
    cluster_id: str


class ClusterRecord(Wire):
    """Events that follow each other without a gap longer than timeWindow."""

    cluster_id: str
    start_time: datetime
    end_time: datetime
    event_count: int
    dominant_severity: Severity
    events: list[str] = Field(description="Finding ids, earliest first.")


class ChainRecord(Wire):
    """A potential chain of causes: a hint to check against the quoted lines, never a proof."""

    chain: list[str] = Field(description="The steps that were seen, in the order in which one tends to cause the next.")
    confidence: Level
    cluster_id: str
    finding_ids: list[str] = Field(description="The finding that shows each step.")


class CorrelateAnswer(Answer):
    index_id: FoundIndex
    timeline: list[TimelineEvent | ConciseFinding] = Field(description="Earliest first.")
    correlations: list[SharedSignalRecord]
    clusters: list[ClusterRecord]
    potential_root_cause_chains: list[ChainRecord] = Field(description="The likeliest first. Potential, not proven.")
    confidence: ConfidenceRecord
    caveat: str
    coverage_report: CoverageReport
