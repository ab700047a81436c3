"""The first way to a node's logs: AWS's collection runbook, which Systems Manager runs on the node."""

from dataclasses import dataclass, replace
from datetime import timedelta

from affidavit.collection.collect import collect
from affidavit.collection.execution_status import look, remembered_or_look
from affidavit.collection.requests import CollectRequest, StatusRequest
from affidavit.collection.rows import history_of
from affidavit.collection.start import find_execution
from affidavit.collection.status_and_cancel import status
from affidavit.collection.task_state import TaskState
from affidavit.collection.tool_dependencies import Desk
from affidavit.errors import AffidavitError
from affidavit.incidents.evidence.node_evidence_port import CollectionStanding, CollectionState
from affidavit.incidents.incident import Incident
from affidavit.node_evidence.climb_records import Climb, RungName

# Collections of a node that are looked at to tell which bundles it made itself.
MOST_EXECUTIONS = 10


@dataclass(frozen=True, kw_only=True)
class SsmRung:
    desk: Desk
    name: RungName = RungName.SSM_RUNBOOK
    asks_node: bool = True
    # The collector lets each command run 75 s. Of the 15 minutes that an incident waits, some are left for the rest.
    patience: timedelta = timedelta(minutes=11)

    def stand(self, incident: Incident, climb: Climb) -> CollectionStanding:
        request = CollectRequest(
            instance_id=incident.subject.id, idempotency_token=climb.token, region=incident.region or None
        )
        answer = collect(request, self.desk)
        return self._standing(answer.execution_id, answer.task.state, answer.task.message)

    def delivered(self, instance_id: str) -> frozenset[str]:
        """Indexes of what our own executions on this node delivered."""
        rows = self.desk.state.query(history_of(instance_id), newest_first=True, limit=MOST_EXECUTIONS)
        return frozenset(index for row in rows if (index := self._index_of(str(row["execution_id"]))) is not None)

    def _standing(self, execution_id: str, state: TaskState, says: str) -> CollectionStanding:
        match state:
            case TaskState.COMPLETED:
                index_id = self._index_of(execution_id)
                return CollectionStanding(state=CollectionState.DONE, says=says, index_id=index_id)
            case TaskState.FAILED | TaskState.CANCELLED:
                why = remembered_or_look(find_execution(execution_id, self.desk), self.desk).message
                is_stopped = state is TaskState.CANCELLED
                return CollectionStanding(state=CollectionState.FAILED, says=why, spares_node=is_stopped)
            case _:
                working = CollectionStanding(state=CollectionState.WORKING, says=says)
                return replace(working, is_saved=self._is_saved(execution_id))

    def _is_saved(self, execution_id: str) -> bool:
        """SSM is done, and only the indexing is not."""
        try:
            return status(StatusRequest(execution_id=execution_id), self.desk).collection_status == "Success"
        except AffidavitError:
            return False

    def _index_of(self, execution_id: str) -> str | None:
        try:
            known = find_execution(execution_id, self.desk)
            if known.state is None:
                look(known, self.desk)
                known = find_execution(execution_id, self.desk)
        except AffidavitError:
            return None
        return known.index_id
