"""The console behind Lambda: a login from event to event, with the client's secret out of Parameter Store."""

import base64
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from tests.support.peers.peer_issuer import PeerIssuer, peer_issuer

from affidavit.entrypoints.lambdas import console_http
from affidavit.sandbox.sandbox import Sandbox

FOLDER, HOST = "/test/console", "x.on.aws"
PARAMETER = f"{FOLDER}/CONSOLE_OIDC_CLIENT_SECRET"


@pytest.fixture
def issuer(tmp_path: Path, aws_environment: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Iterator[PeerIssuer]:
    console_http._console.cache_clear()
    for name in ("LOGS_BUCKET", "STATE_TABLE", "INCIDENT_STATE_TABLE", "INCIDENT_CONTEXT_TABLE"):
        monkeypatch.delenv(name, raising=False)
    with peer_issuer() as issuer:
        for name, value in {
            "AFFIDAVIT_DATA": str(tmp_path),
            "CONSOLE_OIDC_ISSUER": issuer.url,
            "CONSOLE_OIDC_CLIENT_ID": "c",
            "SECRETS_PATH": FOLDER,
        }.items():
            monkeypatch.setenv(name, value)
        yield issuer


def asked(path: str, cookies: list[str] | None = None, *, host: str = HOST) -> dict[str, Any]:
    parts = urlsplit(path)
    http = {"method": "GET", "path": parts.path, "sourceIp": "1.2.3.4"}
    event = {
        "rawPath": parts.path,
        "rawQueryString": parts.query,
        "headers": {"host": host, "x-forwarded-proto": "https"},
        "cookies": cookies or [],
        "requestContext": {"domainName": HOST, "http": http},
    }
    return console_http.handler(event, None)


def pair(cookie: str) -> str:
    return cookie.partition(";")[0]


def test_a_person_logs_in_from_event_to_event(issuer: PeerIssuer, sandbox: Sandbox) -> None:
    sandbox.client("ssm").put_parameter(Name=PARAMETER, Value="s3cret", Type="SecureString", Overwrite=True)
    assert asked("/nodes")["headers"]["location"] == "/login?next=/nodes"
    begun = asked("/login/start?next=/nodes")
    back = httpx.get(begun["headers"]["location"]).headers["location"]
    assert back.startswith(f"https://{HOST}/login/callback?code=")
    done = asked(back.removeprefix(f"https://{HOST}"), [pair(one) for one in begun["cookies"]])
    assert (done["statusCode"], done["headers"]["location"]) == (303, "/nodes")
    session = next(one for one in done["cookies"] if one.startswith("__Host-affidavit="))
    assert "Secure" in session and "HttpOnly" in session
    # The cookie of the login goes in the same answer: a mapping of headers would lose one of the two.
    assert len(done["cookies"]) == 2
    page = asked("/", [pair(session)])
    assert page["statusCode"] == 200
    assert "No incident in this time" in base64.b64decode(page["body"]).decode()
    assert issuer.authorizations == [f"Basic {base64.b64encode(b'c:s3cret').decode()}"]


def test_another_name_than_awss_opens_nothing(issuer: PeerIssuer) -> None:
    assert asked("/", host="evil.example")["statusCode"] == 421
