"""Tokens of an issuer whose keys are found by discovery, over a real HTTP server."""

import asyncio
import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from jwt.algorithms import RSAAlgorithm
from jwt.exceptions import PyJWKClientError

from affidavit.entrypoints.http.auth import JwtVerifier
from affidavit.entrypoints.http.issuer_keys import KEPT_SECONDS, REST_SECONDS, IssuerKeys
from affidavit.entrypoints.http.issuer_verifiers import issuer_verifiers
from affidavit.settings import Settings

OPENID = "/tenant/.well-known/openid-configuration"
OAUTH = "/.well-known/oauth-authorization-server/tenant"
KEYS = "/keys/somewhere"
SIGNER, STRANGER = (rsa.generate_private_key(public_exponent=65537, key_size=2048) for _ in range(2))


class Issuer:
    """Answers what `pages` hold: JSON, or a status with headers."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.pages: dict[str, Any] = {}
        issuer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                issuer.asked.append(self.path)
                page = issuer.pages.get(self.path, (404, {}))
                status, headers = page if isinstance(page, tuple) else (200, {})
                body = (
                    b"" if isinstance(page, tuple) else page if isinstance(page, bytes) else json.dumps(page).encode()
                )
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()
        self.root = f"http://127.0.0.1:{self.server.server_address[1]}"
        self.url = f"{self.root}/tenant"
        self.pages = {OPENID: {"issuer": self.url, "jwks_uri": self.root + KEYS}, KEYS: keys(SIGNER, "k1")}

    def token(self, *, signer: rsa.RSAPrivateKey = SIGNER, kid: str = "k1", **claims: object) -> str:
        standard = {"iss": self.url, "aud": "us", "sub": "somebody", "exp": time.time() + 60, "scope": "affidavit:read"}
        return jwt.encode({**standard, **claims}, signer, algorithm="RS256", headers={"kid": kid})


def keys(signer: rsa.RSAPrivateKey, kid: str) -> dict[str, object]:
    return {"keys": [json.loads(RSAAlgorithm.to_jwk(signer.public_key())) | {"kid": kid, "use": "sig", "alg": "RS256"}]}


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    issuer = Issuer()
    yield issuer
    issuer.server.shutdown()
    issuer.server.server_close()


@pytest.fixture
def verifier(issuer: Issuer) -> JwtVerifier:
    settings = Settings.from_environment({"MCP_OAUTH_ISSUER": issuer.url, "MCP_OAUTH_AUDIENCE": "us"})
    (found,) = issuer_verifiers(settings)
    assert isinstance(found, JwtVerifier)
    assert issuer.asked == []
    return found


def is_let_in(verifier: JwtVerifier, token: str) -> bool:
    return asyncio.run(verifier.verify_token(token)) is not None


def test_the_issuer_says_where_its_keys_are_and_is_asked_once(issuer: Issuer, verifier: JwtVerifier) -> None:
    for _ in range(5):
        assert is_let_in(verifier, issuer.token())
    assert issuer.asked == [OPENID, KEYS]
    assert not is_let_in(verifier, issuer.token(signer=STRANGER))
    assert not is_let_in(verifier, issuer.token(aud="them"))
    assert not is_let_in(verifier, issuer.token(iss=issuer.root))


def test_an_issuer_of_plain_oauth_is_found_by_its_own_document(issuer: Issuer, verifier: JwtVerifier) -> None:
    issuer.pages[OAUTH] = issuer.pages.pop(OPENID)
    assert is_let_in(verifier, issuer.token())
    assert issuer.asked == [OPENID, OAUTH, KEYS]


@pytest.mark.parametrize(
    ("page", "why"),
    [
        ((404, {}), "no document"),
        ((500, {}), "broken"),
        (b"<html>", "no JSON"),
        ([1], "no object"),
        ({"jwks_uri": "{root}/keys/somewhere"}, "no issuer"),
        ({"issuer": "{root}/another", "jwks_uri": "{root}/keys/somewhere"}, "another issuer"),
        ({"issuer": "{root}/tenant/", "jwks_uri": "{root}/keys/somewhere"}, "a slash is another issuer"),
        ({"issuer": "{root}/tenant"}, "no address"),
        ({"issuer": "{root}/tenant", "jwks_uri": 7}, "no text"),
        ({"issuer": "{root}/tenant", "jwks_uri": "file:///etc/passwd"}, "another scheme"),
        ({"issuer": "{root}/tenant", "jwks_uri": "{root}/nowhere"}, "no keys there"),
        ({"issuer": "{root}/tenant", "jwks_uri": "{root}/broken"}, "no JSON there"),
        ((302, {"Location": "{root}/elsewhere"}), "a redirect"),
    ],
)
def test_whatever_is_not_as_it_should_be_lets_nobody_in(
    issuer: Issuer, verifier: JwtVerifier, page: Any, why: str
) -> None:
    elsewhere = issuer.pages[OPENID]
    text = json.dumps(page if not isinstance(page, bytes) else None).replace("{root}", issuer.root)
    issuer.pages[OPENID] = page if isinstance(page, bytes) else json.loads(text)
    if isinstance(page, tuple):
        issuer.pages[OPENID] = tuple(issuer.pages[OPENID])
    issuer.pages |= {"/elsewhere": elsewhere, "/broken": b"<html>"}
    assert not is_let_in(verifier, issuer.token()), why
    assert "/elsewhere" not in issuer.asked


def test_an_issuer_that_is_not_there_lets_nobody_in(issuer: Issuer) -> None:
    verifier = JwtVerifier(issuer="http://127.0.0.1:1", audience="us")
    assert not is_let_in(verifier, issuer.token(iss="http://127.0.0.1:1"))


def test_an_issuer_over_https_cannot_send_us_to_plain_http(monkeypatch: pytest.MonkeyPatch) -> None:
    document = {"issuer": "https://issuer.example", "jwks_uri": "http://issuer.example/keys"}
    monkeypatch.setattr("affidavit.entrypoints.http.issuer_keys._fetched", lambda _url: document)
    with pytest.raises(PyJWKClientError, match="trusted"):
        IssuerKeys("https://issuer.example").client()


def test_what_was_found_is_looked_up_again_after_an_hour_and_a_failure_after_seconds(issuer: Issuer) -> None:
    now = 0.0
    found = IssuerKeys(issuer.url, seconds=lambda: now)
    first = found.client()
    now = KEPT_SECONDS - 1
    assert found.client() is first and issuer.asked == [OPENID]

    page = issuer.pages.pop(OPENID)
    now = KEPT_SECONDS
    for _ in range(3):
        with pytest.raises(PyJWKClientError):
            found.client()
    assert issuer.asked == [OPENID, OPENID, OAUTH]
    issuer.pages[OPENID] = page
    now += REST_SECONDS
    assert found.client() is not first


def test_a_key_that_the_issuer_withdrew_opens_no_longer_than_its_keys_are_kept(
    issuer: Issuer, verifier: JwtVerifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert is_let_in(verifier, issuer.token())
    issuer.pages[KEYS] = keys(STRANGER, "k2")
    real = time.monotonic
    monkeypatch.setattr("time.monotonic", lambda: real() + 301)
    assert not is_let_in(verifier, issuer.token())
    assert is_let_in(verifier, issuer.token(signer=STRANGER, kid="k2"))
