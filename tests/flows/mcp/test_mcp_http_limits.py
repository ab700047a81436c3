"""The HTTP server before strangers, pages and eager clients: redirects, CORS, rates, keys that come and go."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest
from tests.flows.mcp.test_mcp_http import KEY, Rpc, _wait_for, post
from tests.support.fleet import NODE, Fleet
from tests.support.peers.mcp_server import calls_over, serving
from tests.support.processes.command import affidavit

from affidavit.entrypoints.http.auth import AnyOfThem, KeyVerifier
from affidavit.entrypoints.http.client_keys import ClientKeys, add_client_key, revoke_client_key
from affidavit.entrypoints.http.rate_limit import RequestRates
from affidavit.entrypoints.mcp.http_app import Door, http_app
from affidavit.entrypoints.mcp.server import build_server

PAGE = "https://console.example"
PREFLIGHT = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization,mcp-session-id"}


@contextmanager
def door(tmp_path: Path, **options: object) -> Iterator[str]:
    made = Door(**{"verifier": KeyVerifier(key=KEY), "is_stateless": True, **options})
    with serving(http_app(build_server(calls_over(tmp_path, fleet=Fleet(tmp_path))), made)) as url:
        yield url


@pytest.mark.parametrize("path", ["/mcp/", "/sse/", "/health/", "/messages"])
@pytest.mark.parametrize("bearer", [None, KEY])
def test_no_request_is_sent_on_to_the_host_that_it_names(tmp_path: Path, path: str, bearer: str | None) -> None:
    headers = {"Host": "evil.example"} | ({"Authorization": f"Bearer {bearer}"} if bearer else {})
    with door(tmp_path) as url:
        for method in ("GET", "POST"):
            answer = httpx2.request(method, f"{url}{path}", headers=headers, follow_redirects=False)
            assert answer.status_code >= 400
            assert "evil.example" not in f"{answer.headers}{answer.text}"


def test_a_slash_at_the_end_of_mcp_is_served_like_none(tmp_path: Path) -> None:
    with door(tmp_path) as url:
        assert post(url, path="/mcp/").status_code == post(url, path="/mcp").status_code == 200
        assert post(url, path="/mcp/", bearer=None).status_code == 401


@pytest.mark.parametrize("origins", [(PAGE,), ("https://console.example:*", PAGE)])
def test_a_page_of_an_allowed_origin_may_call(tmp_path: Path, origins: tuple[str, ...]) -> None:
    with door(tmp_path, origins=origins) as url:
        asked = httpx2.options(f"{url}/mcp", headers={"Origin": PAGE, **PREFLIGHT})
        assert asked.status_code == 200
        assert asked.headers["access-control-allow-origin"] == PAGE
        assert "authorization" in asked.headers["access-control-allow-headers"].lower()
        called = post(url, Origin=PAGE)
        assert (called.status_code, called.headers["access-control-allow-origin"]) == (200, PAGE)
        refused = post(url, bearer="wrong", Origin=PAGE)
        assert (refused.status_code, refused.headers["access-control-allow-origin"]) == (401, PAGE)


@pytest.mark.parametrize("origin", ["https://evil.example", "https://consoleXexample", f"{PAGE}.evil.example", "null"])
def test_a_page_of_another_origin_may_not(tmp_path: Path, origin: str) -> None:
    with door(tmp_path, origins=(PAGE,)) as url:
        asked = httpx2.options(f"{url}/mcp", headers={"Origin": origin, **PREFLIGHT})
        assert "access-control-allow-origin" not in asked.headers
        called = post(url, Origin=origin)
        assert called.status_code == 403
        assert "access-control-allow-origin" not in called.headers


def test_without_allowed_origins_no_page_may(tmp_path: Path) -> None:
    with door(tmp_path) as url:
        asked = httpx2.options(f"{url}/mcp", headers={"Origin": PAGE, **PREFLIGHT})
        assert asked.status_code >= 400 and "access-control-allow-origin" not in asked.headers


def test_an_eager_client_is_told_when_to_come_again_and_others_are_served(tmp_path: Path) -> None:
    file = tmp_path / "clients.keys"
    eager, calm = (add_client_key(file, name, ["read"]) for name in ("eager", "calm"))
    with door(tmp_path, verifier=ClientKeys(file), rates=RequestRates(3)) as url:
        assert [post(url, bearer=eager).status_code for _ in range(3)] == [200] * 3
        refused = post(url, bearer=eager)
        assert refused.status_code == 429
        assert 1 <= int(refused.headers["retry-after"]) <= 20
        assert "too many" in refused.json()["error"]
        assert post(url, bearer=calm).status_code == 200
        # Wrong keys are counted by address, apart from those who have one.
        assert [post(url, bearer=f"wrong{n}").status_code for n in range(5)] == [401] * 3 + [429] * 2
        assert [httpx2.get(f"{url}/health").status_code for _ in range(5)] == [200] * 5


def test_a_reader_reads_a_collector_collects_and_a_revoked_key_does_neither(tmp_path: Path) -> None:
    file = tmp_path / "clients.keys"
    reader, collector = add_client_key(file, "r", ["read"]), add_client_key(file, "c", ["read", "collect"])
    with door(tmp_path, verifier=AnyOfThem(verifiers=(ClientKeys(file), KeyVerifier(key=KEY)))) as url:
        for key, may in ((reader, False), (collector, True)):
            client = Rpc(url, key)
            assert client("tools/list")["result"]["tools"]
            said = client("tools/call", name="collect", arguments={"instanceId": NODE})["result"]
            assert ("may not use collect" in said["content"][0]["text"]) is not may
        revoke_client_key(file, "r")
        assert post(url, bearer=reader).status_code == 401
        assert post(url, bearer=collector).status_code == 200


def test_the_command_takes_and_refuses_keys_while_it_runs(tmp_path: Path) -> None:
    file, port = tmp_path / "clients.keys", 20_000 + (os.getpid() + 7_000) % 20_000
    made = affidavit("keys", "add", "first", "--file", file)
    assert made.returncode == 0, made.stderr
    command = [
        sys.executable,
        "-m",
        "affidavit",
        "mcp",
        "--http",
        "--stateless",
        "--keys",
        str(file),
        "--port",
        str(port),
    ]
    environment = {**os.environ, "MCP_REQUESTS_PER_MINUTE": "5", "MCP_MAX_CONNECTIONS": "3"}
    process = subprocess.Popen(
        [*command, "--bundles", str(tmp_path)], stderr=subprocess.PIPE, text=True, env=environment
    )
    try:
        url = f"http://127.0.0.1:{port}"
        _wait_for(url, process)
        silent = [socket.create_connection(("127.0.0.1", port), timeout=30) for _ in range(4)]
        assert silent[0].recv(1) == b""
        for connection in silent:
            connection.close()
        first = made.stdout.strip()
        assert post(url, bearer=first).status_code == 200
        second = affidavit(
            "keys", "add", "second", "--file", file, "--scope", "read", "--scope", "files"
        ).stdout.strip()
        assert [post(url, bearer=second).status_code for _ in range(6)] == [200] * 5 + [429]
        assert affidavit("keys", "revoke", "first", "--file", file).returncode == 0
        assert post(url, bearer=first).status_code == 401
    finally:
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=20)
    assert first not in said and second not in said
    assert affidavit("keys", "revoke", "first", "--file", file).returncode == 2


def test_a_keys_file_that_is_not_there_is_refused_at_the_start(tmp_path: Path) -> None:
    done = affidavit("mcp", "--http", "--keys", tmp_path / "none", "--bundles", tmp_path)
    assert done.returncode == 2
    assert "cannot be read" in done.stderr and "affidavit keys add" in done.stderr
