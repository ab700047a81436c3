"""Gets the evidence of a node: a stored bundle, or one that a collection brings."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import assert_never

from affidavit.incidents.evidence.node_evidence_port import BundleAtHand, CollectionStanding, CollectionState
from affidavit.incidents.incident import Incident
from affidavit.node_evidence.climb_records import RungName
from affidavit.node_evidence.ladder import Ladder
from affidavit.node_evidence.ssm_rung import SsmRung
from affidavit.node_evidence.stored_bundles import StoredBundles
from affidavit.nodes.library.cluster_nodes import recorded_nodes
from affidavit.ports.object_store import ObjectStore
from affidavit.ports.table import Table

MOST_PEERS = 4


@dataclass(frozen=True, kw_only=True)
class StoredNodeEvidence:
    """What lies here, and nobody to ask for more: a laptop, or a deployment that may not collect."""

    objects: ObjectStore
    state: Table
    why_not: str = "collection is switched off here (ENABLE_COLLECTION)"

    def bundles(self, instance_id: str) -> Sequence[BundleAtHand]:
        return StoredBundles(objects=self.objects).of(instance_id, collected=frozenset())

    def collect(self, incident: Incident) -> CollectionStanding:
        return CollectionStanding(state=CollectionState.REFUSED, says=self.why_not)

    def peers(self, incident: Incident) -> Sequence[str]:
        nodes = recorded_nodes(self.state, incident.cluster) if incident.cluster else []
        return [node for node in nodes if node != incident.subject.id][:MOST_PEERS]


@dataclass(frozen=True, kw_only=True)
class CollectedNodeEvidence(StoredNodeEvidence):
    """Gets a node's bundle by the first way that works, once for each incident."""

    ssm: SsmRung
    ladder: Ladder

    def bundles(self, instance_id: str) -> Sequence[BundleAtHand]:
        climbed = {climb.index_id: climb.rung for climb in self.ladder.climbs.of_node(instance_id) if climb.index_id}
        collected = self.ssm.delivered(instance_id)
        by_ssm = {index for index, rung in climbed.items() if rung is RungName.SSM_RUNBOOK}
        stored = StoredBundles(objects=self.objects).of(
            instance_id, collected=collected | by_ssm, climbed=frozenset(climbed) - by_ssm
        )
        return [replace(one, partial=_partial(climbed.get(one.index_id))) for one in stored]

    def collect(self, incident: Incident) -> CollectionStanding:
        return self.ladder.stand(incident)


def _partial(rung: RungName | None) -> str:
    """What a bundle is that a later rung brought, when it is not the node's own."""
    match rung:
        case RungName.CONSOLE_OUTPUT:
            return "only the serial console of the node was to be had: what its daemons logged was not seen"
        case RungName.HOST_LOGS:
            return "only what the node had sent to CloudWatch Logs was to be had: its other files were not seen"
        case None | RungName.SSM_RUNBOOK | RungName.NODE_DIAGNOSTIC:
            return ""
        case _:
            assert_never(rung)
