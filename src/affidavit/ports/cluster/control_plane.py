"""What the API of a Kubernetes cluster says about a node. It reads, and changes nothing."""

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from affidavit.ports.cluster.api_connection import ClusterPlace


@dataclass(frozen=True, kw_only=True, slots=True)
class NodeCondition:
    """`status` is the API's own word: True, False or Unknown."""

    type: str
    status: str
    reason: str
    message: str
    since: datetime | None
    heard_at: datetime | None


@dataclass(frozen=True, kw_only=True, slots=True)
class NodeEvent:
    type: str
    reason: str
    message: str
    count: int
    last_at: datetime | None


@dataclass(frozen=True, kw_only=True, slots=True)
class PodOnNode:
    """`reason` says why it is not well, in the API's own word: Evicted, CrashLoopBackOff; empty when nobody says."""

    namespace: str
    name: str
    phase: str
    reason: str
    restarts: int
    is_ready: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class NodeSeen:
    """A node as the control plane sees it. `pods_complete` and `events_complete` are False when there were more."""

    name: str
    is_schedulable: bool
    taints: tuple[str, ...]
    conditions: tuple[NodeCondition, ...]
    events: tuple[NodeEvent, ...]
    pods: tuple[PodOnNode, ...]
    events_complete: bool
    pods_complete: bool


class ControlPlane(Protocol):
    def node_name(self, instance_id: str, *, place: ClusterPlace) -> str | None:
        """The name under which this instance is a node of the cluster; None when it is none."""
        ...

    def node_seen(self, name: str, *, place: ClusterPlace) -> NodeSeen:
        """Raises NotFound when the cluster has no such node."""
        ...
