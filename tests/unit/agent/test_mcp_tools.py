"""Tools over a real MCP server on this machine, and over servers that are not there or not right."""

import asyncio
import json
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
import uvicorn
from mcp.server.mcpserver import MCPServer
from starlette.types import ASGIApp, Receive, Scope, Send

from affidavit.adapters.aws.clients import AwsClients
from affidavit.adapters.aws.mcp_api_key import SsmApiKey
from affidavit.agent.chat.offline import OfflineChat
from affidavit.agent.errors import McpAuthFailed, McpConnectionFailed, McpInitError
from affidavit.agent.limits import Patience
from affidavit.agent.subjects.function import FUNCTION
from affidavit.agent.subjects.node import NODE
from affidavit.agent.toolbox.mcp_tools import ApiKey, McpToolProvider
from affidavit.errors import AffidavitError, InputRefused, UpstreamFailed
from affidavit.evaluation.incidents.workload_scenarios import WorkloadScenario
from affidavit.incidents.attempt.diagnostician_port import ErrorCategory, RunOutcome
from affidavit.wire.byte_budget import MOST_BYTES
from affidavit.workloads.wire import TOOL_ARG_SCHEMAS

from .support import investigate, scenario

NOWHERE = "http://127.0.0.1:9/mcp"


def nowhere(key: ApiKey) -> McpToolProvider:
    return McpToolProvider(of=FUNCTION, url=NOWHERE, key=key)


class Keys:
    """Gives the first key until it is asked to fetch a fresh one."""

    def __init__(self, *keys: str) -> None:
        self._keys = list(keys)
        self.refreshed = 0

    def __call__(self, *, refresh: bool) -> str:
        if refresh:
            self.refreshed += 1
            self._keys = self._keys[1:] or self._keys
        return self._keys[0]


def server_of(of: WorkloadScenario, tools: tuple[str, ...] = tuple(TOOL_ARG_SCHEMAS)) -> MCPServer:
    server = MCPServer("tools")
    workloads = of.workloads()

    def tool(name: str) -> Callable[[str], dict[str, Any]]:
        return lambda lambda_name: workloads.answer(name, {"lambda_name": lambda_name})

    for name in tools:
        server.add_tool(_named(tool(name), name), name=name, description=name)
    return server


def _named(function: Callable[[str], dict[str, Any]], name: str) -> Callable[[str], dict[str, Any]]:
    def named(lambda_name: str) -> dict[str, Any]:
        return function(lambda_name)

    named.__name__ = name
    return named


class Guarded:
    """Lets requests with the right key through."""

    def __init__(self, app: ASGIApp, key: str) -> None:
        self._app, self._key = app, key.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and dict(scope["headers"]).get(b"authorization") != b"Bearer " + self._key:
            await send({"type": "http.response.start", "status": 401, "headers": [(b"content-length", b"0")]})
            await send({"type": "http.response.body", "body": b""})
            return
        await self._app(scope, receive, send)


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


@contextmanager
def served(server: MCPServer, *, key: str = "right") -> Iterator[str]:
    with running(Guarded(server.streamable_http_app(stateless_http=True, json_response=True), key)) as url:
        yield url


@contextmanager
def running(app: ASGIApp) -> Iterator[str]:
    port = free_port()
    server = uvicorn.Server(
        uvicorn.Config(app, host="127.0.0.1", port=port, log_level="error", timeout_graceful_shutdown=1)
    )
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        server.should_exit = True
        thread.join(10)


def asked(provider: McpToolProvider, tool: str = "get_lambda_config") -> str:
    async def ask() -> str:
        async with provider as entered:
            return await entered.call_tool(tool, {"lambda_name": "data-processor"})

    return asyncio.run(ask())


def test_a_tool_of_an_mcp_server_answers_like_the_direct_one() -> None:
    of = scenario()
    with served(server_of(of)) as url:
        answer = json.loads(asked(McpToolProvider(of=FUNCTION, url=url, key=Keys("right"))))
    assert answer == of.workloads().answer("get_lambda_config", {"lambda_name": "data-processor"})


def test_a_whole_investigation_runs_over_mcp() -> None:
    of = scenario()
    with served(server_of(of)) as url:
        result = investigate(OfflineChat(), of, tools=McpToolProvider(of=FUNCTION, url=url, key=Keys("right")))
    assert result.outcome is RunOutcome.DIAGNOSED
    assert result.tools_called


def test_a_rotated_key_is_fetched_again_once() -> None:
    keys = Keys("old", "right")
    with served(server_of(scenario())) as url:
        assert "FunctionName" in asked(McpToolProvider(of=FUNCTION, url=url, key=keys))
    assert keys.refreshed == 1


def test_a_wrong_key_stays_wrong_and_is_not_tried_for_ever() -> None:
    keys = Keys("wrong")
    with served(server_of(scenario())) as url, pytest.raises(McpAuthFailed):
        asked(McpToolProvider(of=FUNCTION, url=url, key=keys))
    assert keys.refreshed == 1


def test_a_refused_key_ends_the_run_without_a_second_attempt() -> None:
    keys = Keys("wrong")
    with served(server_of(scenario())) as url:
        result = investigate(OfflineChat(), scenario(), tools=McpToolProvider(of=FUNCTION, url=url, key=keys))
    assert result.error is not None
    assert result.error.category is ErrorCategory.MCP_AUTH
    assert keys.refreshed == 1
    assert result.llm_calls == 0


def test_a_stopped_server_is_a_connection_error_and_costs_no_token() -> None:
    provider = McpToolProvider(of=FUNCTION, url=f"http://127.0.0.1:{free_port()}/mcp", key=Keys("right"))
    with pytest.raises(McpConnectionFailed):
        asked(provider)
    result = investigate(OfflineChat(), scenario(), tools=provider)
    assert result.outcome is RunOutcome.ERROR
    assert result.error is not None
    assert result.error.category is ErrorCategory.MCP_CONNECTION
    assert (result.llm_calls, result.token_usage.total_tokens) == (0, 0)


def test_connecting_and_shaking_hands_take_ten_seconds_at_most() -> None:
    provider = nowhere(Keys("right"))
    assert (provider.connect_seconds, provider.handshake_seconds) == (10, 10)


def test_a_black_hole_is_given_up_after_the_handshake_timeout_and_tried_once_more() -> None:
    accepted: list[socket.socket] = []
    with socket.create_server(("127.0.0.1", 0), backlog=16) as hole:
        hole.settimeout(0.05)
        stop = threading.Event()

        def swallow() -> None:
            while not stop.is_set():
                try:
                    accepted.append(hole.accept()[0])
                except TimeoutError:
                    continue

        thread = threading.Thread(target=swallow, daemon=True)
        thread.start()
        url = f"http://127.0.0.1:{hole.getsockname()[1]}/mcp"
        provider = McpToolProvider(of=FUNCTION, url=url, key=Keys("right"), connect_seconds=0.5, handshake_seconds=0.5)
        result = investigate(OfflineChat(), scenario(), tools=provider)
        stop.set()
        thread.join()
    assert result.error is not None
    assert result.error.category is ErrorCategory.MCP_CONNECTION
    assert len(accepted) >= 2
    for one in accepted:
        one.close()


@dataclass(kw_only=True)
class Watched(McpToolProvider):
    """Counts and tells when an attempt to connect has failed."""

    tell: Callable[[], None] = lambda: None
    failures: int = 0

    async def __aenter__(self) -> "Watched":
        try:
            await super().__aenter__()
        except AffidavitError:
            self.failures += 1
            self.tell()
            raise
        return self


class Misbehaves(BaseHTTPRequestHandler):
    """Answers with this status, or closes the connection with a reset when there is none."""

    status: int | None = None

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("content-length", 0)))
        if self.status is None:
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.close_connection = True
            return
        self.send_response(self.status)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        pass


@contextmanager
def misbehaving(status: int | None) -> Iterator[str]:
    handler = type("Handler", (Misbehaves,), {"status": status})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    yield f"127.0.0.1:{server.server_address[1]}/mcp"
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize(
    ("scheme", "status", "category", "attempts"),
    [
        ("http", 500, "mcp_connection", 2),
        ("http", 503, "mcp_connection", 2),
        ("http", None, "mcp_connection", 2),
        ("https", 200, "mcp_connection", 2),
        ("http", 404, "mcp_init", 2),
        ("http", 403, "mcp_auth", 1),
    ],
    ids=["internal error", "unavailable", "reset", "no TLS where TLS is expected", "wrong path", "forbidden"],
)
def test_how_the_server_fails_decides_the_category_and_whether_it_is_tried_again(
    scheme: str, status: int | None, category: str, attempts: int
) -> None:
    with misbehaving(status) as place:
        provider = Watched(
            of=FUNCTION, url=f"{scheme}://{place}", key=Keys("right"), handshake_seconds=5, read_seconds=5
        )
        result = investigate(OfflineChat(), scenario(), tools=provider)
    assert result.outcome is RunOutcome.ERROR
    assert result.error is not None
    assert result.error.category == category
    assert provider.failures == attempts
    assert result.llm_calls == 0


class StumblesOnce:
    """Misbehaves at the first call of a tool, after a handshake like any other: says 503, or nothing at all."""

    def __init__(self, app: ASGIApp, *, in_silence: bool) -> None:
        self._app, self._in_silence = app, in_silence
        self.calls = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        message = await receive()
        if b'"tools/call"' in message.get("body", b""):
            self.calls += 1
            if self.calls == 1:
                await self._stumble(send)
                return

        async def again() -> Any:
            nonlocal message
            given, message = message, None
            return given if given is not None else await receive()

        await self._app(scope, again, send)

    async def _stumble(self, send: Send) -> None:
        if self._in_silence:
            await asyncio.sleep(60)
        await send({"type": "http.response.start", "status": 503, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body", "body": b""})


@pytest.mark.parametrize("in_silence", [False, True], ids=["503", "silence"])
def test_a_server_that_fails_in_the_middle_costs_one_more_call_and_nothing_else(in_silence: bool) -> None:
    of = scenario()
    app = StumblesOnce(
        server_of(of).streamable_http_app(stateless_http=True, json_response=True), in_silence=in_silence
    )
    with running(app) as url:
        provider = Watched(of=FUNCTION, url=url, key=Keys("right"), read_seconds=5)
        result = investigate(OfflineChat(), of, tools=provider)
    assert provider.failures == 0
    assert result.outcome is RunOutcome.DIAGNOSED
    assert app.calls == len(FUNCTION.unprompted) + 1
    assert sorted(result.tools_called) == sorted(FUNCTION.unprompted)


def test_a_port_that_is_closed_and_opens_within_the_pause_is_reached_by_the_second_attempt() -> None:
    of = scenario()
    app = Guarded(server_of(of).streamable_http_app(stateless_http=True, json_response=True), "right")
    server = uvicorn.Server(uvicorn.Config(app, log_level="error"))
    with socket.socket() as door:
        door.bind(("127.0.0.1", 0))  # ours, and it refuses everybody until the server listens
        serving = threading.Thread(target=lambda: server.run(sockets=[door]), daemon=True)
        url = f"http://127.0.0.1:{door.getsockname()[1]}/mcp"
        provider = Watched(of=FUNCTION, url=url, key=Keys("right"), tell=serving.start)
        result = investigate(OfflineChat(), of, tools=provider, patience=Patience())
        server.should_exit = True
        serving.join(10)
    assert provider.failures == 1
    assert result.outcome is RunOutcome.DIAGNOSED


class NoKey:
    """Fails like the store of the key does; counts how often it was asked."""

    def __init__(self, error: Exception) -> None:
        self._error = error
        self.asked = 0

    def __call__(self, *, refresh: bool) -> str:
        self.asked += 1
        raise self._error


def test_an_outage_of_parameter_store_is_a_lost_connection_that_is_tried_again(aws_environment) -> None:
    aws_environment.setenv("AWS_ENDPOINT_URL_SSM", f"http://127.0.0.1:{free_port()}")
    key = SsmApiKey(AwsClients("ca-central-1"), "/incident-response/mcp-api-key")
    result = investigate(OfflineChat(), scenario(), tools=nowhere(key))
    assert result.error is not None
    assert result.error.category is ErrorCategory.MCP_CONNECTION
    assert "/incident-response/mcp-api-key" in result.error.message
    counted = NoKey(UpstreamFailed("no answer", is_retryable=True))
    investigate(OfflineChat(), scenario(), tools=nowhere(counted))
    assert counted.asked == 2


@pytest.mark.parametrize(
    "error", [InputRefused("there is no parameter /p", hint="make it"), UpstreamFailed("our role may not call it")]
)
def test_a_key_that_is_missing_or_withheld_is_not_tried_again_and_says_what_to_do(error: AffidavitError) -> None:
    key = NoKey(error)
    result = investigate(OfflineChat(), scenario(), tools=nowhere(key))
    assert result.error is not None
    assert result.error.category is ErrorCategory.MCP_AUTH
    assert str(error) in result.error.message
    assert error.hint in result.error.message
    assert key.asked == 1


def test_a_parameter_store_that_hangs_does_not_hold_the_run() -> None:
    wait = threading.Event()

    def hanging(*, refresh: bool) -> str:
        wait.wait(30)
        return "late"

    with pytest.raises(McpConnectionFailed, match="did not come within"):
        asked(McpToolProvider(of=FUNCTION, url=NOWHERE, key=hanging, connect_seconds=0.1))
    wait.set()


def test_a_tool_that_answers_with_nothing_is_an_error() -> None:
    server = server_of(scenario(), tuple(name for name in TOOL_ARG_SCHEMAS if name != "get_lambda_config"))

    def get_lambda_config(lambda_name: str) -> None:
        return None

    server.add_tool(get_lambda_config, name="get_lambda_config", description="silent", structured_output=False)
    with served(server) as url:
        answer = json.loads(asked(McpToolProvider(of=FUNCTION, url=url, key=Keys("right"))))
    assert answer == {"error": "Tool returned empty response"}


def test_a_server_of_before_2025_is_asked_over_sse() -> None:
    of = scenario()
    app = Guarded(server_of(of).sse_app(), "right")
    running = uvicorn.Server(uvicorn.Config(app, log_level="error"))
    with socket.socket() as door:
        door.bind(("127.0.0.1", 0))
        serving = threading.Thread(target=lambda: running.run(sockets=[door]), daemon=True)
        serving.start()
        while not running.started:
            time.sleep(0.01)
        url = f"http://127.0.0.1:{door.getsockname()[1]}/sse"
        answer = json.loads(asked(McpToolProvider(of=FUNCTION, url=url, key=Keys("right"))))
        with pytest.raises(McpAuthFailed):
            asked(McpToolProvider(of=FUNCTION, url=url, key=Keys("wrong")))
        running.should_exit = True
        running.force_exit = True
        serving.join(10)
    assert answer == of.workloads().answer("get_lambda_config", {"lambda_name": "data-processor"})


def test_a_server_without_our_tools_is_refused_at_the_door() -> None:
    with served(server_of(scenario(), ("get_recent_logs",))) as url, pytest.raises(McpInitError, match="get_iam_state"):
        asked(McpToolProvider(of=FUNCTION, url=url, key=Keys("right")))


def test_a_web_page_is_no_mcp_server() -> None:
    class Page(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("content-length", 0)))
            body = b"<html>hello</html>"
            self.send_response(200)
            self.send_header("content-type", "text/html")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
            pass

    page = ThreadingHTTPServer(("127.0.0.1", 0), Page)
    threading.Thread(target=page.serve_forever, daemon=True).start()
    provider = McpToolProvider(
        of=FUNCTION,
        url=f"http://127.0.0.1:{page.server_address[1]}/mcp",
        key=Keys("right"),
        handshake_seconds=3,
        read_seconds=3,
    )
    with pytest.raises(McpInitError):
        asked(provider)
    page.shutdown()
    page.server_close()


def test_a_server_that_shortens_its_answers_is_asked_for_whole_ones() -> None:
    of, budgets = scenario(), list[int]()
    server = server_of(of, tuple(tool for tool in TOOL_ARG_SCHEMAS if tool != "get_lambda_config"))

    def get_lambda_config(lambda_name: str, max_bytes: int = 2048) -> dict[str, Any]:
        budgets.append(max_bytes)
        return of.workloads().answer("get_lambda_config", {"lambda_name": lambda_name})

    server.add_tool(get_lambda_config)
    with served(server) as url:
        asked(McpToolProvider(of=FUNCTION, url=url, key=Keys("right")))
    assert budgets == [MOST_BYTES]


def test_a_budget_that_the_question_itself_states_is_kept() -> None:
    """Whole lists of a node's findings would be left out of the view, and nothing could be concluded."""
    server, budgets = MCPServer("nodes"), list[int]()

    def answer(instanceId: str = "", max_bytes: int = 2048) -> dict[str, Any]:  # noqa: N803 - the wire's name
        budgets.append(max_bytes)
        return {"success": True}

    for tool in NODE.argument_schemas:
        server.add_tool(answer, name=tool)
    with served(server) as url:
        provider = McpToolProvider(of=NODE, url=url, key=Keys("right"))

        async def ask() -> None:
            async with provider:
                await provider.call_tool("errors", {"instanceId": "i-0123456789abcdef0", "max_bytes": 30_000})

        asyncio.run(ask())
    assert budgets == [30_000]
