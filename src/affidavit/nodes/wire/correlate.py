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
    timestamp: datetime = Field(description="UTC.")
    source: str = Field(description="The component that reported it.")
    severity: Severity = Field(description="How bad it is.")
    event: str = Field(description="Short name of what happened.")
    count: int = Field(description="Exact number of occurrences, from timestamp to last_seen.")
    last_seen: datetime | None = Field(description="UTC. The last occurrence that has a time.")
    evidence: EvidenceRecord = Field(description="The line that shows it.")


class SharedSignalRecord(Wire):
    """One kind of trouble that several components report close together in time."""

    signal: str = Field(description="The family of trouble.")
    sources: list[str] = Field(description="The components that report it.")
    finding_ids: list[str] = Field(description="Their findings.")
    cluster_id: str = Field(description="The cluster it happened in.")


class ClusterRecord(Wire):
    """Events that follow each other without a gap longer than timeWindow."""

    cluster_id: str = Field(description="C-001 is the earliest.")
    start_time: datetime = Field(description="Its first event, UTC; concise: to the second.")
    end_time: datetime = Field(description="Its last event, UTC.")
    event_count: int = Field(description="How many events it has.")
    dominant_severity: Severity = Field(description="The worst in it.")
    events: list[str] = Field(description="Finding ids, earliest first.")


class ChainRecord(Wire):
    """A potential chain of causes: a hint to check against the quoted lines, never a proof."""

    chain: list[str] = Field(description="The steps that were seen, in the order in which one tends to cause the next.")
    confidence: Level = Field(description="high only when the whole chain was seen in order of time.")
    cluster_id: str = Field(description="The cluster it happened in.")
    finding_ids: list[str] = Field(description="The finding that shows each step.")


class CorrelateAnswer(Answer):
    index_id: FoundIndex
    timeline: list[TimelineEvent | ConciseFinding] = Field(description="Earliest first.")
    correlations: list[SharedSignalRecord] = Field(description="Troubles that several components report together.")
    clusters: list[ClusterRecord] = Field(
        description="Events that happened together, earliest first; a concise answer has at most five, the worst, and "
        "none in which nothing is worse than info, unless a chain or a correlation names it."
    )
    potential_root_cause_chains: list[ChainRecord] = Field(description="The likeliest first. Potential, not proven.")
    confidence: ConfidenceRecord = Field(description="How far this can be trusted.")
    caveat: str = Field(description="What this answer cannot tell; repeat it in a report.")
    coverage_report: CoverageReport = Field(description="What the index looked at.")
