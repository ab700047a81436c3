"""The tool `collect`: starts a collection on one node, or returns the one that a call with the same token started."""

from affidavit.collection.execution_status import look
from affidavit.collection.permitted_nodes import permitted_place, require_enabled, require_listed
from affidavit.collection.requests import CollectRequest
from affidavit.collection.reservation import find_reservation, find_shared_token, shared_token
from affidavit.collection.rows import KnownExecution, recent_key
from affidavit.collection.start import Started, find_execution, start_once
from affidavit.collection.task_state import POLL_SECONDS, Task, TaskState, a_task
from affidavit.collection.tool_answers import CollectAnswer
from affidavit.collection.tool_dependencies import Desk
from affidavit.errors import AffidavitError


def collect(request: CollectRequest, desk: Desk) -> CollectAnswer:
    """Returns as soon as SSM has taken the order.

    Raises:
        InputRefused: collection is off, or the node's cluster is unknown or not on the list.
        Conflict: another call with this token has not finished starting; asking again later tells.
    """
    require_enabled(desk)
    started = _started_before(request, desk) or _start(request, desk)
    execution = started.execution
    return CollectAnswer(
        task=_new_task(execution) if started.is_ours else _known_task(execution, desk),
        execution_id=execution.execution_id,
        instance_id=execution.instance_id,
        region=execution.region,
        idempotency_key=execution.token,
        idempotent=not started.is_ours,
    )


def _started_before(request: CollectRequest, desk: Desk) -> Started | None:
    """The execution of an earlier call, also when the node no longer exists."""
    token = request.idempotency_token or find_shared_token(recent_key(request.instance_id), desk)
    known = find_reservation(request.instance_id, token, desk) if token is not None else None
    if known is None or known.execution_id is None:
        return None
    require_listed(known.cluster, desk)
    return Started(execution=find_execution(known.execution_id, desk), is_ours=False)


def _start(request: CollectRequest, desk: Desk) -> Started:
    place = permitted_place(request.instance_id, request.region, desk)
    token = request.idempotency_token or shared_token(recent_key(request.instance_id), desk)
    return start_once(request.instance_id, token, place, desk)


def _new_task(execution: KnownExecution) -> Task:
    message = f"the collection of {execution.instance_id} has started; ask status in {POLL_SECONDS} seconds"
    return a_task(execution.execution_id, TaskState.WORKING, message)


def _known_task(execution: KnownExecution, desk: Desk) -> Task:
    """The caller wants the id, so an unreadable state is no reason to fail."""
    try:
        seen = look(execution, desk)
    except AffidavitError as error:
        message = f"it was started before; its state could not be read just now ({error}); ask status"
        return a_task(execution.execution_id, TaskState.WORKING, message)
    message = f"it was started before: {seen.message} (another idempotencyToken starts another collection)"
    return a_task(execution.execution_id, seen.state, message)
