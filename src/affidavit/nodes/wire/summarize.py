"""`summarize`: a report made only of findings that were retrieved before, re-verified now."""

from typing import Annotated

from pydantic import ConfigDict, Field

from affidavit.evidence.confidence import Confidence
from affidavit.evidence.coverage import Coverage
from affidavit.evidence.finding import Evidence, FindingId
from affidavit.evidence.severity import Severity
from affidavit.nodes.wire.shared_fields import (
    ClusterContext,
    EchoedNode,
    FoundIndex,
    InstanceId,
    NodeRequest,
    PinnedIndex,
)
from affidavit.nodes.wire.verdict import VerdictRecord
from affidavit.wire.records import ToolAnswer, WireRecord

_CITABLE = r"^(F-\d{3,}|S-\d{3,})$"
SearchId = Annotated[
    str | None,
    Field(
        min_length=1,
        max_length=64,
        description="The search that S- ids belong to.",
    ),
]


class SummarizeRequest(NodeRequest):
    # Without ids it is refused all the same, by words that say where to get them.
    model_config = ConfigDict(json_schema_extra={"required": ["instanceId", "finding_ids"]})

    instance_id: InstanceId
    finding_ids: list[Annotated[str, Field(max_length=40)]] = Field(
        default_factory=list[str],
        max_length=500,
        description="F- or S- ids.",
        json_schema_extra={"items": {"type": "string", "pattern": _CITABLE}, "minItems": 1},
    )
    cluster_context: ClusterContext = None
    include_recommendations: Annotated[
        bool,
        Field(
            validation_alias="includeRecommendations",
            serialization_alias="includeRecommendations",
        ),
    ] = True
    index_id: PinnedIndex = None
    search_id: SearchId = None


class SummarizedFinding(WireRecord):
    finding_id: FindingId
    severity: Severity = Field(description="How bad it is.")
    pattern: str = Field(description="Short name of what was found.")
    count: int = Field(description="Exact number of occurrences.")
    description: str = Field(description="What it means.")
    evidence: Evidence = Field(description="Re-read and found true while this answer was made.")
    is_baseline: bool = Field(description="true when many bundles of the cluster show this pattern.")
    note: str = Field(description="What to keep in mind about this finding; empty when there is nothing.")


class Recommendation(WireRecord):
    text: str = Field(description="A first step.")
    finding_ids: list[str] = Field(description="The findings it rests on.")


class SummarizeAnswer(ToolAnswer):
    instance_id: EchoedNode
    index_id: FoundIndex
    verdict: VerdictRecord | None = Field(description="Causes and what they explain; null for an old index.")
    finding_ids_requested: list[str] = Field(description="The ids as asked for.")
    finding_ids_resolved: int = Field(description="How many of them were found and re-read: all, or this is an error.")
    findings: list[SummarizedFinding] = Field(description="Worst first.")
    affected_components: list[str] = Field(description="Who reported these findings.")
    recommendations: list[Recommendation] = Field(description="First steps; empty when not asked for.")
    confidence: Confidence = Field(description="How far this can be trusted.")
    caveat: str = Field(description="What this answer cannot tell; repeat it in a report.")
    coverage_report: Coverage = Field(description="The files that were re-read for this answer.")
