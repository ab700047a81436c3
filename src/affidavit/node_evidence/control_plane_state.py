"""Asks the API of a node's cluster how the node looks from there: conditions, events, pods that are not well."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from affidavit.errors import AffidavitError
from affidavit.incidents.incident import Incident
from affidavit.ports.cluster.api_connection import ClusterPlace
from affidavit.ports.cluster.control_plane import ControlPlane, NodeCondition, NodeEvent, NodeSeen, PodOnNode
from affidavit.ports.json import JsonValue

# Enough to see what is wrong, and little enough for a prompt.
MOST_EVENTS, MOST_PODS = 20, 20
LONGEST_MESSAGE = 300


@dataclass(frozen=True, kw_only=True)
class ControlPlaneStates:
    control_plane: ControlPlane

    def state(self, incident: Incident) -> Mapping[str, JsonValue]:
        asked: dict[str, JsonValue] = {"instanceId": incident.subject.id, "cluster": incident.cluster}
        place = ClusterPlace(cluster=incident.cluster, region=incident.region)
        try:
            name = self.control_plane.node_name(incident.subject.id, place=place)
            if name is None:
                return {**asked, "is_node": False}
            return {**asked, "is_node": True, **_told(self.control_plane.node_seen(name, place=place))}
        except AffidavitError as error:
            return {**asked, "error": f"{error}; {error.hint}" if error.hint else str(error)}


def _told(seen: NodeSeen) -> Mapping[str, JsonValue]:
    unwell = [pod for pod in seen.pods if pod.reason or pod.restarts or not pod.is_ready]
    return {
        "node_name": seen.name,
        "is_schedulable": seen.is_schedulable,
        "taints": list(seen.taints),
        "conditions": [_condition(one) for one in seen.conditions],
        "events": [_event(one) for one in seen.events[:MOST_EVENTS]],
        "events_total": len(seen.events),
        "pods_unwell": [_pod(one) for one in unwell[:MOST_PODS]],
        "pods_unwell_total": len(unwell),
        "pods_total": len(seen.pods),
        "is_complete": seen.events_complete and seen.pods_complete,
    }


def _condition(one: NodeCondition) -> JsonValue:
    return {
        "type": one.type,
        "status": one.status,
        "reason": one.reason,
        "message": _shown(one.message),
        "since": _iso(one.since),
        "heard_at": _iso(one.heard_at),
    }


def _event(one: NodeEvent) -> JsonValue:
    return {
        "type": one.type,
        "reason": one.reason,
        "message": _shown(one.message),
        "count": one.count,
        "last_at": _iso(one.last_at),
    }


def _pod(one: PodOnNode) -> JsonValue:
    return {
        "namespace": one.namespace,
        "name": one.name,
        "phase": one.phase,
        "reason": one.reason,
        "restarts": one.restarts,
        "is_ready": one.is_ready,
    }


def _shown(message: str) -> str:
    """A message can quote whatever a program was started with."""
    # Its patterns take a while to load, and most alerts need none.
    from affidavit.redaction.redact import Redactor

    return Redactor().redact(message).text[:LONGEST_MESSAGE]


def _iso(moment: datetime | None) -> str | None:
    return moment.isoformat() if moment is not None else None
