"""The real MCP client against the real command, kept open for a whole test module."""

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx2
import jsonschema
import mcp.types as types
from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from affidavit.entrypoints.mcp.calls import Calls
from affidavit.entrypoints.mcp.server import build_server

KEY = "a-key-for-tests-0123456789"
DEFAULT_BYTES = 24 << 10
# One line of a file is never cut, however long it is.
ONE_LINE = frozenset({"read"})
ERROR = {"success", "statusCode", "error", "hint"}


@dataclass(frozen=True, kw_only=True)
class Talk:
    """Calls tools and holds every answer against what the server published."""

    client: Client
    portal: BlockingPortal
    tools: Mapping[str, types.Tool]
    validators: dict[str, jsonschema.Draft202012Validator] = field(default_factory=dict)

    def ask(self, tool: str, **arguments: object) -> dict[str, Any]:
        """The answer, which fits its schema and says whether it is cut."""
        result = self._call(tool, arguments)
        content = result.structured_content
        assert not result.is_error, (tool, arguments, content)
        self._validator(tool).validate(content)
        assert len(result.content[0].text) <= arguments.get("max_bytes", DEFAULT_BYTES) or tool in ONE_LINE, tool
        assert content["success"] is True and isinstance(content["truncated"], bool), (tool, content.keys())
        assert content["truncated"] == ("truncation_info" in content), (tool, content["truncated"])
        return content

    def refused(self, tool: str, **arguments: object) -> dict[str, Any]:
        """The error, which has the shape of all errors."""
        result = self._call(tool, arguments)
        assert result.is_error, (tool, arguments, result.structured_content)
        assert result.structured_content is None, "clients hold it against the schema of answers, and lose the error"
        content = json.loads(result.content[0].text)
        assert set(content) == ERROR and content["success"] is False, content
        assert content["error"] and content["hint"] and isinstance(content["statusCode"], int), content
        return content

    def answered(self, tool: str, **arguments: object) -> dict[str, Any]:
        """The answer or the error, which has the shape it must have."""
        result = self._call(tool, arguments)
        content = result.structured_content
        if result.is_error:
            content = json.loads(result.content[0].text)
            assert set(content) == ERROR and content["success"] is False, content
        else:
            self._validator(tool).validate(content)
            assert content["success"] is True, content
        return content

    def resources(self) -> list[types.Resource]:
        return self.portal.call(self.client.list_resources).resources

    def resource(self, uri: str) -> str:
        return self.portal.call(self.client.read_resource, uri).contents[0].text

    def _call(self, tool: str, arguments: Mapping[str, object]) -> types.CallToolResult:
        return self.portal.call(self.client.call_tool, tool, dict(arguments))

    def _validator(self, tool: str) -> jsonschema.Draft202012Validator:
        if tool not in self.validators:
            self.validators[tool] = jsonschema.Draft202012Validator(self.tools[tool].output_schema)
        return self.validators[tool]


@contextmanager
def over_stdio(arguments: Sequence[str], environment: Mapping[str, str]) -> Iterator[Talk]:
    env = {**os.environ, **environment}
    server = StdioServerParameters(command=sys.executable, args=["-m", "affidavit", "mcp", *arguments], env=env)
    with _talking(lambda: Client(server)) as talk:
        yield talk


@contextmanager
def over_http(arguments: Sequence[str], environment: Mapping[str, str]) -> Iterator[Talk]:
    port = _free_port()
    command = [sys.executable, "-m", "affidavit", "mcp", "--http", "--port", str(port), *arguments]
    # Tests ask faster than a client may.
    settings = {"MCP_API_KEY": KEY, "MCP_REQUESTS_PER_MINUTE": "1000000"}
    process = subprocess.Popen(command, env={**os.environ, **environment, **settings})
    url = f"http://127.0.0.1:{port}"
    try:
        _wait_for(url, process)
        with _talking(lambda: _http_client(url)) as talk:
            yield talk
    finally:
        process.terminate()
        process.wait(timeout=30)


@contextmanager
def in_memory(calls: Calls) -> Iterator[Talk]:
    """The same client and server without a process between them, where there are many servers."""
    with _talking(lambda: Client(build_server(calls))) as talk:
        yield talk


@asynccontextmanager
async def _http_client(url: str):
    headers = {"Authorization": f"Bearer {KEY}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=120) as http,
        Client(streamable_http_client(f"{url}/mcp", http_client=http)) as client,
    ):
        yield client


@contextmanager
def _talking(client_of: Any) -> Iterator[Talk]:
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(client_of()) as client:
        listed = portal.call(client.list_tools).tools
        yield Talk(client=client, portal=portal, tools={tool.name: tool for tool in listed})


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _wait_for(url: str, process: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < deadline:
        try:
            httpx2.get(f"{url}/health")
            return
        except httpx2.TransportError:
            time.sleep(0.05)
    raise AssertionError("the server did not start")


def wait_until(seen: Any, *, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not seen():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.05)
