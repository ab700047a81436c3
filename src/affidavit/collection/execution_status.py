"""Tells how far an execution is: SSM's status of the collection, then whether its bundle has been indexed."""

from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from affidavit.collection.permitted_nodes import collector_of
from affidavit.collection.rows import KnownExecution, execution_key
from affidavit.collection.task_state import TaskState
from affidavit.collection.tool_dependencies import Desk
from affidavit.errors import AffidavitError, NotFound
from affidavit.ports.node_collector import Execution
from affidavit.ports.table import Lacks, Update

TASK_STATES: Final = {
    "Pending": TaskState.WORKING,
    "InProgress": TaskState.WORKING,
    "Waiting": TaskState.WORKING,
    "Success": TaskState.COMPLETED,
    "TimedOut": TaskState.FAILED,
    "Failed": TaskState.FAILED,
    "Cancelling": TaskState.CANCELLED,
    "Cancelled": TaskState.CANCELLED,
}
FINAL_STATUSES: Final = {"Success", "TimedOut", "Failed", "Cancelled"}
# SSM may not show an execution at once after starting it.
VISIBLE_AFTER: Final = timedelta(minutes=2)
# Indexing a large bundle takes a minute or two. While it is retried, no failure is recorded.
INDEXED_WITHIN: Final = timedelta(minutes=15)


@dataclass(frozen=True, kw_only=True, slots=True)
class Seen:
    state: TaskState
    message: str
    execution: Execution | None
    """None while SSM does not show it yet, and when the state was read from our table."""


def look(known: KnownExecution, desk: Desk) -> Seen:
    """Raises NotFound when SSM has forgotten the execution."""
    execution = collector_of(desk).find(known.execution_id, region=known.region)
    if execution is None:
        return _unseen(known, desk)
    seen = _judge(known, execution, desk)
    _remember(known, seen, desk)
    return seen


def remembered_or_look(known: KnownExecution, desk: Desk) -> Seen:
    """For lists: does not ask SSM again about an execution that has ended."""
    if known.state is not None:
        return Seen(state=known.state, message=known.message, execution=None)
    return look(known, desk)


def _unseen(known: KnownExecution, desk: Desk) -> Seen:
    if desk.clock.now() - known.recorded_at < VISIBLE_AFTER:
        return Seen(state=TaskState.WORKING, message="it was started; SSM does not show it yet", execution=None)
    raise NotFound(
        f"SSM in {known.region} does not know execution {known.execution_id} any more",
        hint="collect the node again with a new idempotencyToken",
    )


def _judge(known: KnownExecution, execution: Execution, desk: Desk) -> Seen:
    state = TASK_STATES.get(execution.status, TaskState.WORKING)
    if state is TaskState.COMPLETED:
        return _judge_index(known, execution, desk)
    return Seen(state=state, message=_word(execution, state), execution=execution)


def _judge_index(known: KnownExecution, execution: Execution, desk: Desk) -> Seen:
    # Once indexed, always indexed: a later bundle may have replaced the archive.
    if known.state is TaskState.COMPLETED or desk.index.is_indexed(known.instance_id, execution):
        doubt = desk.index.doubt(known.instance_id, execution)
        told = f"collected and indexed; call quick_triage for {known.instance_id}"
        message = f"{told}; {doubt}" if doubt else told
        return Seen(state=TaskState.COMPLETED, message=message, execution=execution)
    failure = desk.index.failure(known.instance_id, execution)
    if failure is not None:
        message = f"collected, but the bundle could not be indexed: {failure}"
        return Seen(state=TaskState.FAILED, message=message, execution=execution)
    return Seen(state=TaskState.WORKING, message=_word_on_indexing(execution, desk), execution=execution)


def _word(execution: Execution, state: TaskState) -> str:
    match state:
        case TaskState.FAILED:
            return f"the collection ended as {execution.status}: {execution.failure or 'SSM gives no reason'}"
        case TaskState.CANCELLED:
            return (
                "the collection is being stopped" if execution.status == "Cancelling" else "the collection was stopped"
            )
        case _:
            return _word_on_working(execution)


def _word_on_working(execution: Execution) -> str:
    if execution.status not in TASK_STATES:
        return f"SSM says {execution.status!r}, a state not known here; taken as still working"
    running = next((step.name for step in execution.steps if step.status == "InProgress"), None)
    return f"{execution.status}: {running}" if running else f"{execution.status}: collecting on the node"


def _word_on_indexing(execution: Execution, desk: Desk) -> str:
    waited = desk.clock.now() - execution.ended if execution.ended is not None else timedelta()
    if waited < INDEXED_WITHIN:
        return "collected; the bundle is being indexed"
    minutes = int(waited.total_seconds() // 60)
    return f"collected {minutes} minutes ago and still not indexed; an operator should look for a failed ingest"


def _delivered(known: KnownExecution, seen: Seen, desk: Desk) -> dict[str, str]:
    """Remembered now: a later upload under the same name is none of this execution's."""
    if seen.state is not TaskState.COMPLETED or seen.execution is None:
        return {}
    index_id = desk.index.index_of(known.instance_id, seen.execution)
    return {} if index_id is None else {"index_id": index_id}


def _remember(known: KnownExecution, seen: Seen, desk: Desk) -> None:
    """A failed indexing may still be repaired, so only success is final after a collection."""
    is_final = seen.execution is not None and seen.execution.status in FINAL_STATUSES and seen.state.has_ended
    is_repairable = seen.state is TaskState.FAILED and seen.execution is not None and seen.execution.status == "Success"
    if known.state is not None or not is_final or is_repairable:
        return
    # This only saves a later call to SSM; the present answer does not need it.
    with suppress(AffidavitError):
        desk.state.write(
            Update(
                key=execution_key(known.execution_id),
                set={"state": seen.state, "message": seen.message, **_delivered(known, seen, desk)},
                when=Lacks("state"),
            )
        )
