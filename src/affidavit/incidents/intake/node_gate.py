"""Decides which instance an alert about a node means, and whether this supervisor may look at it.

A node's name becomes an instance id once, when its incident is opened, and is stored with it. Whose node it is, AWS's
tags say: an alert that names the cluster of another is refused, however it came.
"""

from dataclasses import dataclass, replace

from affidavit.errors import InputRefused
from affidavit.evidence.incident_subject import Subject, SubjectKind
from affidavit.incidents.incident import Incident, Signal
from affidavit.incidents.intake.alert_incident import INSTANCE_ID
from affidavit.incidents.intake.other_account_alerts import ForeignAlert
from affidavit.ports.node_directory import NodeDirectory


class NoNodeOfOurs(InputRefused):
    """EC2 tells of every instance of the account; this one belongs to no cluster."""


@dataclass(frozen=True, kw_only=True)
class NodeGate:
    """Without a directory every node that is named by its instance id is let in: a laptop knows no clusters."""

    directory: NodeDirectory | None = None
    region: str = ""
    clusters: frozenset[str] = frozenset()
    """Nodes of these may be looked at."""

    def placed(self, alert: Incident) -> Incident:
        """The alert with its instance and cluster as AWS has them. Raises ForeignAlert or NoNodeOfOurs."""
        if alert.subject.kind is not SubjectKind.NODE:
            return alert
        instance = self._instance(alert)
        named = "" if instance == alert.subject.id else alert.subject.id
        return replace(
            alert,
            subject=Subject(kind=SubjectKind.NODE, id=instance),
            resources=(instance,),
            region=alert.region or self.region,
            node_name=alert.node_name or named,
            cluster=self._cluster(alert, instance),
        )

    def _instance(self, alert: Incident) -> str:
        name = alert.subject.id
        # Nodes named by resource, and those of Auto Mode, carry their instance id in the name.
        told = name.partition(".")[0]
        if INSTANCE_ID.fullmatch(told):
            return told
        if self.directory is None:
            raise ForeignAlert(
                f"the alert names node {name}, and nobody here can tell which instance that is",
                hint="name it by its instance id",
            )
        found = self.directory.instance_named(name, region=alert.region or self.region)
        if found is None:
            raise ForeignAlert(
                f"no one instance of {alert.region or self.region} has the name {name}",
                hint="check the name; a node that is gone for an hour must be named by its instance id",
            )
        return found

    def _cluster(self, alert: Incident, instance: str) -> str:
        if self.directory is None:
            return alert.cluster
        cluster = self.directory.cluster_of(instance, region=alert.region or self.region)
        if cluster is None and alert.signal is Signal.NODE_EVENT:
            raise NoNodeOfOurs(f"{instance} is not known to belong to a cluster", hint="nothing is to be done")
        if cluster is None:
            raise ForeignAlert(
                f"{instance} is not known to belong to a cluster, so it is not looked at",
                hint="check the id; a worker node carries the tag kubernetes.io/cluster/NAME or eks:cluster-name",
            )
        if cluster not in self.clusters:
            raise ForeignAlert(
                f"{instance} is a node of cluster {cluster}, which is not one of ALLOWED_CLUSTERS",
                hint="ask an operator to add it to ALLOWED_CLUSTERS",
            )
        if alert.cluster and alert.cluster != cluster:
            raise ForeignAlert(
                f"the alert names {instance} as a node of cluster {alert.cluster}, and it is one of {cluster}",
                hint="look for who sent it: another cluster may have a node of the same name",
            )
        return cluster
