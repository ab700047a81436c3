"""Tools of an MCP server. Every call stands for itself, as the protocol of 2026 has it; a retry needs no session.

The SDK turns a 401 into a generic error, so the HTTP client notes the status of what it was answered.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Collection, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Protocol, Self, TypeVar

import httpx2
from mcp import Client, MCPError
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import CallToolResult, TextContent

from affidavit.agent.chat.retries import in_thread
from affidavit.agent.errors import McpAuthFailed, McpConnectionFailed, McpInitError
from affidavit.agent.subjects.investigable import Investigable
from affidavit.agent.subjects.registry import investigable
from affidavit.agent.toolbox.tool_providers import EMPTY, Toolbox
from affidavit.errors import AffidavitError, UpstreamFailed
from affidavit.incidents.incident import Incident
from affidavit.ports.json import JsonValue
from affidavit.wire.byte_budget import MOST_BYTES

T = TypeVar("T")
CONNECT_SECONDS = 10.0
HANDSHAKE_SECONDS = 10.0
READ_SECONDS = 30.0
_DENIED = (401, 403)
_BUDGET = "max_bytes"


class ApiKey(Protocol):
    """The bearer key. May raise one of our errors when there is none."""

    def __call__(self, *, refresh: bool) -> str: ...


@dataclass(kw_only=True)
class McpToolProvider:
    """Entering checks that the server is there and has the tools; that is the moment to fail, before any token."""

    url: str
    key: ApiKey
    of: Investigable
    connect_seconds: float = CONNECT_SECONDS
    handshake_seconds: float = HANDSHAKE_SECONDS
    read_seconds: float = READ_SECONDS
    _statuses: list[int] = field(default_factory=list[int], init=False)
    _budgeted: frozenset[str] = field(default=frozenset(), init=False)

    async def __aenter__(self) -> Self:
        offered = await self._asked(_offered_tools)
        missing = sorted(self.of.argument_schemas.keys() - offered.keys())
        if missing:
            raise McpInitError(
                f"the MCP server at {self.url} does not offer {', '.join(missing)}",
                hint=f"start it with the toolset `{self.of.toolset}`",
            )
        self._budgeted = frozenset(name for name, arguments in offered.items() if self._is_budgeted(name, arguments))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass

    async def call_tool(self, name: str, arguments: Mapping[str, JsonValue]) -> str:
        """Whole answers: what the chat model is not shown is recorded all the same.

        Where the question itself says how much is wanted, that holds: all of a bundle would be too much for any view.
        """
        budget = {_BUDGET: MOST_BYTES} if name in self._budgeted else {}
        return _text_of(await self._asked(lambda client: client.call_tool(name, {**arguments, **budget})))

    def _is_budgeted(self, name: str, arguments: Collection[str]) -> bool:
        own = self.of.argument_schemas.get(name)
        return _BUDGET in arguments and own is not None and _BUDGET not in own.model_fields

    async def _asked(self, question: Callable[[Client], Awaitable[T]]) -> T:
        key = await self._key(refresh=False)
        try:
            return await self._asked_with(key, question)
        except McpAuthFailed:
            # The key may have been rotated since it was cached. Once: a wrong key stays wrong.
            return await self._asked_with(await self._key(refresh=True), question)

    async def _key(self, *, refresh: bool) -> str:
        """Without its key the server is out of reach: for a while when the key's store is, else until somebody acts."""
        try:
            async with asyncio.timeout(self.connect_seconds):
                return await in_thread(lambda: self.key(refresh=refresh))
        except TimeoutError as error:
            raise McpConnectionFailed(
                f"the key of the MCP server did not come within {self.connect_seconds:g} s",
                hint="check that Parameter Store can be reached",
            ) from error
        except AffidavitError as error:
            is_outage = isinstance(error, UpstreamFailed) and error.is_retryable
            kind = McpConnectionFailed if is_outage else McpAuthFailed
            raise kind(f"the key of the MCP server cannot be read: {error}", hint=error.hint) from error

    async def _asked_with(self, key: str, question: Callable[[Client], Awaitable[T]]) -> T:
        self._statuses.clear()
        is_ready = False
        try:
            async with self._http(key) as http:
                client = Client(self._transport(http, key), read_timeout_seconds=self.read_seconds)
                # The handshake has a limit of its own, in which the HTTP client connects; the question has another.
                async with asyncio.timeout(self.handshake_seconds) as limit, client:
                    is_ready = True
                    limit.reschedule(None)
                    return await question(client)
        except (MCPError, OSError, TimeoutError, httpx2.HTTPError, ExceptionGroup) as error:
            raise self._failure(error, is_ready=is_ready) from error

    def _http(self, key: str) -> httpx2.AsyncClient:
        async def note(response: httpx2.Response) -> None:
            self._statuses.append(response.status_code)

        return httpx2.AsyncClient(
            headers={"authorization": f"Bearer {key}"},
            timeout=httpx2.Timeout(self.read_seconds, connect=self.connect_seconds),
            event_hooks={"response": [note]},
        )

    def _transport(self, http: httpx2.AsyncClient, key: str) -> AbstractAsyncContextManager[Any]:
        if self.url.rstrip("/").endswith("/sse"):  # servers of before 2025
            return sse_client(self.url, headers={"authorization": f"Bearer {key}"}, timeout=self.connect_seconds)
        return streamable_http_client(self.url, http_client=http)

    def _failure(self, error: Exception, *, is_ready: bool) -> Exception:
        leaves = list(_leaves(error))
        if any(status in _DENIED for status in self._statuses) or any(_is_denial(leaf) for leaf in leaves):
            return McpAuthFailed(
                f"the MCP server at {self.url} refused the key",
                hint="check the parameter that MCP_API_KEY_PARAMETER names",
            )
        if is_ready or not self._statuses or any(status >= 500 for status in self._statuses):
            return McpConnectionFailed(
                f"the MCP server at {self.url} cannot be reached: {_brief(leaves)}",
                hint="check that it runs and that MCP_SERVER_URL is right",
            )
        return McpInitError(
            f"the MCP server at {self.url} answered, but not as one: {_brief(leaves)}",
            hint="check that MCP_SERVER_URL points at its /mcp path",
        )


def mcp_toolbox(url: str, key: ApiKey) -> Toolbox:
    def open_for(incident: Incident) -> McpToolProvider:
        return McpToolProvider(url=url, key=key, of=investigable(incident.subject.kind))

    return open_for


async def _offered_tools(client: Client) -> dict[str, frozenset[str]]:
    """The names of the tools, each with those of its arguments."""
    listed = (await client.list_tools()).tools
    return {tool.name: frozenset(tool.input_schema.get("properties", {})) for tool in listed}


def _text_of(result: CallToolResult) -> str:
    """Structured content where there is some, else the text; a tool's own failure in our error variant."""
    text = "\n".join(part.text for part in result.content if isinstance(part, TextContent)).strip()
    structured: Mapping[str, Any] = result.structured_content or {}
    if result.is_error and not structured.get("error"):
        return json.dumps({"error": text or "the tool failed without saying why"})
    if structured:
        return json.dumps(structured)
    return text or EMPTY


def _leaves(error: BaseException) -> list[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        return [leaf for member in error.exceptions for leaf in _leaves(member)]  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType, reportUnknownArgumentType] - groups of unknown members
    return [error]


def _is_denial(error: BaseException) -> bool:
    return isinstance(error, httpx2.HTTPStatusError) and error.response.status_code in _DENIED


def _brief(leaves: list[BaseException]) -> str:
    return "; ".join(dict.fromkeys(f"{type(leaf).__name__} {leaf}".strip() for leaf in leaves))[:300]
