"""The second way to a node's logs: the EKS node monitoring agent uploads them. For Auto Mode, or if SSM's agent is out.

A `NodeDiagnostic` object is named as its node, so there is one at most. One that somebody else made is left alone; an
earlier one of ours that has ended makes room.
"""

from dataclasses import dataclass
from datetime import timedelta

from affidavit.errors import NotFound
from affidavit.incidents.evidence.node_evidence_port import CollectionStanding, CollectionState
from affidavit.incidents.incident import Incident
from affidavit.node_evidence.archive_state import Archives, archive_name
from affidavit.node_evidence.climb_records import Climb, RungName
from affidavit.ports.cluster.api_connection import ClusterPlace
from affidavit.ports.cluster.control_plane import ControlPlane
from affidavit.ports.cluster.log_captures import LogCapture, NodeCaptures
from affidavit.ports.object_store import UploadLinks

# The agent may begin late and still has to upload; the link is of no use to anybody after that.
LINK_SECONDS = 900


@dataclass(frozen=True, kw_only=True)
class DiagnosticRung:
    captures: NodeCaptures
    control_plane: ControlPlane
    links: UploadLinks
    archives: Archives
    name: RungName = RungName.NODE_DIAGNOSTIC
    asks_node: bool = True
    patience: timedelta = timedelta(minutes=8)

    def stand(self, incident: Incident, climb: Climb) -> CollectionStanding:
        place = ClusterPlace(cluster=incident.cluster, region=incident.region)
        key = archive_name(incident.subject.id, climb.token, "nodediagnostic")
        node_name = self._node_name(incident, place)
        found = self.captures.find(node_name, place=place)
        if found is not None and found.token == climb.token:
            return self._of_ours(found, key)
        if found is not None and not found.is_ours:
            says = f"there is a NodeDiagnostic of somebody else's for {node_name}, which is left alone"
            return CollectionStanding(state=CollectionState.FAILED, says=says)
        if found is not None and not found.has_ended:
            return _working("the agent still collects for an earlier incident")
        if found is not None:
            self.captures.forget(found, place=place)
        link = self.links.upload_link(key, seconds=LINK_SECONDS)
        self.captures.ask(node_name, place=place, token=climb.token, destination=link)
        return _working("the node monitoring agent was asked")

    def _node_name(self, incident: Incident, place: ClusterPlace) -> str:
        name = self.control_plane.node_name(incident.subject.id, place=place)
        if name is None:
            raise NotFound(f"{incident.subject.id} is no node of cluster {place.cluster} any more")
        return name

    def _of_ours(self, found: LogCapture, key: str) -> CollectionStanding:
        if not found.has_ended:
            return _working(found.says)
        if not found.has_succeeded:
            return CollectionStanding(state=CollectionState.FAILED, says=f"the agent could not: {found.says}")
        archived = self.archives.standing(key, finished_at=found.finished_at)
        return archived or CollectionStanding(
            state=CollectionState.FAILED, says="the agent says that it uploaded, and there is no archive in the bucket"
        )


def _working(says: str) -> CollectionStanding:
    return CollectionStanding(state=CollectionState.WORKING, says=says)
