"""Where tool answers come from: an MCP server, or this process. Both give text, and nobody trusts it unchecked."""

import json
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol, Self

from affidavit.agent.chat.retries import in_thread
from affidavit.incidents.incident import Incident
from affidavit.ports.json import JsonValue
from affidavit.redaction.answer import redact_answer
from affidavit.redaction.redact import Redactor

EMPTY = json.dumps({"error": "Tool returned empty response"})


class ToolProvider(Protocol):
    async def call_tool(self, name: str, arguments: Mapping[str, JsonValue]) -> str:
        """The answer as JSON text. An answer that says `error` is one; raising means that nobody could be asked."""
        ...


Toolbox = Callable[[Incident], AbstractAsyncContextManager[ToolProvider]]
"""Opens the tools for one incident. Entering connects, so that a run without tools fails before it costs a token."""


class Answering(Protocol):
    def answer(self, tool: str, arguments: Mapping[str, JsonValue]) -> Mapping[str, JsonValue]:
        """The answer as JSON, in its ok or its error variant."""
        ...


@dataclass(frozen=True)
class DirectToolProvider:
    """Asks in this process: the laptop's way, with no server between."""

    answering: Answering

    async def call_tool(self, name: str, arguments: Mapping[str, JsonValue]) -> str:
        answer = await in_thread(lambda: self._answer(name, arguments))
        return json.dumps(answer) if answer else EMPTY

    def _answer(self, name: str, arguments: Mapping[str, JsonValue]) -> Mapping[str, JsonValue]:
        """Secrets are hidden before anything is recorded or shown to a chat model, as the MCP server does it."""
        answer = self.answering.answer(name, arguments)
        return redact_answer(answer, Redactor())[0]

    async def __aenter__(self) -> Self:
        # Its patterns compile for a second: once, before several answers at a time ask for it.
        await in_thread(lambda: Redactor().redact("warm"))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass
