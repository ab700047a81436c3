"""`compare_nodes` and `cluster_health`: several nodes beside each other."""

from datetime import datetime
from typing import Annotated

from pydantic import Field

from affidavit.evidence.severity import Severity
from affidavit.nodes.answers.errors import SeverityCounts
from affidavit.nodes.answers.finding import EvidenceRecord
from affidavit.nodes.answers.wire import INSTANCE, Answer, ConfidenceRecord, CoverageReport, Request, Wire

MOST_NODES = 50


class CompareNodesRequest(Request):
    instance_ids: Annotated[
        list[Annotated[str, Field(pattern=INSTANCE)]],
        Field(
            min_length=2,
            max_length=MOST_NODES,
            validation_alias="instanceIds",
            serialization_alias="instanceIds",
            description="EC2 instance ids of the nodes to compare, at least two.",
        ),
    ]


class NodeShowing(Wire):
    instance_id: str = Field(description="The node.", validation_alias="instanceId", serialization_alias="instanceId")
    index_id: str = Field(description="The index its finding ids belong to.")
    finding_ids: list[str] = Field(description="Its findings of this pattern.")
    count: int = Field(description="Occurrences on this node.")
    severity: Severity = Field(description="The worst on this node.")
    evidence: EvidenceRecord = Field(description="A line that shows it on this node.")


class SharedPattern(Wire):
    pattern: str = Field(description="Short name of what was found.")
    severity: Severity = Field(description="The worst on any node.")
    nodes: list[NodeShowing] = Field(description="Nodes that show it.")
    absent_on: list[str] = Field(description="Compared nodes that do not show it.")


class ComparedNode(Wire):
    instance_id: str = Field(description="The node.", validation_alias="instanceId", serialization_alias="instanceId")
    index_id: str = Field(description="The index that was compared.")
    indexed_at: datetime = Field(description="When it was indexed, UTC.")
    summary: SeverityCounts = Field(description="Its findings by severity.")
    coverage_report: CoverageReport = Field(description="What its index looked at.")


class CompareNodesAnswer(Answer):
    nodes: list[ComparedNode] = Field(description="Nodes that have a bundle.")
    without_bundle: list[str] = Field(description="Nodes that could not be compared: nothing was collected from them.")
    common: list[SharedPattern] = Field(description="What every compared node shows, worst first.")
    partial: list[SharedPattern] = Field(description="What only some of them show, worst first.")
    confidence: ConfidenceRecord = Field(description="How far this can be trusted.")
    caveat: str = Field(description="What this answer cannot tell; repeat it in a report.")
    coverage_report: CoverageReport = Field(description="Of all compared bundles together.")


class ClusterHealthRequest(Request):
    cluster_name: Annotated[
        str,
        Field(
            min_length=1,
            max_length=100,
            pattern=r"^[0-9A-Za-z][0-9A-Za-z_-]*$",
            validation_alias="clusterName",
            serialization_alias="clusterName",
            description="Name of the EKS cluster; `local` for bundles that are served from a folder.",
        ),
    ]


class RankedNode(Wire):
    instance_id: str = Field(description="The node.", validation_alias="instanceId", serialization_alias="instanceId")
    rank: int = Field(description="1 is the node in the worst state.")
    index_id: str = Field(description="The index it is ranked by.")
    indexed_at: datetime = Field(description="When it was indexed, UTC.")
    summary: SeverityCounts = Field(description="Its findings by severity.")
    worst: list[str] = Field(description="Its worst findings by id and name, at most three; errors has all.")
    gaps: int = Field(description="How many things its index could not see.")


class ClusterHealthAnswer(Answer):
    cluster_name: str = Field(
        description="The cluster.", validation_alias="clusterName", serialization_alias="clusterName"
    )
    nodes: list[RankedNode] = Field(description="Worst first.")
    without_bundle: list[str] = Field(description="Nodes nothing is known of: nothing was collected from them.")
    common: list[SharedPattern] = Field(description="What at least two nodes show, the most widespread first.")
    confidence: ConfidenceRecord = Field(description="How far this can be trusted.")
    caveat: str = Field(description="What this answer cannot tell; repeat it in a report.")
    coverage_report: CoverageReport = Field(description="Of all bundles of the cluster together.")
