"""The function behind its URL: events as Lambda makes them, tokens that an issuer really signed."""

import base64
import json
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from jwt.algorithms import RSAAlgorithm

from affidavit.entrypoints.lambdas import mcp_http
from affidavit.errors import InputRefused

KEY = "a-key-for-tests-0123456789"
ISSUER, AUDIENCE = "https://issuer.example", "affidavit"
HOST = "abc.lambda-url.eu-central-1.on.aws"
SIGNER = rsa.generate_private_key(public_exponent=65537, key_size=2048)
STRANGER = rsa.generate_private_key(public_exponent=65537, key_size=2048)
LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}


class _Issuer(BaseHTTPRequestHandler):
    asked = 0

    def do_GET(self) -> None:
        type(self).asked += 1
        key = json.loads(RSAAlgorithm.to_jwk(SIGNER.public_key())) | {"kid": "k1", "use": "sig", "alg": "RS256"}
        body = json.dumps({"keys": [key]}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's name
        pass


@pytest.fixture(scope="module")
def jwks() -> Iterator[str]:
    server = HTTPServer(("127.0.0.1", 0), _Issuer)
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/jwks.json"
    server.shutdown()
    server.server_close()


@pytest.fixture
def function(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, jwks: str) -> pytest.MonkeyPatch:
    """As deployed with an issuer; a test may change the environment before the first event."""
    monkeypatch.delenv("LOGS_BUCKET", raising=False)
    told = {
        "AFFIDAVIT_DATA": str(tmp_path),
        "MCP_API_KEY": KEY,
        "MCP_OAUTH_ISSUER": ISSUER,
        "MCP_OAUTH_AUDIENCE": AUDIENCE,
        "MCP_OAUTH_JWKS": jwks,
    }
    for name, value in told.items():
        monkeypatch.setenv(name, value)
    for kept in (mcp_http._settings, mcp_http._server, mcp_http._verifier):
        kept.cache_clear()
    return monkeypatch


def token(*, key: object = SIGNER, algorithm: str = "RS256", scope: str = "affidavit:read", **claims: object) -> str:
    standard = {"iss": ISSUER, "aud": AUDIENCE, "sub": "somebody", "exp": time.time() + 60, "scope": scope}
    return jwt.encode({**standard, **claims}, key, algorithm=algorithm, headers={"kid": "k1"})


def answered(bearer: str | None, body: object = LIST, *, path: str = "/mcp", method: str = "POST") -> dict[str, Any]:
    headers = {
        "host": HOST,
        "content-type": "application/json",
        "accept": "application/json, text/event-stream",
        "mcp-protocol-version": "2025-11-25",
        **({"authorization": f"Bearer {bearer}"} if bearer is not None else {}),
    }
    event = {
        "version": "2.0",
        "rawPath": path,
        "rawQueryString": "",
        "headers": headers,
        "requestContext": {"domainName": HOST, "http": {"method": method, "path": path, "sourceIp": "192.0.2.1"}},
        "body": base64.b64encode(json.dumps(body).encode()).decode(),
        "isBase64Encoded": True,
    }
    answer = mcp_http.handler(event, None)
    return {**answer, "body": base64.b64decode(answer["body"]).decode()}


@pytest.mark.usefixtures("function")
def test_the_key_and_a_token_of_the_issuer_both_open_the_door() -> None:
    for bearer in (KEY, token()):
        answer = answered(bearer)
        assert answer["statusCode"] == 200, answer
        assert "errors" in {tool["name"] for tool in json.loads(answer["body"])["result"]["tools"]}


@pytest.mark.usefixtures("function")
@pytest.mark.parametrize(
    "bad",
    [
        {"iss": "https://other.example"},
        {"aud": "another-service"},
        {"exp": 1_000_000_000},
        {"key": STRANGER},
        {"key": "x" * 32, "algorithm": "HS256"},
        {"key": "", "algorithm": "none"},
        {"nbf": 4_000_000_000},
    ],
    ids=["issuer", "audience", "expired", "signature", "shared secret", "unsigned", "not yet"],
)
def test_any_other_token_does_not(bad: dict[str, Any]) -> None:
    answer = answered(token(**bad))
    assert answer["statusCode"] == 401
    assert "invalid_token" in answer["headers"]["www-authenticate"]


@pytest.mark.usefixtures("function")
def test_without_a_token_a_client_is_told_where_to_learn_of_the_issuer() -> None:
    refused = answered(None)
    assert refused["statusCode"] == 401
    place = f"https://{HOST}/.well-known/oauth-protected-resource/mcp"
    assert f'resource_metadata="{place}"' in refused["headers"]["www-authenticate"]
    document = json.loads(answered(None, path="/.well-known/oauth-protected-resource/mcp", method="GET")["body"])
    assert document["resource"] == f"https://{HOST}/mcp"
    assert [each.rstrip("/") for each in document["authorization_servers"]] == [ISSUER]


@pytest.mark.usefixtures("function")
def test_a_token_without_the_scope_is_forbidden() -> None:
    answer = answered(token(scope="something:else"))
    assert answer["statusCode"] == 403
    assert "insufficient_scope" in answer["headers"]["www-authenticate"]


def test_a_reader_may_not_collect_with_the_collecting_function(function: pytest.MonkeyPatch) -> None:
    for name, value in {"LOGS_BUCKET": "b", "MCP_TOOLSETS": "collection", "ENABLE_COLLECTION": "true"}.items():
        function.setenv(name, value)
    arguments = {"instanceId": "i-0123456789abcdef0"}
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "collect", "arguments": arguments}}
    result = json.loads(answered(token(), call)["body"])["result"]
    assert (result["isError"], json.loads(result["content"][0]["text"])["statusCode"]) == (True, 403)


@pytest.mark.usefixtures("function")
def test_the_issuers_keys_are_not_fetched_for_every_request() -> None:
    before = _Issuer.asked
    for _ in range(3):
        assert answered(token())["statusCode"] == 200
    assert _Issuer.asked - before == 1


def test_while_the_issuers_keys_cannot_be_had_no_token_is_believed(function: pytest.MonkeyPatch) -> None:
    function.setenv("MCP_OAUTH_JWKS", "http://127.0.0.1:9/jwks.json")
    assert answered(token())["statusCode"] == 401
    assert answered(KEY)["statusCode"] == 200


def test_without_an_issuer_no_token_opens_and_nobody_is_named(function: pytest.MonkeyPatch) -> None:
    function.setenv("MCP_OAUTH_ISSUER", "")
    refused = answered(token())
    assert refused["statusCode"] == 401
    assert "resource_metadata" not in refused["headers"]["www-authenticate"]


def test_an_issuer_without_an_audience_serves_nobody(function: pytest.MonkeyPatch) -> None:
    function.setenv("MCP_OAUTH_AUDIENCE", "")
    with pytest.raises(InputRefused, match="audience"):
        answered(token())
