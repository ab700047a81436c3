"""The console beside the MCP server: one server, two doors, and neither opens the other."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from starlette.testclient import TestClient
from tests.support.peers.peer_issuer import peer_issuer

from affidavit.entrypoints.console.deployed import deployed_console
from affidavit.entrypoints.http.auth import KeyVerifier
from affidavit.entrypoints.mcp.http_app import Door, http_app
from affidavit.entrypoints.mcp.server import build_server
from affidavit.entrypoints.mcp.wiring import Wish, build_calls
from affidavit.settings import Settings

KEY = "the-key-of-an-agent-0123456789"


@pytest.fixture
def client(tmp_path: Path) -> Iterator[httpx.Client]:
    with peer_issuer() as issuer:
        settings = Settings.model_validate(
            {
                "AFFIDAVIT_DATA": tmp_path,
                "CONSOLE_URL": "https://console.example",
                "CONSOLE_OIDC_ISSUER": issuer.url,
                "CONSOLE_OIDC_CLIENT_ID": "c",
            }
        )
        console = deployed_console(settings, is_long_lived=False)
        server = build_server(build_calls(settings, Wish()))
        app = http_app(server, Door(verifier=KeyVerifier(key=KEY), console=console))
        with TestClient(app, base_url="https://console.example", follow_redirects=False) as client:
            yield client


def test_a_page_asks_for_a_login_and_mcp_for_a_key(client: httpx.Client) -> None:
    assert client.get("/").headers["location"].startswith("/login?next=")
    assert client.post("/mcp").status_code == 401
    assert client.get("/health").json()["status"] == "ok"


def test_the_key_of_an_agent_opens_no_page(client: httpx.Client) -> None:
    answer = client.get("/settings", headers={"Authorization": f"Bearer {KEY}"})
    assert (answer.status_code, answer.headers["location"]) == (303, "/login?next=/settings")


def test_over_https_cookies_are_bound_to_the_host(client: httpx.Client) -> None:
    begun = client.get("/login/start")
    cookie = begun.headers["set-cookie"]
    assert cookie.startswith("__Host-affidavit-login=")
    assert "; Secure" in cookie and "Path=/" in cookie and "Domain" not in cookie
    assert "redirect_uri=https%3A%2F%2Fconsole.example%2Flogin%2Fcallback" in begun.headers["location"]


def test_without_an_issuer_no_console_is_served(tmp_path: Path) -> None:
    assert deployed_console(Settings.model_validate({"AFFIDAVIT_DATA": tmp_path}), is_long_lived=True) is None
