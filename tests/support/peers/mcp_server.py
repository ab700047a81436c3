"""An MCP server in this process, over a folder of bundles and a fleet in memory."""

import socket
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import mcp.types as types
import uvicorn
from mcp.client import ClaimContext, ClientExtension, ResultClaim
from starlette.applications import Starlette

from affidavit.adapters.local.objects import DirectoryObjectStore
from affidavit.adapters.local.table import SqliteTable
from affidavit.entrypoints.mcp.bundles_folder import BundleFolder
from affidavit.entrypoints.mcp.calls import Calls
from affidavit.entrypoints.mcp.services import Services, Shelves
from affidavit.entrypoints.mcp.tasks.protocol import EXTENSION
from affidavit.entrypoints.mcp.tools.catalog import TOOLS
from affidavit.entrypoints.mcp.tools.tool import Tool
from affidavit.knowledge import load_knowledge
from affidavit.nodes.library.indexed_bundles import Library
from affidavit.ports.clock import SystemClock
from affidavit.redaction.redact import Redactor
from tests.support.fleet import Fleet


def calls_over(
    folder: Path,
    *,
    fleet: Fleet | None = None,
    tools: Sequence[Tool] = TOOLS,
    allows_debug: bool = False,
    redactor: Redactor | None = None,
) -> Calls:
    """`folder` holds bundles; the library lies in `folder/.affidavit`."""
    clock = SystemClock()
    kept = folder / ".affidavit"
    state = fleet.table if fleet is not None else SqliteTable(kept / "state.sqlite", "state", clock)

    def shelves() -> Shelves:
        objects = DirectoryObjectStore(kept / "objects")
        library = Library(objects=objects, state=state, clock=clock, knowledge=load_knowledge())
        return Shelves(library=library, folder=BundleFolder(path=folder, library=library))

    opened: list[Shelves] = []

    def once() -> Shelves:
        if not opened:
            opened.append(shelves())
        return opened[0]

    return Calls(
        services=Services(
            state=state,
            clock=fleet.clock if fleet is not None else clock,
            shelves=once,
            desk=fleet.desk if fleet is not None else None,
        ),
        redactor=redactor or Redactor(),
        tools={tool.name: tool for tool in tools},
        allows_debug=allows_debug,
    )


# --- over real HTTP --------------------------------------------------------------------------------------------------


@contextmanager
def serving(app: Starlette, **config: Any) -> Iterator[str]:
    """The address of `app`, served by uvicorn in a thread."""
    # With its protocol named asyncio sends at once; else every answer waits 40 ms for an acknowledgement.
    listener = socket.socket(proto=socket.IPPROTO_TCP)
    listener.bind(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", **config))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(timeout=10)


# --- a client that understands the tasks of 2026-07-28 ---------------------------------------------------------------


class TaskHandle(types.Result):
    result_type: Literal["task"] = "task"
    task_id: str
    status: str
    status_message: str = ""
    poll_interval_ms: int = 0


class TaskId(types.RequestParams):
    task_id: str


class GetTask(types.Request[TaskId, Literal["tasks/get"]]):
    method: Literal["tasks/get"] = "tasks/get"
    params: TaskId
    name_param = "taskId"


class CancelTask(types.Request[TaskId, Literal["tasks/cancel"]]):
    method: Literal["tasks/cancel"] = "tasks/cancel"
    params: TaskId
    name_param = "taskId"


class TaskState(types.Result):
    task_id: str
    status: str
    status_message: str = ""
    result: dict[str, Any] | None = None
    error: dict[str, Any] | None = None


class TasksClient(ClientExtension):
    identifier = EXTENSION

    def claims(self) -> list[ResultClaim]:
        return [ResultClaim(result_type="task", model=TaskHandle, resolve=self._unused)]

    async def _unused(self, handle: TaskHandle, ctx: ClaimContext) -> types.CallToolResult:
        raise AssertionError("tests take the handle themselves")
