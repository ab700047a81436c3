"""Has the evidence of nodes: what is stored, and what a collection through SSM brings."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from affidavit.collection.collect import collect
from affidavit.collection.execution_status import look
from affidavit.collection.requests import CollectRequest, StatusRequest
from affidavit.collection.rows import history_of
from affidavit.collection.service import Desk
from affidavit.collection.start import find_execution
from affidavit.collection.status import status
from affidavit.collection.tasks import TaskState
from affidavit.errors import AffidavitError, Conflict, Throttled, UpstreamFailed
from affidavit.incidents.evidence.node_evidence import (
    BundleAtHand,
    CollectionStanding,
    CollectionState,
    collection_token,
)
from affidavit.incidents.incident import Incident
from affidavit.node_evidence.stored_bundles import StoredBundles
from affidavit.nodes.library.cluster_nodes import recorded_nodes
from affidavit.ports.objects import ObjectStore
from affidavit.ports.table import Table

MOST_PEERS = 4
# Collections of a node that are looked at to tell which bundles it made itself.
MOST_EXECUTIONS = 10


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
    """Asks a node for its bundle through the collection runbook, once for each incident."""

    desk: Desk

    def bundles(self, instance_id: str) -> Sequence[BundleAtHand]:
        return StoredBundles(objects=self.objects).of(instance_id, collected=self._collected(instance_id))

    def collect(self, incident: Incident) -> CollectionStanding:
        try:
            request = CollectRequest(
                instance_id=incident.subject.id,
                idempotency_token=collection_token(incident),
                region=incident.region or None,
            )
            answer = collect(request, self.desk)
        except (Conflict, Throttled) as error:
            return _still(f"{error}; it is asked again")
        except UpstreamFailed as error:
            return _still(f"{error}; it is asked again") if error.is_retryable else _refused(error)
        except AffidavitError as error:
            return _refused(error)
        return self._standing(answer.execution_id, answer.task.state, answer.task.message)

    def _standing(self, execution_id: str, state: TaskState, says: str) -> CollectionStanding:
        match state:
            case TaskState.COMPLETED:
                index_id = self._index_of(execution_id)
                return CollectionStanding(state=CollectionState.DONE, says=says, index_id=index_id)
            case TaskState.FAILED | TaskState.CANCELLED:
                return CollectionStanding(state=CollectionState.FAILED, says=says)
            case _:
                return replace(_still(says), is_saved=self._is_saved(execution_id))

    def _is_saved(self, execution_id: str) -> bool:
        """SSM is done, and only the indexing is not."""
        try:
            return status(StatusRequest(execution_id=execution_id), self.desk).collection_status == "Success"
        except AffidavitError:
            return False

    def _collected(self, instance_id: str) -> frozenset[str]:
        """Indexes of what our own collections of this node delivered."""
        rows = self.desk.state.query(history_of(instance_id), newest_first=True, limit=MOST_EXECUTIONS)
        return frozenset(index for row in rows if (index := self._index_of(str(row["execution_id"]))) is not None)

    def _index_of(self, execution_id: str) -> str | None:
        try:
            known = find_execution(execution_id, self.desk)
            if known.state is None:
                look(known, self.desk)
                known = find_execution(execution_id, self.desk)
        except AffidavitError:
            return None
        return known.index_id


def _still(says: str) -> CollectionStanding:
    return CollectionStanding(state=CollectionState.WORKING, says=says)


def _refused(error: AffidavitError) -> CollectionStanding:
    says = f"{error}; {error.hint}" if error.hint else str(error)
    return CollectionStanding(state=CollectionState.REFUSED, says=says)
