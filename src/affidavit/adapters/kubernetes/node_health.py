"""What a cluster's API says about a node: its conditions, its events, the pods on it."""

from collections.abc import Iterator

from affidavit.adapters.kubernetes.api import ApiCalls, ClusterApis, cluster_errors
from affidavit.adapters.kubernetes.object_models import (
    ConditionShape,
    ContainerStatus,
    EventList,
    EventShape,
    NodeList,
    NodeShape,
    PodList,
    PodShape,
)
from affidavit.errors import NotFound, UpstreamFailed
from affidavit.ports.cluster.api_connection import ClusterPlace
from affidavit.ports.cluster.control_plane import NodeCondition, NodeEvent, NodeSeen, PodOnNode

_PAGE = 500
# A node runs at most some 250 pods, and events are kept for an hour.
_MOST = 500
# Kubernetes is tested with 5,000 nodes.
_MOST_PAGES = 40
_QUIET_REASONS = ("", "Completed", "ContainerCreating")


class KubernetesControlPlane:
    def __init__(self, apis: ClusterApis) -> None:
        self._apis = apis

    def node_name(self, instance_id: str, *, place: ClusterPlace) -> str | None:
        """Auto Mode, and nodes named by resource, have the instance's id as their name; else all are looked at."""
        try:
            node = self._node(instance_id, place)
        except NotFound:
            with cluster_errors(f"nodes of {place.cluster}"):
                found = _nodes(self._apis.of(place))
                return next((node.metadata.name for node in found if _is_of(node, instance_id)), None)
        return node.metadata.name if _is_of(node, instance_id) else None

    def node_seen(self, name: str, *, place: ClusterPlace) -> NodeSeen:
        about = f"involvedObject.kind=Node,involvedObject.name={name}"
        node = self._node(name, place)
        with cluster_errors(f"node {name}"):
            api = self._apis.of(place)
            events = api.read(EventList, "list_event_for_all_namespaces", field_selector=about, limit=_MOST)
            pods = api.read(PodList, "list_pod_for_all_namespaces", field_selector=f"spec.nodeName={name}", limit=_MOST)
        return NodeSeen(
            name=name,
            is_schedulable=not node.spec.unschedulable,
            taints=tuple(map(str, node.spec.taints)),
            conditions=tuple(map(_condition, node.status.conditions)),
            events=tuple(sorted(map(_event, events.items), key=_newest_first)),
            pods=tuple(map(_pod, pods.items)),
            events_complete=not events.metadata.rest,
            pods_complete=not pods.metadata.rest,
        )

    def _node(self, name: str, place: ClusterPlace) -> NodeShape:
        with cluster_errors(f"node {name}"):
            return self._apis.of(place).read(NodeShape, "read_node", name)


def _nodes(api: ApiCalls) -> Iterator[NodeShape]:
    page = api.read(NodeList, "list_node", limit=_PAGE)
    yield from page.items
    for _ in range(_MOST_PAGES):
        if not page.metadata.rest:
            return
        page = api.read(NodeList, "list_node", limit=_PAGE, _continue=page.metadata.rest)
        yield from page.items
    raise UpstreamFailed("the cluster has more nodes than are looked through", hint="name the node in the alert")


def _is_of(node: NodeShape, instance_id: str) -> bool:
    """EKS names the instance as `aws:///zone/i-…`; a node's name alone proves nothing."""
    return node.spec.provider_id.rpartition("/")[2] == instance_id


def _condition(given: ConditionShape) -> NodeCondition:
    return NodeCondition(
        type=given.type,
        status=given.status,
        reason=given.reason,
        message=given.message,
        since=given.last_transition_time,
        heard_at=given.last_heartbeat_time,
    )


def _event(given: EventShape) -> NodeEvent:
    series = given.series
    seen = series.last_observed_time if series is not None else None
    counted = series.count if series is not None else None
    return NodeEvent(
        type=given.type,
        reason=given.reason,
        message=given.message,
        count=counted or given.count or 1,
        last_at=seen or given.last_timestamp or given.event_time,
    )


def _newest_first(event: NodeEvent) -> float:
    return -event.last_at.timestamp() if event.last_at is not None else 0.0


def _pod(given: PodShape) -> PodOnNode:
    status = given.status
    return PodOnNode(
        namespace=given.metadata.namespace,
        name=given.metadata.name,
        phase=status.phase,
        reason=status.reason or next(_reasons(status.container_statuses), ""),
        restarts=sum(one.restart_count for one in status.container_statuses),
        is_ready=any(one.type == "Ready" and one.status == "True" for one in status.conditions),
    )


def _reasons(containers: list[ContainerStatus]) -> Iterator[str]:
    """Of what waits or ended, now or the last time; the present first."""
    for container in containers:
        for state in filter(None, (container.state, container.last_state)):
            for given in filter(None, (state.waiting, state.terminated)):
                if given.reason not in _QUIET_REASONS:
                    yield given.reason
