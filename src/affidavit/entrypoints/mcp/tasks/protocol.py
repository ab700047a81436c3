"""Tasks on the wire, in both eras: the extension of 2026-07-28 and the core feature of 2025-11-25."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import anyio
import mcp.types as types
from mcp import MCPError
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.types.jsonrpc import MISSING_REQUIRED_CLIENT_CAPABILITY
from pydantic import Field

from affidavit.entrypoints.mcp.callers import Caller, caller_of
from affidavit.entrypoints.mcp.calls import CallOutcome
from affidavit.entrypoints.mcp.scopes import AccessScope
from affidavit.entrypoints.mcp.tasks.followed_collections import FAILED, FOLLOWED, Tasks, result_of
from affidavit.entrypoints.mcp.tasks.rows import LIFE, TaskRow
from affidavit.entrypoints.mcp.tool_errors import failure
from affidavit.entrypoints.mcp.tools.results import tool_result
from affidavit.entrypoints.mcp.tools.tool import Tool
from affidavit.errors import AffidavitError, NotFound

EXTENSION: Final = "io.modelcontextprotocol/tasks"
MODERN: Final = frozenset({"2026-07-28"})
LEGACY: Final = frozenset({"2025-11-25"})
_RELATED: Final = "io.modelcontextprotocol/related-task"
_POLL_MS: Final = 15_000
_LIFE_MS: Final = int(LIFE.total_seconds() * 1000)
# `tasks/result` of the older era waits for the end; this often it looks.
_LOOK_SECONDS: Final = 2.0

Context = ServerRequestContext[Any, Any]


class TaskParams(types.RequestParams):
    task_id: str


class UpdateParams(TaskParams):
    input_responses: dict[str, Any] = Field(default_factory=dict[str, Any])


@dataclass(frozen=True, kw_only=True)
class TaskProtocol:
    tasks: Tasks
    look_seconds: float = _LOOK_SECONDS

    def install(self, server: Server[Any]) -> None:
        server.extensions[EXTENSION] = {}
        server.add_request_handler("tasks/get", TaskParams, self.get)
        server.add_request_handler("tasks/update", UpdateParams, self.update)
        server.add_request_handler("tasks/cancel", TaskParams, self.cancel)
        server.add_request_handler("tasks/result", TaskParams, self.result)
        server.middleware.append(self.bridge)

    # --- 2026-07-28: the server decides, for clients that say they understand ----------------------------------------

    async def begin(self, ctx: Context, tool: Tool, arguments: dict[str, Any]) -> dict[str, Any] | None:
        """None when this call is to be answered the plain way."""
        if tool.name not in FOLLOWED or ctx.protocol_version not in MODERN or not _understands(ctx):
            return None
        row = await self._begin(tool, arguments, caller_of(ctx))
        if row.status == FAILED:
            return tool_result(CallOutcome(content=row.content, is_error=True))
        return {"resultType": "task", **_modern(row)}

    async def get(self, ctx: Context, params: TaskParams) -> HandlerResult:
        _require_extension(ctx)
        row = await self._row(params, caller_of(ctx))
        if ctx.protocol_version not in MODERN:
            return _legacy(row)
        return {**_modern(row), **_ending(row)}

    async def update(self, ctx: Context, params: UpdateParams) -> HandlerResult:
        """Our tasks ask for no input; the answer only says that the task is known."""
        _only(ctx, MODERN, "tasks/update")
        _require_extension(ctx)
        await self._row(params, caller_of(ctx))
        return {}

    async def cancel(self, ctx: Context, params: TaskParams) -> HandlerResult:
        _require_extension(ctx)
        caller = caller_of(ctx)
        before = await self._row(params, caller)
        if not caller.may(AccessScope.COLLECT):
            raise MCPError(code=types.INVALID_REQUEST, message="this token may not stop a collection")
        if ctx.protocol_version not in MODERN and before.has_ended:
            raise MCPError(code=types.INVALID_PARAMS, message=f"the task has ended: {before.status}")
        row = await _answered(partial(self.tasks.cancel, params.task_id, caller.name))
        return {} if ctx.protocol_version in MODERN else _legacy(row)

    # --- 2025-11-25: the client asks with `params.task`, and fetches the result --------------------------------------

    async def result(self, ctx: Context, params: TaskParams) -> HandlerResult:
        _only(ctx, LEGACY, "tasks/result")
        row = await self._row(params, caller_of(ctx))
        while not row.has_ended:
            await anyio.sleep(self.look_seconds)
            row = await self._row(params, caller_of(ctx))
        result = tool_result(result_of(row))
        return {**result, "_meta": {_RELATED: {"taskId": row.task_id}}}

    async def bridge(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        """What the older era adds to shapes that the library writes: it would strip these fields from a handler's."""
        if ctx.method == "initialize":
            return _with_capability(await call_next(ctx))
        if ctx.protocol_version not in LEGACY:
            return await call_next(ctx)
        if ctx.method == "tools/list":
            return _with_support(await call_next(ctx))
        if ctx.method == "tools/call" and ctx.params and ctx.params.get("task") is not None:
            return await self._begin_legacy(ctx, ctx.params)
        return await call_next(ctx)

    async def _begin_legacy(self, ctx: Context, params: Any) -> HandlerResult:
        call = types.CallToolRequestParams.model_validate(params)
        tool = self.tasks.calls.tools.get(call.name)
        if tool is None or tool.name not in FOLLOWED:
            raise MCPError(code=types.METHOD_NOT_FOUND, message=f"{call.name} cannot run as a task")
        return {"task": _legacy(await self._begin(tool, call.arguments or {}, caller_of(ctx)))}

    async def _begin(self, tool: Tool, arguments: dict[str, Any], caller: Caller) -> TaskRow:
        return await _answered(partial(self.tasks.begin, tool, arguments, owner=caller.name, scopes=caller.scopes))

    async def _row(self, params: TaskParams, caller: Caller) -> TaskRow:
        return await _answered(partial(self.tasks.get, params.task_id, caller.name))


async def _answered(work: Callable[[], TaskRow]) -> TaskRow:
    """Protocol errors say what tool errors would have said."""
    try:
        return await anyio.to_thread.run_sync(work)
    except AffidavitError as error:
        said = failure(error, "tasks")
        code = types.INVALID_PARAMS if isinstance(error, NotFound) else types.INTERNAL_ERROR
        raise MCPError(
            code=code, message="; ".join(str(said[part]) for part in ("error", "hint") if said[part]), data=said
        ) from error


def _understands(ctx: Context) -> bool:
    capabilities = ctx.session.client_capabilities
    return bool(capabilities and capabilities.extensions and EXTENSION in capabilities.extensions)


def _require_extension(ctx: Context) -> None:
    """In the modern era tasks are an extension, and every request says which ones its client knows."""
    if ctx.protocol_version in MODERN and not _understands(ctx):
        needed = types.ClientCapabilities(extensions={EXTENSION: {}})
        raise MCPError(
            code=MISSING_REQUIRED_CLIENT_CAPABILITY,
            message=f"this client did not declare the extension {EXTENSION}",
            data={"requiredCapabilities": needed.model_dump(by_alias=True, mode="json", exclude_none=True)},
        )


def _only(ctx: Context, versions: frozenset[str], method: str) -> None:
    if ctx.protocol_version not in versions:
        raise MCPError(code=types.METHOD_NOT_FOUND, message="Method not found", data=method)


def _modern(row: TaskRow) -> dict[str, Any]:
    return {**_described(row), "ttlMs": _LIFE_MS, "pollIntervalMs": _POLL_MS}


def _legacy(row: TaskRow) -> dict[str, Any]:
    return {**_described(row), "ttl": _LIFE_MS, "pollInterval": _POLL_MS}


def _described(row: TaskRow) -> dict[str, Any]:
    return {
        "taskId": row.task_id,
        "status": row.status,
        "statusMessage": row.message,
        "createdAt": row.created.isoformat(),
        "lastUpdatedAt": row.updated.isoformat(),
    }


def _ending(row: TaskRow) -> dict[str, Any]:
    """Result or error stand in the task itself."""
    if not row.has_ended:
        return {}
    outcome = result_of(row)
    if outcome.is_error:
        said = str(outcome.content.get("error", row.message))
        error = {"code": types.INTERNAL_ERROR, "message": said, "data": outcome.content}
        return {"error": error} if row.status == FAILED else {}
    return {"result": tool_result(outcome)}


def _with_capability(result: HandlerResult) -> HandlerResult:
    if not isinstance(result, dict) or result.get("protocolVersion") not in LEGACY:
        return result
    tasks: dict[str, Any] = {"cancel": {}, "requests": {"tools": {"call": {}}}}
    return {**result, "capabilities": {**result["capabilities"], "tasks": tasks}}


def _with_support(result: HandlerResult) -> HandlerResult:
    if not isinstance(result, dict):
        return result
    tools = [
        {**tool, "execution": {"taskSupport": "optional"}} if tool["name"] in FOLLOWED else tool
        for tool in result["tools"]
    ]
    return {**result, "tools": tools}
