"""`compare_nodes` and `cluster_health`: several nodes beside each other."""

from datetime import datetime
from typing import Annotated

from pydantic import Field

from affidavit.evidence.confidence import Confidence
from affidavit.evidence.coverage import Coverage
from affidavit.evidence.finding import Evidence
from affidavit.evidence.severity import Severity
from affidavit.nodes.wire.findings_page import SeverityCounts
from affidavit.nodes.wire.shared_fields import INSTANCE, EchoedNode, NodeRequest
from affidavit.wire.records import ToolAnswer, WireRecord

MOST_NODES = 50


class CompareNodesRequest(NodeRequest):
    instance_ids: Annotated[
        list[Annotated[str, Field(pattern=INSTANCE)]],
        Field(
            min_length=2,
            max_length=MOST_NODES,
            validation_alias="instanceIds",
            serialization_alias="instanceIds",
            description="EC2 instance ids, at least two.",
        ),
    ]


class NodeShowing(WireRecord):
    instance_id: EchoedNode
    index_id: str = Field(description="The index its finding ids belong to.")
    finding_ids: list[str] = Field(description="Its findings of this pattern, at most three.")
    count: int = Field(description="Occurrences on this node.")
    severity: Severity = Field(description="The worst on this node.")


class SharedPattern(WireRecord):
    pattern: str = Field(description="Short name of what was found.")
    severity: Severity = Field(description="The worst on any node.")
    nodes: list[NodeShowing] = Field(description="Nodes that show it, where it is worst first, at most ten.")
    nodes_total: int = Field(description="How many nodes show it.")
    absent_on: list[str] = Field(description="Nodes that do not show it, at most ten.")
    evidence: Evidence = Field(description="A line that shows it on the first of these nodes.")


class ComparedNode(WireRecord):
    instance_id: EchoedNode
    index_id: str = Field(description="The index that was compared.")
    indexed_at: datetime = Field(description="When it was indexed, UTC.")
    summary: SeverityCounts = Field(description="Its findings by severity.")
    coverage_pct: float = Field(description="Share of its files that were read in full, in percent.")


class CompareNodesAnswer(ToolAnswer):
    nodes: list[ComparedNode] = Field(description="Nodes that have a bundle.")
    without_bundle: list[str] = Field(description="Nodes that could not be compared: nothing was collected from them.")
    common: list[SharedPattern] = Field(description="What every compared node shows, worst first.")
    partial: list[SharedPattern] = Field(description="What only some of them show, worst first.")
    confidence: Confidence = Field(description="How far this can be trusted.")
    caveat: str = Field(description="What this answer cannot tell; repeat it in a report.")
    coverage_report: Coverage = Field(description="Of all compared bundles together.")


class ClusterHealthRequest(NodeRequest):
    cluster_name: Annotated[
        str,
        Field(
            min_length=1,
            max_length=100,
            pattern=r"^[0-9A-Za-z][0-9A-Za-z_-]*$",
            validation_alias="clusterName",
            serialization_alias="clusterName",
            description="Name of the EKS cluster; `local` for bundles in a folder.",
        ),
    ]


class RankedNode(WireRecord):
    instance_id: EchoedNode
    rank: int = Field(description="1 is the node in the worst state.")
    index_id: str = Field(description="The index it is ranked by.")
    indexed_at: datetime = Field(description="When it was indexed, UTC.")
    summary: SeverityCounts = Field(description="Its findings by severity.")
    worst: list[str] = Field(description="Its worst findings by id and name, at most three; errors has all.")
    gaps: int = Field(description="How many things its index could not see.")


class ClusterHealthAnswer(ToolAnswer):
    cluster_name: str = Field(
        description="The cluster.", validation_alias="clusterName", serialization_alias="clusterName"
    )
    nodes: list[RankedNode] = Field(description="Worst first, as many as fit.")
    nodes_total: int = Field(description="Nodes that have a bundle.")
    without_bundle: list[str] = Field(description="Nodes nothing is known of, at most a hundred of them.")
    without_bundle_total: int = Field(description="How many nodes have no bundle.")
    common: list[SharedPattern] = Field(description="What at least two nodes show, the most widespread first.")
    confidence: Confidence = Field(description="How far this can be trusted.")
    caveat: str = Field(description="What this answer cannot tell; repeat it in a report.")
    coverage_report: Coverage = Field(description="Of all bundles of the cluster together.")
