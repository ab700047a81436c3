"""Runs a tool call in a thread while the client waits: sends progress, and stops when the client disconnects."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import anyio
import anyio.to_thread
import mcp.types as types
from mcp import MCPError
from mcp.server.context import ServerRequestContext
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from affidavit.progress import Waiting, waited_for_by

_LOOK_SECONDS: Final = 0.25
_ANSWERED_HERE: Final = "affidavit.answered_here"

Result = TypeVar("Result")


async def while_waited_for(ctx: ServerRequestContext[Any, Any], work: Callable[[], Result]) -> Result:
    """Runs `work` in a thread, which ends within a second when the request is cancelled or the client disconnects.

    The protocol of 2025 lets a client reconnect for an answer that the server kept. This server keeps none.
    """
    progress = _Progress(ctx)
    waiting = Waiting(progress.note)
    outcome: list[Result] = []
    failed: list[Exception] = []

    def working() -> None:
        try:
            with waited_for_by(waiting):
                outcome.append(work())
        except Exception as error:  # noqa: BLE001  # raised again below: a task group would wrap it
            failed.append(error)

    try:
        async with anyio.create_task_group() as beside:
            beside.start_soon(progress.send_on)
            beside.start_soon(_until_gone, ctx.request, beside.cancel_scope)
            await anyio.to_thread.run_sync(working, abandon_on_cancel=True)
            beside.cancel_scope.cancel()
    finally:
        waiting.abandon()
    if failed:
        raise failed[0]
    if not outcome:
        raise MCPError(code=types.INTERNAL_ERROR, message="the client disconnected")
    await progress.send()
    return outcome[0]


def answered_here(app: ASGIApp) -> ASGIApp:
    """Mark requests whose own response carries the answer: when their client disconnects, nobody waits for it."""

    async def marked(scope: Scope, receive: Receive, send: Send) -> None:
        await app({**scope, _ANSWERED_HERE: True}, receive, send)

    return marked


async def _until_gone(request: object, waiting: anyio.CancelScope) -> None:
    if not isinstance(request, Request) or _ANSWERED_HERE not in request.scope:
        return
    # The body has been read, so all that is left to come is the end.
    while (await request.receive())["type"] != "http.disconnect":
        pass
    waiting.cancel()


@dataclass(frozen=True, kw_only=True)
class _Step:
    done: float
    total: float | None
    message: str


class _Progress:
    """The newest step that the thread noted. The thread never waits for the client to read."""

    def __init__(self, ctx: ServerRequestContext[Any, Any]) -> None:
        self._ctx = ctx
        self._newest: _Step | None = None
        self._sent: _Step | None = None

    def note(self, done: float, total: float | None, message: str) -> None:
        self._newest = _Step(done=done, total=total, message=message)

    async def send_on(self) -> None:
        while True:
            await anyio.sleep(_LOOK_SECONDS)
            await self.send()

    async def send(self) -> None:
        step = self._newest
        # Progress has to grow, and threads that work side by side may note out of order.
        if step is None or (self._sent is not None and step.done <= self._sent.done):
            return
        self._sent = step
        await self._ctx.session.report_progress(step.done, step.total, step.message)
