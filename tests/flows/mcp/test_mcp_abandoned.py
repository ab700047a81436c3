"""Calls whose client goes away or cancels: real processes and real connections. The work stops soon after."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx2
import pytest
from tests.support.peers.mcp_server import calls_over, serving
from tests.support.peers.slow_tool import FOLDER, SLOW, appears

from affidavit.entrypoints.http.auth import KeyVerifier
from affidavit.entrypoints.mcp.http_app import Door, http_app
from affidavit.entrypoints.mcp.server import build_server

KEY = "a-key-for-tests-0123456789"
ACCEPT = {"Accept": "application/json, text/event-stream", "Authorization": f"Bearer {KEY}"}
LEGACY = {**ACCEPT, "MCP-Protocol-Version": "2025-11-25"}
CLIENT = {"name": "stranger", "version": "1"}
CALL = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "slow", "arguments": {}}}
CANCELLED = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}}
WELCOME = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": CLIENT},
}
READY = {"jsonrpc": "2.0", "method": "notifications/initialized"}
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": CLIENT,
    "io.modelcontextprotocol/clientCapabilities": {},
}
MODERN = {**ACCEPT, "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "slow"}


@pytest.fixture(params=[False, True], ids=["sessions", "stateless"])
def url(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv(FOLDER, str(tmp_path))
    door = Door(verifier=KeyVerifier(key=KEY), is_stateless=request.param)
    with serving(http_app(build_server(calls_over(tmp_path, tools=[SLOW])), door)) as address:
        yield address


def began_call(url: str, headers: dict[str, str], call: dict[str, Any], folder: Path) -> socket.socket:
    """A connection that waits for the answer to this call, which is being worked on."""
    host, _, port = url.removeprefix("http://").partition(":")
    body = json.dumps(call).encode()
    lines = [f"{name}: {value}" for name, value in {**headers, "Host": f"{host}:{port}"}.items()]
    head = [f"POST /mcp HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: {len(body)}", *lines]
    connection = socket.create_connection((host, int(port)))
    connection.sendall("\r\n".join(head).encode() + b"\r\n\r\n" + body)
    assert appears(folder / "it.began"), "the call did not begin"
    return connection


def test_a_client_of_2026_that_disconnects_stops_its_call(url: str, tmp_path: Path) -> None:
    call = {**CALL, "params": {**CALL["params"], "_meta": META}}
    began_call(url, MODERN, call, tmp_path).close()
    assert appears(tmp_path / "it.stopped"), "the server works for nobody"


def legacy_session(url: str) -> dict[str, str]:
    response = httpx2.post(f"{url}/mcp", json=WELCOME, headers=LEGACY, timeout=30)
    session = {"Mcp-Session-Id": response.headers["mcp-session-id"]} if "mcp-session-id" in response.headers else {}
    httpx2.post(f"{url}/mcp", json=READY, headers={**LEGACY, **session}, timeout=30)
    return {**LEGACY, **session}


def test_a_client_of_2025_that_disconnects_stops_its_call(url: str, tmp_path: Path) -> None:
    began_call(url, legacy_session(url), CALL, tmp_path).close()
    assert appears(tmp_path / "it.stopped"), "the server works for nobody"


def test_a_client_of_2025_cancels_its_call(url: str, tmp_path: Path) -> None:
    headers = legacy_session(url)
    if "Mcp-Session-Id" not in headers:
        pytest.skip("without a session nothing tells whose call is meant; such a client disconnects")
    with closing(began_call(url, headers, CALL, tmp_path)):
        httpx2.post(f"{url}/mcp", json=CANCELLED, headers=headers, timeout=30)
        assert appears(tmp_path / "it.stopped"), "the server works for nobody"


@pytest.fixture
def process(tmp_path: Path) -> Iterator["subprocess.Popen[str]"]:
    command = [sys.executable, "-m", "tests.support.peers.slow_tool", str(tmp_path)]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, text=True, env=dict(os.environ), **pipes) as started:
        yield started
        started.kill()


def say(process: "subprocess.Popen[str]", *messages: dict[str, Any]) -> None:
    assert process.stdin is not None
    process.stdin.writelines(f"{json.dumps(message)}\n" for message in messages)
    process.stdin.flush()


def test_a_cancel_notification_over_stdio_stops_the_call(process: "subprocess.Popen[str]", tmp_path: Path) -> None:
    say(process, WELCOME, READY, CALL)
    assert appears(tmp_path / "it.began", 60)
    say(process, CANCELLED)
    assert appears(tmp_path / "it.stopped"), "the server works for nobody"


def test_a_client_over_stdio_that_goes_away_stops_its_call(process: "subprocess.Popen[str]", tmp_path: Path) -> None:
    say(process, WELCOME, READY, CALL)
    assert appears(tmp_path / "it.began", 60) and process.stdin is not None
    process.stdin.close()
    assert appears(tmp_path / "it.stopped") or process.poll() is not None, "the server works for nobody"
