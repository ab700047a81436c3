"""Looks whether a node is well again: its cluster says Ready, with news of after the change."""

from dataclasses import dataclass
from datetime import datetime

from affidavit.errors import EvidenceUnavailable, NotFound
from affidavit.evidence.incident_subject import SubjectKind
from affidavit.ports.cluster.api_connection import ClusterPlace
from affidavit.ports.cluster.control_plane import ControlPlane
from affidavit.ports.node_directory import NodeDirectory
from affidavit.remediation.execution.function_symptoms import SymptomReader, SymptomSeen
from affidavit.remediation.plan.plan_record import Symptom


@dataclass(frozen=True, kw_only=True)
class NodeReadiness:
    """A `SymptomReader` of nodes. A node that is gone was replaced: that its group is whole, the read-back showed."""

    directory: NodeDirectory
    control_plane: ControlPlane | None
    region: str

    def look(self, symptom: Symptom, *, since: datetime) -> SymptomSeen:
        cluster = self.directory.cluster_of(symptom.subject.id, region=self.region)
        name = self.directory.name_of(symptom.subject.id, region=self.region)
        if cluster is None or name is None:
            return SymptomSeen(good=1, bad=0, is_complete=True)
        if self.control_plane is None:
            raise EvidenceUnavailable("nobody can ask the cluster whether the node is Ready", hint="KUBERNETES_API=eks")
        try:
            seen = self.control_plane.node_seen(name, place=ClusterPlace(cluster=cluster, region=self.region))
        except NotFound:
            return SymptomSeen(good=0, bad=0, is_complete=True)
        news = [one for one in seen.conditions if one.type == "Ready" and one.heard_at and one.heard_at >= since]
        # Not Ready right after a restart is no failure yet: the window decides.
        return SymptomSeen(good=sum(one.status == "True" for one in news), bad=0, is_complete=True)


@dataclass(frozen=True, kw_only=True)
class SymptomsByKind:
    """A `SymptomReader` that asks the one of the subject's kind."""

    functions: SymptomReader
    nodes: SymptomReader

    def look(self, symptom: Symptom, *, since: datetime) -> SymptomSeen:
        match symptom.subject.kind:
            case SubjectKind.FUNCTION:
                return self.functions.look(symptom, since=since)
            case SubjectKind.NODE:
                return self.nodes.look(symptom, since=since)
