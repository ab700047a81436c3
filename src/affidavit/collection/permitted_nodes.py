"""Decides what may be collected: only if collection is on, and only nodes of listed clusters. In doubt, it refuses."""

from dataclasses import dataclass

from affidavit.collection.tool_dependencies import Desk
from affidavit.errors import InputRefused, NotFound
from affidavit.ports.node_collector import NodeCollector
from affidavit.ports.node_directory import NodeDirectory


@dataclass(frozen=True, kw_only=True, slots=True)
class NodePlace:
    region: str
    cluster: str


def require_enabled(desk: Desk) -> None:
    if not desk.is_enabled:
        raise InputRefused(
            "collecting from nodes is switched off on this server",
            hint="an operator can set ENABLE_COLLECTION=true and name clusters in ALLOWED_CLUSTERS; "
            "bundles that are there already can be questioned without it",
        )


def require_listed(cluster: str, desk: Desk) -> None:
    if cluster not in desk.clusters:
        raise InputRefused(
            f"nodes of cluster {cluster} may not be collected here",
            hint="ask an operator to add it to ALLOWED_CLUSTERS",
        )


def collector_of(desk: Desk) -> NodeCollector:
    if desk.collector is None:
        raise InputRefused("this server cannot reach nodes", hint="collection needs AWS: set LOGS_BUCKET and a region")
    return desk.collector


def directory_of(desk: Desk) -> NodeDirectory:
    if desk.directory is None:
        raise InputRefused("this server cannot list nodes", hint="collection needs AWS: set LOGS_BUCKET and a region")
    return desk.directory


def permitted_place(instance_id: str, region: str | None, desk: Desk) -> NodePlace:
    """Where the node is, when it may be collected. Raises InputRefused, also when its cluster is unknown."""
    directory = directory_of(desk)
    region = region or directory.region_of(instance_id)
    if region is None:
        raise NotFound(f"no region has an instance {instance_id}", hint="check the id, or give the region")
    cluster = directory.cluster_of(instance_id, region=region)
    if cluster is None:
        raise InputRefused(
            f"{instance_id} in {region} is not known to belong to a cluster, so it may not be collected",
            hint="check id and region; a worker node carries the tag kubernetes.io/cluster/NAME or eks:cluster-name",
        )
    require_listed(cluster, desk)
    return NodePlace(region=region, cluster=cluster)
