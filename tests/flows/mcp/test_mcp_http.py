"""The server over real HTTP: who is let in, what is refused, and the clients of both eras."""

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import httpx2
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from jwt.algorithms import RSAAlgorithm
from mcp import Client
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from tests.support.fleet import NODE, Fleet
from tests.support.peers.mcp_server import calls_over, serving
from tests.support.processes.command import affidavit

from affidavit.entrypoints.http.auth import AnyOfThem, JwtVerifier, KeyVerifier
from affidavit.entrypoints.mcp.http_app import MOST_BODY_BYTES, Door, http_app
from affidavit.entrypoints.mcp.server import build_server

KEY = "a-key-for-tests-0123456789"
ISSUER = "https://issuer.example"
AUDIENCE = "affidavit"
LEGACY = {"MCP-Protocol-Version": "2025-11-25", "Accept": "application/json, text/event-stream"}
PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
# The second is of the older event stream: the same guards stand in front of it.
WAYS_IN = ("/mcp", "/messages/?session_id=00000000000000000000000000000000")
SIGNER = rsa.generate_private_key(public_exponent=65537, key_size=2048)


class _Keys(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        key = json.loads(RSAAlgorithm.to_jwk(SIGNER.public_key())) | {"kid": "k1", "use": "sig", "alg": "RS256"}
        body = json.dumps({"keys": [key]}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's name
        pass


@pytest.fixture
def fleet(tmp_path: Path) -> Fleet:
    return Fleet(tmp_path)


@pytest.fixture
def issuer_keys() -> Iterator[str]:
    server = HTTPServer(("127.0.0.1", 0), _Keys)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/jwks.json"
    server.shutdown()
    server.server_close()


@pytest.fixture
def url(fleet: Fleet, tmp_path: Path, issuer_keys: str) -> Iterator[str]:
    by_token = JwtVerifier(issuer=ISSUER, audience=AUDIENCE, jwks_url=issuer_keys)
    door = Door(
        verifier=AnyOfThem(verifiers=(KeyVerifier(key=KEY), by_token)),
        public_url="https://mcp.example/mcp",
        issuer=ISSUER,
    )
    with serving(http_app(build_server(calls_over(tmp_path, fleet=fleet)), door)) as address:
        yield address


def token(*, key: object = SIGNER, algorithm: str = "RS256", scope: str = "affidavit:read", **claims: object) -> str:
    standard = {"iss": ISSUER, "aud": AUDIENCE, "sub": "somebody", "exp": time.time() + 60, "scope": scope}
    return jwt.encode({**standard, **claims}, key, algorithm=algorithm, headers={"kid": "k1"})


def post(
    url: str, *, bearer: str | None = KEY, body: object = PING, path: str = "/mcp", **headers: str
) -> httpx2.Response:
    auth = {"Authorization": f"Bearer {bearer}"} if bearer is not None else {}
    return httpx2.post(f"{url}{path}", json=body, headers={**LEGACY, **auth, **headers}, timeout=30)


class Rpc:
    """A client of 2025-11-25 that speaks raw JSON-RPC."""

    def __init__(self, url: str, bearer: str = KEY) -> None:
        self._url, self._headers, self._next = url, {**LEGACY, "Authorization": f"Bearer {bearer}"}, 0
        client = {"name": "raw", "version": "1"}
        self.welcome = self("initialize", protocolVersion="2025-11-25", capabilities={"tasks": {}}, clientInfo=client)
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def __call__(self, method: str, **params: object) -> dict[str, Any]:
        self._next += 1
        text = self._send({"jsonrpc": "2.0", "id": self._next, "method": method, "params": params})
        events = [line[6:] for line in text.splitlines() if line.startswith("data: ") and '"id"' in line]
        return json.loads(events[-1] if events else text)

    def _send(self, message: dict[str, object]) -> str:
        response = httpx2.post(f"{self._url}/mcp", json=message, headers=self._headers, timeout=30)
        if session := response.headers.get("mcp-session-id"):
            self._headers["mcp-session-id"] = session
        return response.text


# --- who is let in ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", WAYS_IN)
@pytest.mark.parametrize("bearer", [None, "wrong", KEY[:-1], KEY + "x", "ä"])
def test_without_the_key_nobody_comes_in(url: str, path: str, bearer: str | None) -> None:
    headers = {"Authorization": f"Bearer {bearer}".encode()} if bearer is not None else {}
    response = httpx2.post(f"{url}{path}", json=PING, headers={**LEGACY, **headers}, timeout=30)
    assert response.status_code == 401
    assert response.headers["www-authenticate"].startswith("Bearer ")


def test_the_event_stream_asks_for_the_key_too(url: str) -> None:
    assert httpx2.get(f"{url}/sse").status_code == 401


def test_health_needs_no_key_and_says_little(url: str) -> None:
    response = httpx2.get(f"{url}/health")
    assert response.status_code == 200
    assert set(response.json()) == {"status", "version"}


def test_the_issuer_is_named_for_clients_that_look_for_one(url: str) -> None:
    document = httpx2.get(f"{url}/.well-known/oauth-protected-resource/mcp").json()
    assert document["authorization_servers"] == [ISSUER], "clients compare it letter by letter"


def test_a_token_of_the_issuer_opens_the_door(url: str) -> None:
    assert post(url, bearer=token()).status_code != 401


@pytest.mark.parametrize(
    "bad",
    [
        {"iss": "https://other.example"},
        {"aud": "another-service"},
        {"exp": 1_000_000_000},
        {"key": rsa.generate_private_key(public_exponent=65537, key_size=2048)},
        {"key": "x" * 32, "algorithm": "HS256"},
        {"nbf": 4_000_000_000},
    ],
    ids=["issuer", "audience", "expired", "signature", "shared secret", "not yet"],
)
def test_any_other_token_does_not(url: str, bad: dict[str, Any]) -> None:
    assert post(url, bearer=token(**bad)).status_code == 401


def test_an_unsigned_token_does_not(url: str) -> None:
    assert post(url, bearer=token(key="", algorithm="none")).status_code == 401


def test_a_token_without_the_scope_is_refused(url: str) -> None:
    response = post(url, bearer=token(scope="something:else"))
    assert response.status_code == 403 == post(url, bearer=token(scope="something:else"), path=WAYS_IN[1]).status_code
    assert "insufficient_scope" in response.headers["www-authenticate"]


def test_a_reader_may_not_collect(url: str, fleet: Fleet) -> None:
    refused = Rpc(url, token())("tools/call", name="collect", arguments={"instanceId": NODE})["result"]
    assert json.loads(refused["content"][0]["text"])["statusCode"] == 403
    assert not fleet.collector.executions
    allowed = Rpc(url, token(scope="affidavit:read affidavit:collect"))
    assert not allowed("tools/call", name="collect", arguments={"instanceId": NODE})["result"]["isError"]


def test_status_with_cancel_stops_a_collection_only_for_whoever_may_cancel(url: str, fleet: Fleet) -> None:
    reader, collector = Rpc(url, token()), Rpc(url, token(scope="affidavit:read affidavit:collect"))
    begun = collector("tools/call", name="collect", arguments={"instanceId": NODE})["result"]
    execution = begun["structuredContent"]["executionId"]

    def status(rpc: Rpc, **more: object) -> dict[str, Any]:
        called = rpc("tools/call", name="status", arguments={"executionId": execution, **more})["result"]
        return json.loads(called["content"][0]["text"])

    assert status(reader, cancel=False)["task"]["state"] == status(reader, cancel=None)["task"]["state"] == "working"
    refused = status(reader, cancel=True)
    assert (refused["statusCode"], "cancel" in refused["error"]) == (403, True)
    assert status(collector, cancel="yes")["statusCode"] == 400
    assert not fleet.collector.stopped
    assert status(collector, cancel=True)["executionId"] == execution and fleet.collector.stopped == [execution]


def test_status_is_read_only_by_annotation_and_its_schema_offers_no_way_to_act(url: str) -> None:
    listed = {tool["name"]: tool for tool in Rpc(url, token())("tools/list")["result"]["tools"]}
    assert listed["status"]["annotations"]["readOnlyHint"] and list(listed["status"]["inputSchema"]["properties"]) == [
        "executionId"
    ]
    assert not listed["cancel"]["annotations"]["readOnlyHint"]


def test_somebody_elses_task_is_unknown(url: str) -> None:
    scope = "affidavit:read affidavit:collect"
    mine, other = Rpc(url, token(scope=scope)), Rpc(url, token(scope=scope, sub="another"))
    task = mine("tools/call", name="collect", arguments={"instanceId": NODE}, task={})["result"]["task"]
    assert mine("tasks/get", taskId=task["taskId"])["result"]["status"] == "working"
    refused = other("tasks/get", taskId=task["taskId"])["error"]
    assert refused["message"] == "there is no such task; tasks are kept for 48 hours"
    assert refused == other("tasks/get", taskId="nobody")["error"]


# --- what is refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example:80"])
def test_another_host_name_is_refused(url: str, host: str) -> None:
    assert [post(url, path=path, Host=host).status_code for path in WAYS_IN] == [421, 421]


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://127.0.0.1.evil.example:80"])
def test_another_origin_is_refused(url: str, origin: str) -> None:
    assert [post(url, path=path, Origin=origin).status_code for path in WAYS_IN] == [403, 403]


def test_a_body_that_is_too_large_is_refused(url: str) -> None:
    large = {**PING, "params": {"x": "y" * MOST_BODY_BYTES}}
    assert [post(url, path=path, body=large).status_code for path in WAYS_IN] == [413, 413]


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", b'{"jsonrpc":"2.0"}', b"\xff\xfe", b"[" * 100_000])
def test_a_body_that_is_no_request_is_a_client_error(url: str, body: bytes) -> None:
    headers = {**LEGACY, "Authorization": f"Bearer {KEY}", "Content-Type": "application/json"}
    assert 400 <= httpx2.post(f"{url}/mcp", content=body, headers=headers, timeout=30).status_code < 500


# --- clients ---------------------------------------------------------------------------------------------------------


def test_a_client_of_today_lists_and_calls_tools(url: str) -> None:
    async def talk() -> None:
        async with (
            httpx2.AsyncClient(headers={"Authorization": f"Bearer {KEY}"}, timeout=30) as http,
            Client(streamable_http_client(f"{url}/mcp", http_client=http)) as client,
        ):
            assert client.protocol_version == "2026-07-28"
            assert "history" in {tool.name for tool in (await client.list_tools()).tools}
            assert (await client.call_tool("history", {})).structured_content["collections"] == []

    asyncio.run(talk())


def test_an_old_client_uses_the_event_stream(url: str) -> None:
    async def talk() -> None:
        stream = sse_client(f"{url}/sse", headers={"Authorization": f"Bearer {KEY}"})
        async with Client(stream, mode="legacy") as client:
            assert (await client.call_tool("history", {})).structured_content["success"] is True

    asyncio.run(talk())


def test_the_older_era_asks_for_a_task_and_fetches_its_result(url: str, fleet: Fleet) -> None:
    rpc = Rpc(url)
    assert rpc.welcome["result"]["capabilities"]["tasks"]["requests"] == {"tools": {"call": {}}}
    support = {tool["name"]: tool.get("execution") for tool in rpc("tools/list")["result"]["tools"]}
    assert support["collect"] == {"taskSupport": "optional"} and support["history"] is None
    created = rpc("tools/call", name="collect", arguments={"instanceId": NODE}, task={"ttl": 60_000})["result"]["task"]
    assert (created["status"], created["pollInterval"]) == ("working", 15_000)
    (execution,) = fleet.collector.executions
    fleet.collector.becomes(execution, "Success")
    fleet.index.indexed.add(execution)
    assert rpc("tasks/get", taskId=created["taskId"])["result"]["status"] == "completed"
    result = rpc("tasks/result", taskId=created["taskId"])["result"]
    assert result["structuredContent"]["executionId"] == execution
    assert result["_meta"]["io.modelcontextprotocol/related-task"] == {"taskId": created["taskId"]}
    assert "error" in rpc("tasks/cancel", taskId=created["taskId"])
    assert rpc("tools/call", name="history", arguments={}, task={})["error"]["code"] == -32601


def test_the_older_era_cancels_a_task(url: str, fleet: Fleet) -> None:
    rpc = Rpc(url)
    task = rpc("tools/call", name="collect", arguments={"instanceId": NODE}, task={})["result"]["task"]
    assert rpc("tasks/cancel", taskId=task["taskId"])["result"]["status"] == "cancelled"
    assert fleet.collector.stopped == list(fleet.collector.executions)
    assert rpc("tasks/result", taskId=task["taskId"])["result"]["isError"] is True


# --- the command -----------------------------------------------------------------------------------------------------


def test_the_command_refuses_to_serve_without_a_key_and_says_how(tmp_path: Path) -> None:
    done = affidavit("mcp", "--http", "--bundles", tmp_path, env={"MCP_API_KEY": ""})
    assert done.returncode == 2
    assert "--generate-key" in done.stderr and "MCP_API_KEY" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "env", "said"),
    [
        (("--http",), {"MCP_API_KEY": "short"}, "too short"),
        (("--toolsets", "nodes,surprise"), {}, "surprise"),
        ((), {"MCP_TOOLSETS": "nodes,surprise"}, "surprise"),
        (("--toolsets", "collection"), {}, "LOGS_BUCKET"),
        (("--bundles", "/nowhere/at/all"), {}, "no folder"),
        ((), {"ENABLE_COMPREHEND": "true"}, "ENABLE_PII_REDACTION"),
        (("--http", "--oauth-issuer", ISSUER), {}, "--oauth-audience"),
    ],
)
def test_a_wish_that_cannot_be_met_is_refused(arguments: tuple[str, ...], env: dict[str, str], said: str) -> None:
    done = affidavit("mcp", *arguments, env=env)
    assert done.returncode == 2
    assert said in done.stderr


def test_a_generated_key_is_printed_once_and_works(tmp_path: Path) -> None:
    port = 20_000 + os.getpid() % 20_000
    command = [sys.executable, "-m", "affidavit", "mcp", "--http", "--generate-key", "--port", str(port)]
    process = subprocess.Popen(
        [*command, "--host", "127.0.0.1", "--allow-host", "mcp.example:443", "--bundles", str(tmp_path)],
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        key = re.search(r"shown once: (\S+)", process.stderr.readline())[1]
        assert len(key) >= 40
        url = f"http://127.0.0.1:{port}"
        _wait_for(url, process)
        assert [post(url, bearer=KEY).status_code for _ in range(20)] == [401] * 20
        assert Rpc(url, key)("tools/list")["result"]["tools"]
        named, other = (post(url, bearer=key, Host=host).status_code for host in ("mcp.example:443", "evil.example"))
        assert (named == 421, other == 421) == (False, True)
        second = affidavit("mcp", "--http", "--generate-key", "--port", str(port), "--bundles", tmp_path)
    finally:
        process.send_signal(signal.SIGTERM)
        output, said = process.communicate(timeout=20)
    assert output == ""
    assert said.count("wrong key") == 1 and KEY not in said and "from 127.0.0.1" in said
    assert second.returncode == 2
    assert f"port {port} is taken on 127.0.0.1" in second.stderr and "--port" in second.stderr
    assert "MCP on" not in second.stderr and "shown once" not in second.stderr


@pytest.mark.parametrize("option", [("--port", "8321"), ("--generate-key",), ("--host", "127.0.0.1"), ("--stateless",)])
def test_an_option_of_http_is_refused_on_stdio(option: tuple[str, ...], tmp_path: Path) -> None:
    done = affidavit("mcp", "--bundles", tmp_path, *option)
    assert (done.returncode, f"{option[0]} without --http" in done.stderr) == (2, True)


def _wait_for(url: str, process: subprocess.Popen[str]) -> None:
    while process.poll() is None:
        try:
            httpx2.get(f"{url}/health")
            return
        except httpx2.TransportError:
            time.sleep(0.05)
    raise AssertionError("the server ended")
