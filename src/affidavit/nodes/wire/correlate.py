"""`correlate`: what happened together on a node, and what may have caused what."""

from datetime import datetime
from typing import Annotated

from pydantic import Field

from affidavit.evidence.confidence import Confidence, Level
from affidavit.evidence.coverage import Coverage
from affidavit.evidence.finding import Evidence, FindingId
from affidavit.evidence.severity import Severity
from affidavit.nodes.wire.finding import ConciseFinding
from affidavit.nodes.wire.shared_fields import (
    EchoedNode,
    Format,
    FoundIndex,
    InstanceId,
    NodeRequest,
    PinnedIndex,
    ResponseFormat,
)
from affidavit.nodes.wire.verdict import VerdictRecord
from affidavit.wire.records import ToolAnswer, WireRecord


class CorrelateRequest(NodeRequest):
    instance_id: InstanceId
    time_window: Annotated[
        int,
        Field(
            ge=1,
            le=86_400,
            validation_alias="timeWindow",
            serialization_alias="timeWindow",
            description="Seconds; a longer gap starts a new cluster.",
        ),
    ] = 60
    pivot_event: Annotated[
        str | None,
        Field(
            min_length=1,
            max_length=200,
            validation_alias="pivotEvent",
            serialization_alias="pivotEvent",
            description="Only around this finding id, or part of a pattern's name.",
        ),
    ] = None
    components: list[Annotated[str, Field(min_length=1, max_length=100)]] | None = Field(
        default=None, max_length=50, description="Only what these report."
    )
    response_format: Format = ResponseFormat.DETAILED
    index_id: PinnedIndex = None


class TimelineEvent(WireRecord):
    finding_id: FindingId
    timestamp: datetime = Field(description="UTC.")
    source: str = Field(description="The component that reported it.")
    severity: Severity = Field(description="How bad it is.")
    event: str = Field(description="Short name of what happened.")
    count: int = Field(description="Exact number of occurrences, from timestamp to last_seen.")
    last_seen: datetime | None = Field(description="UTC. The last occurrence that has a time.")
    evidence: Evidence = Field(description="The line that shows it.")


class SharedSignalRecord(WireRecord):
    """One kind of trouble that several components report close together in time."""

    signal: str = Field(description="The family of trouble.")
    sources: list[str] = Field(description="The components that report it.")
    finding_ids: list[str] = Field(description="Their findings.")
    cluster_id: str = Field(description="The cluster it happened in.")


class ClusterRecord(WireRecord):
    """Events that follow each other without a gap longer than timeWindow."""

    cluster_id: str = Field(description="C-001 is the earliest.")
    start_time: datetime = Field(description="Its first event, UTC; concise: to the second.")
    end_time: datetime = Field(description="Its last event, UTC.")
    event_count: int = Field(description="How many events it has.")
    dominant_severity: Severity = Field(description="The worst in it.")
    events: list[str] = Field(description="Finding ids, earliest first.")


class ChainRecord(WireRecord):
    """A potential chain of causes: a hint to check against the quoted lines, never a proof."""

    chain: list[str] = Field(description="The steps that were seen, in the order in which one tends to cause the next.")
    confidence: Level = Field(description="high only when the whole chain was seen in order of time.")
    cluster_id: str = Field(description="The cluster it happened in.")
    finding_ids: list[str] = Field(description="The finding that shows each step.")


class CorrelateAnswer(ToolAnswer):
    instance_id: EchoedNode
    index_id: FoundIndex
    verdict: VerdictRecord | None = Field(description="Causes and what they explain; null for an old index.")
    timeline: list[TimelineEvent | ConciseFinding] = Field(description="Earliest first; the worst, as many as fit.")
    correlations: list[SharedSignalRecord] = Field(description="Troubles that several components report together.")
    clusters: list[ClusterRecord] = Field(
        description="Events that happened together, earliest first; those that chains or correlations name and the "
        "worst, as many as fit."
    )
    potential_root_cause_chains: list[ChainRecord] = Field(description="The likeliest first. Potential, not proven.")
    confidence: Confidence = Field(description="How far this can be trusted.")
    caveat: str = Field(description="What this answer cannot tell; repeat it in a report.")
    coverage_report: Coverage = Field(description="What the index looked at.")
