"""Long work as MCP tasks: a task is a collection (or a batch) that somebody else runs, looked at again when asked.

Nothing runs in the server between two requests, so nothing is lost when it stops.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from affidavit.entrypoints.mcp.calls import CallOutcome, Calls
from affidavit.entrypoints.mcp.scopes import AccessScope
from affidavit.entrypoints.mcp.tasks.rows import WORKING, TaskRow, TaskRows
from affidavit.entrypoints.mcp.tool_errors import shape
from affidavit.entrypoints.mcp.tools.tool import Tool
from affidavit.errors import UpstreamFailed
from affidavit.wire.byte_budget import MOST_BYTES

CANCELLED: Final = "cancelled"
COMPLETED: Final = "completed"
FAILED: Final = "failed"


@dataclass(frozen=True, kw_only=True)
class _Follow:
    """The tool that says where the work stands, and the field that names the work in both."""

    tool: str
    field: str


FOLLOWED: Final = {
    "collect": _Follow(tool="status", field="executionId"),
    "batch_collect": _Follow(tool="batch_status", field="batchId"),
}


@dataclass(frozen=True, kw_only=True)
class Tasks:
    calls: Calls
    rows: TaskRows

    def begin(self, tool: Tool, arguments: Mapping[str, Any], *, owner: str, scopes: frozenset[AccessScope]) -> TaskRow:
        outcome = self.calls.call(tool, arguments, scopes=scopes)
        status, message = _standing(outcome)
        content = dict(outcome.content)
        return self.rows.add(tool=tool.name, owner=owner, status=status, message=message, content=content)

    def get(self, task_id: str, owner: str) -> TaskRow:
        """Raises NotFound."""
        row = self.rows.get(task_id, owner)
        return row if row.has_ended else self._seen(row, self._look(row))

    def cancel(self, task_id: str, owner: str) -> TaskRow:
        """What had ended before stays as it ended. Raises NotFound, and UpstreamFailed when it could not be stopped."""
        row = self.get(task_id, owner)
        if row.has_ended:
            return row
        stops = [self._stop(execution) for execution in self._executions(row)]
        _refuse_failed(stops)
        row = self._seen(row, self._look(row))
        if row.has_ended:
            return row
        return self.rows.change(row, status=CANCELLED, message=_word_on(stops), content=row.content)

    def _look(self, row: TaskRow) -> CallOutcome:
        follow = FOLLOWED[row.tool]
        return self.calls.call(self.calls.tools[follow.tool], {follow.field: row.content[follow.field]})

    def _stop(self, execution_id: str) -> CallOutcome:
        return self.calls.call(self.calls.tools["cancel"], {"executionId": execution_id})

    def _executions(self, row: TaskRow) -> list[str]:
        if row.tool == "collect":
            return [str(row.content["executionId"])]
        # What the row holds may be shortened; every node has to be stopped.
        asked = {"batchId": row.content["batchId"], "max_bytes": MOST_BYTES}
        batch = self.calls.call(self.calls.tools["batch_status"], asked)
        nodes = cast("list[dict[str, Any]]", batch.content.get("nodes", []))
        return [str(node["executionId"]) for node in nodes if node.get("executionId") and node.get("state") == WORKING]

    def _seen(self, row: TaskRow, outcome: CallOutcome) -> TaskRow:
        """A state that cannot be read just now is no reason to end a task."""
        if outcome.is_error and outcome.content.get("statusCode") != 404:
            return row
        status, message = _standing(outcome)
        content = outcome.content if outcome.is_error else _merged(row.content, outcome.content)
        return self.rows.change(row, status=status, message=message, content=content)


def result_of(row: TaskRow) -> CallOutcome:
    """What the call would have answered, had it waited."""
    if row.status == COMPLETED or row.content.get("success") is False:
        return CallOutcome(content=row.content, is_error=row.content.get("success") is False)
    return CallOutcome(
        content=shape(
            424, f"the collection was {row.status}: {row.message}", "collect again with a new idempotencyToken"
        ),
        is_error=True,
    )


def _refuse_failed(stops: Sequence[CallOutcome]) -> None:
    failed = [stop.content for stop in stops if stop.is_error]
    if failed:
        raise UpstreamFailed(
            f"{len(failed)} of {len(stops)} collections could not be stopped: {failed[0]['error']}",
            hint="cancel the task again; what was stopped stays so",
            is_retryable=True,
        )


def _word_on(stops: Sequence[CallOutcome]) -> str:
    """Of one collection what status says: perhaps there was nothing left to stop, and its bundle will be indexed."""
    return _standing(stops[0])[1] if len(stops) == 1 else f"{len(stops)} collections have been asked to stop"


def _standing(outcome: CallOutcome) -> tuple[str, str]:
    if outcome.is_error:
        return FAILED, str(outcome.content.get("error", ""))
    task = outcome.content.get("task")
    if not isinstance(task, Mapping):
        return COMPLETED, ""
    return str(task.get("state", WORKING)), str(task.get("message", ""))


def _merged(begun: dict[str, Any], now: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of the first answer with what is known now: the result keeps the shape of the tool that was called."""
    return {name: now.get(name, value) for name, value in begun.items()}
