"""The source of repairs of a node: the node itself. Its id, its group and our own document are all that they name."""

from collections.abc import Callable
from dataclasses import dataclass

from affidavit.errors import NotFound
from affidavit.ports.argument_sources import SourceDocument
from affidavit.ports.aws_reads_and_changes import StateReader
from affidavit.ports.clock import Clock
from affidavit.ports.json import Item
from affidavit.ports.node_directory import NodeDirectory
from affidavit.remediation.actions.nodes.pinned_document import deployed_document
from affidavit.remediation.actions.nodes.scaling_group_health import group_of
from affidavit.remediation.sources.source_documents import of_node


@dataclass(frozen=True, kw_only=True)
class NodeIdentity:
    """`has_evidence` tells whether a bundle of an instance is stored."""

    reader: StateReader
    directory: NodeDirectory
    allowed_clusters: frozenset[str]
    region: str
    clock: Clock
    has_evidence: Callable[[str], bool]

    def of(self, instance_id: str) -> SourceDocument:
        """Raises NotFound for a node that is gone, or belongs to no cluster that may be touched."""
        cluster = self.directory.cluster_of(instance_id, region=self.region)
        if cluster is None or cluster not in self.allowed_clusters:
            raise NotFound(f"{instance_id} belongs to no allowed cluster", hint="see ALLOWED_CLUSTERS")
        account = str(self.reader.read("sts", "get_caller_identity")["Account"])
        document: Item = {
            "instance_id": instance_id,
            "instance_arn": f"arn:{_partition(self.region)}:ec2:{self.region}:{account}:instance/{instance_id}",
            "cluster": cluster,
            "group": self._group(instance_id),
            "document": deployed_document(self.reader),
            "has_evidence": self.has_evidence(instance_id),
        }
        return of_node(document, at=self.clock.now())

    def _group(self, instance_id: str) -> Item | None:
        group = group_of(instance_id, self.reader)
        return None if group is None else {"name": group["AutoScalingGroupName"], "arn": group["AutoScalingGroupARN"]}


def _partition(region: str) -> str:
    return {"cn": "aws-cn", "us-gov": "aws-us-gov"}.get(region.rsplit("-", 2)[0], "aws")
