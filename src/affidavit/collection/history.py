"""The tool `history`: lists the collections of the last two days, newest first."""

from affidavit.collection.execution_status import remembered_or_look
from affidavit.collection.requests import HistoryRequest
from affidavit.collection.rows import EXECUTION_LIFE, KnownExecution, execution_key, history_of
from affidavit.collection.task_state import TaskState
from affidavit.collection.tool_answers import HistoryAnswer, PastCollection
from affidavit.collection.tool_dependencies import Desk
from affidavit.errors import AffidavitError
from affidavit.ports.json import Item
from affidavit.wire.byte_budget import fit
from affidavit.wire.records import cut


def history(request: HistoryRequest, desk: Desk) -> HistoryAnswer:
    """A state that cannot be read is null with its reason; the others are listed all the same."""
    rows = desk.state.query(history_of(request.instance_id), newest_first=True, limit=request.limit + 1)
    listed = [_past(item, desk) for item in rows[: request.limit]]

    def with_collections(most: int) -> HistoryAnswer:
        is_cut = most < len(listed) or len(rows) > request.limit
        step = "ask again with a larger limit or max_bytes, or with an instanceId"
        return HistoryAnswer(
            collections=listed[:most],
            retention_hours=int(EXECUTION_LIFE.total_seconds() // 3600),
            truncated=is_cut,
            truncation_info=cut(None, most, step) if is_cut else None,
        )

    return fit(with_collections, len(listed), request.max_bytes)


def _past(item: Item, desk: Desk) -> PastCollection:
    listed = KnownExecution.of(item)
    state, message = state_now(listed.execution_id, listed, desk)
    return PastCollection(
        execution_id=listed.execution_id,
        instance_id=listed.instance_id,
        region=listed.region,
        state=state,
        message=message,
        recorded_at=listed.recorded_at,
        idempotency_key=listed.token,
    )


def state_now(execution_id: str, listed: KnownExecution | None, desk: Desk) -> tuple[TaskState | None, str]:
    try:
        item = desk.state.get(execution_key(execution_id))
        known = KnownExecution.of(item) if item is not None else listed
        if known is None:
            return None, f"execution {execution_id} is forgotten here"
        seen = remembered_or_look(known, desk)
    except AffidavitError as error:
        return None, f"its state could not be read: {error}"
    return seen.state, seen.message
