"""The tools `status` and `cancel`: how far a collection is, and stopping it."""

from affidavit.collection.execution_status import TASK_STATES, Seen, look
from affidavit.collection.permitted_nodes import collector_of
from affidavit.collection.requests import CancelRequest, StatusRequest
from affidavit.collection.rows import KnownExecution
from affidavit.collection.start import find_execution
from affidavit.collection.task_state import TaskState, a_task
from affidavit.collection.tool_answers import Progress, StatusAnswer, StepProgress
from affidavit.collection.tool_dependencies import Desk
from affidavit.errors import Conflict
from affidavit.ports.node_collector import Step

INDEXING = "Index the bundle"


def status(request: StatusRequest, desk: Desk) -> StatusAnswer:
    """Raises NotFound for an execution that was not started here, or that SSM has forgotten."""
    known = find_execution(request.execution_id, desk)
    return _answer(known, look(known, desk))


def cancel(request: CancelRequest, desk: Desk) -> StatusAnswer:
    """What has ended already stays as it is. Raises NotFound like `status`."""
    known = find_execution(request.execution_id, desk)
    return _answer(known, _stop(known, look(known, desk), desk))


def _stop(known: KnownExecution, seen: Seen, desk: Desk) -> Seen:
    ssm_status = seen.execution.status if seen.execution is not None else "Pending"
    if TASK_STATES.get(ssm_status, TaskState.WORKING) is not TaskState.WORKING:
        return _with_note(seen, "there was nothing left to stop")
    try:
        collector_of(desk).stop(known.execution_id, region=known.region)
    except Conflict:  # it ended after we looked
        return _with_note(look(known, desk), "it ended before it could be stopped")
    after = look(known, desk)
    return after if after.state.has_ended else _with_note(after, "it has been asked to stop; ask status again")


def _with_note(seen: Seen, note: str) -> Seen:
    return Seen(state=seen.state, message=f"{seen.message}; {note}", execution=seen.execution)


def _answer(known: KnownExecution, seen: Seen) -> StatusAnswer:
    execution = seen.execution
    return StatusAnswer(
        task=a_task(known.execution_id, seen.state, seen.message),
        progress=_progress(seen),
        execution_id=known.execution_id,
        instance_id=known.instance_id,
        region=known.region,
        collection_status=execution.status if execution is not None else "Pending",
        started_at=execution.started if execution is not None else None,
        ended_at=execution.ended if execution is not None else None,
    )


def _progress(seen: Seen) -> Progress:
    steps = [*(seen.execution.steps if seen.execution is not None else ()), _indexing(seen)]
    done = sum(step.status == "Success" for step in steps)
    return Progress(
        steps_done=done,
        steps_total=len(steps),
        percent=100 * done // len(steps),
        current_step=next((step.name for step in steps if step.status == "InProgress"), None),
        steps=[StepProgress(name=step.name, status=step.status) for step in steps],
    )


def _indexing(seen: Seen) -> Step:
    if seen.execution is None or seen.execution.status != "Success":
        return Step(name=INDEXING, status="Pending")
    words = {TaskState.COMPLETED: "Success", TaskState.FAILED: "Failed"}
    return Step(name=INDEXING, status=words.get(seen.state, "InProgress"))
