"""Stop reading requests from a client that does not read its answers: they would pile up in memory."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Any, Final, cast

import anyio
from mcp.shared.message import SessionMessage

# Answers that wait to be written. Until one is, no further request is read.
MOST_WAITING: Final = 16


class Gate:
    """Open while fewer than `MOST_WAITING` answers wait."""

    def __init__(self) -> None:
        self._waiting = 0
        self._opened = anyio.Event()

    async def passed(self) -> None:
        while self._waiting >= MOST_WAITING:
            self._opened = anyio.Event()
            await self._opened.wait()

    @asynccontextmanager
    async def writing(self) -> AsyncGenerator[None]:
        self._waiting += 1
        try:
            yield
        finally:
            self._waiting -= 1
            self._opened.set()


class _Stream:
    """What both wrappers hand on to the stream they wrap."""

    def __init__(self, inner: Any, gate: Gate) -> None:
        self._inner, self._gate = inner, gate

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> bool | None:
        await self._inner.__aexit__(exc_type, exc_val, exc_tb)
        return None


class GatedRequests(_Stream):
    async def receive(self) -> SessionMessage | Exception:
        await self._gate.passed()
        return cast("SessionMessage | Exception", await self._inner.receive())

    @property
    def last_context(self) -> Any:
        """Of whoever sent the last message; the library runs its handler in it."""
        return getattr(self._inner, "last_context", None)

    def __aiter__(self) -> "GatedRequests":
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> "GatedRequests":
        await self._inner.__aenter__()
        return self


class GatedAnswers(_Stream):
    async def send(self, item: SessionMessage, /) -> None:
        async with self._gate.writing():
            await self._inner.send(item)

    async def __aenter__(self) -> "GatedAnswers":
        await self._inner.__aenter__()
        return self


def gated(requests: Any, answers: Any) -> tuple[GatedRequests, GatedAnswers]:
    """The streams of one connection, such that requests wait while answers do."""
    gate = Gate()
    return GatedRequests(requests, gate), GatedAnswers(answers, gate)
