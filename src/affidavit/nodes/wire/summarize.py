"""`summarize`: a report made only of findings that were retrieved before, re-verified now."""

from typing import Annotated

from pydantic import ConfigDict, Field

from affidavit.evidence.severity import Severity
from affidavit.nodes.answers.finding import EvidenceRecord, FindingId
from affidavit.nodes.answers.wire import (
    FINDING,
    Answer,
    ClusterContext,
    ConfidenceRecord,
    CoverageReport,
    FoundIndex,
    InstanceId,
    PinnedIndex,
    Request,
    Wire,
)

SearchId = Annotated[
    str | None,
    Field(
        min_length=1,
        max_length=64,
        description="The search that S- ids belong to. Needed when several searches were made.",
    ),
]


class SummarizeRequest(Request):
    # Without ids it is refused all the same, by words that say where to get them.
    model_config = ConfigDict(json_schema_extra={"required": ["instanceId", "finding_ids"]})

    instance_id: InstanceId
    finding_ids: list[Annotated[str, Field(max_length=40)]] = Field(
        default_factory=list[str],
        max_length=500,
        description="Ids from errors (F-001) or search (S-001). The report holds these findings and no others.",
        json_schema_extra={"items": {"type": "string", "pattern": FINDING}, "minItems": 1},
    )
    cluster_context: ClusterContext = None
    include_recommendations: Annotated[
        bool,
        Field(
            validation_alias="includeRecommendations",
            serialization_alias="includeRecommendations",
            description="Whether to add first steps, each with the findings it rests on.",
        ),
    ] = True
    index_id: PinnedIndex = None
    search_id: SearchId = None


class SummarizedFinding(Wire):
    id: FindingId
    severity: Severity = Field(description="How bad it is.")
    pattern: str = Field(description="Short name of what was found.")
    count: int = Field(description="Exact number of occurrences.")
    description: str = Field(description="What it means.")
    evidence: EvidenceRecord = Field(description="Re-read and found true while this answer was made.")
    is_baseline: bool = Field(description="true when many bundles of the cluster show this pattern.")
    note: str = Field(description="What to keep in mind about this finding; empty when there is nothing.")


class Recommendation(Wire):
    text: str = Field(description="A first step.")
    finding_ids: list[str] = Field(description="The findings it rests on.")


class SummarizeAnswer(Answer):
    index_id: FoundIndex
    finding_ids_requested: list[str] = Field(description="The ids as asked for.")
    finding_ids_resolved: list[str] = Field(description="Those the report holds: all of them.")
    findings: list[SummarizedFinding] = Field(description="Worst first.")
    affected_components: list[str] = Field(description="Who reported these findings.")
    recommendations: list[Recommendation] = Field(description="First steps; empty when not asked for.")
    confidence: ConfidenceRecord = Field(description="How far this can be trusted.")
    caveat: str = Field(description="What this answer cannot tell; repeat it in a report.")
    coverage_report: CoverageReport = Field(description="The files that were re-read for this answer.")
