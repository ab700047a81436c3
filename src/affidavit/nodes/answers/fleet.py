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
    instance_id: str = Field(validation_alias="instanceId", serialization_alias="instanceId")
    index_id: str
    finding_ids: list[str]
    count: int
    severity: Severity
    evidence: EvidenceRecord = Field(description="A line that shows it on this node.")


class SharedPattern(Wire):
    pattern: str
    severity: Severity = Field(description="The worst on any node.")
    nodes: list[NodeShowing]
    absent_on: list[str] = Field(description="Compared nodes that do not show it.")


class ComparedNode(Wire):
    instance_id: str = Field(validation_alias="instanceId", serialization_alias="instanceId")
    index_id: str
    indexed_at: datetime
    summary: SeverityCounts
    coverage_report: CoverageReport


class CompareNodesAnswer(Answer):
    nodes: list[ComparedNode] = Field(description="Nodes that have a bundle.")
    without_bundle: list[str] = Field(description="Nodes that could not be compared: nothing was collected from them.")
    common: list[SharedPattern] = Field(description="What every compared node shows, worst first.")
    partial: list[SharedPattern] = Field(description="What only some of them show, worst first.")
    confidence: ConfidenceRecord
    caveat: str
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
            description="Name of the EKS cluster.",
        ),
    ]


class RankedNode(Wire):
    instance_id: str = Field(validation_alias="instanceId", serialization_alias="instanceId")
    rank: int = Field(description="1 is the node in the worst state.")
    index_id: str
    indexed_at: datetime
    summary: SeverityCounts
    worst: list[str] = Field(description="Its worst findings by id and name.")
    gaps: int = Field(description="How many things its index could not see.")


class ClusterHealthAnswer(Answer):
    cluster_name: str = Field(validation_alias="clusterName", serialization_alias="clusterName")
    nodes: list[RankedNode]
    without_bundle: list[str] = Field(description="Nodes nothing is known of: nothing was collected from them.")
    common: list[SharedPattern] = Field(description="What at least two nodes show, the most widespread first.")
    confidence: ConfidenceRecord
    caveat: str
    coverage_report: CoverageReport = Field(description="Of all bundles of the cluster together.")
