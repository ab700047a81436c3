"""Logging in by OpenID Connect, against a real issuer on this machine that speaks the code flow with PKCE."""

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from tests.support.pages.console import ServedConsole, served
from tests.support.peers.peer_issuer import PeerIssuer, peer_issuer

from affidavit.entrypoints.console.access.oidc import OidcLogin, oidc_login
from affidavit.entrypoints.console.access.person import PersonRole
from affidavit.errors import InputRefused
from affidavit.settings import Settings


@pytest.fixture
def issuer() -> Iterator[PeerIssuer]:
    with peer_issuer() as issuer:
        yield issuer


@pytest.fixture
def console(tmp_path: Path, issuer: PeerIssuer) -> Iterator[ServedConsole]:
    with served(
        tmp_path, takes_links=False, oidc=lambda base: OidcLogin(issuer=issuer.url, client_id="c", base=base)
    ) as it:
        yield it


def begun(console: ServedConsole, client: httpx.Client, wanted: str = "/nodes") -> str:
    """Where the issuer sends the browser back to."""
    started = client.get(f"{console.base}/login/start", params={"next": wanted})
    assert started.status_code == 303, started.text
    return client.get(started.headers["location"]).headers["location"]


def test_a_person_logs_in_and_gets_the_roles_of_the_claim(console: ServedConsole, issuer: PeerIssuer) -> None:
    issuer.claims = {"sub": "u-1", "email": "ada@example.com", "email_verified": True, "roles": ["viewer", "other"]}
    with httpx.Client() as client:
        answer = client.get(begun(console, client))
        assert (answer.status_code, answer.headers["location"]) == (303, "/nodes")
        assert client.get(f"{console.base}/").status_code == 200
    session = console.desk.sessions.of("ada@example.com")[0]
    assert session.person.roles == {PersonRole.VIEWER}


def test_the_request_carries_pkce_state_and_nonce(console: ServedConsole) -> None:
    started = httpx.get(f"{console.base}/login/start")
    asked = parse_qs(urlsplit(started.headers["location"]).query)
    assert asked["code_challenge_method"] == ["S256"] and asked["response_type"] == ["code"]
    assert len(asked["state"][0]) > 30 and len(asked["nonce"][0]) > 20
    assert asked["redirect_uri"] == [f"{console.base}/login/callback"]
    assert "httponly" in started.headers["set-cookie"].lower()


def test_an_address_that_nobody_vouches_for_is_no_name(console: ServedConsole, issuer: PeerIssuer) -> None:
    issuer.claims = {"sub": "u-2", "email": "boss@example.com", "roles": "operator"}
    with httpx.Client() as client:
        client.get(begun(console, client))
    assert console.desk.sessions.of("boss@example.com") == []
    assert len(console.desk.sessions.of("u-2")) == 1


def test_a_login_comes_back_in_the_browser_that_began_it_and_once(console: ServedConsole) -> None:
    with httpx.Client() as client:
        back = begun(console, client)
        assert httpx.get(back).status_code == 403  # another browser
        assert client.get(back).status_code == 303
        assert client.get(back).status_code == 403


@pytest.mark.parametrize(
    "claims",
    [
        {"sub": "u", "roles": ["admin"]},
        {"sub": "u"},
        {"sub": "u", "roles": ["operator"], "aud": "another-client"},
        {"sub": "u", "roles": ["operator"], "iss": "http://evil.example"},
        {"sub": "u", "roles": ["operator"], "exp": 1},
        {"sub": "u", "roles": ["operator"], "nonce": "of another login"},
        {"roles": ["operator"]},
    ],
)
def test_a_token_that_is_not_for_this_login_opens_nothing(
    console: ServedConsole, issuer: PeerIssuer, claims: dict[str, object]
) -> None:
    issuer.claims = claims
    with httpx.Client() as client:
        answer = client.get(begun(console, client))
        assert answer.status_code in (400, 403)
        assert client.get(f"{console.base}/").status_code == 303


def test_a_token_of_another_key_or_of_a_shared_secret_opens_nothing(console: ServedConsole, issuer: PeerIssuer) -> None:
    with httpx.Client() as client:
        back = begun(console, client)
        published = issuer.keys()
        issuer.key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        issuer.keys = lambda: published  # type: ignore[method-assign]
        assert client.get(back).status_code == 400
    issuer.algorithm = "HS256"
    with httpx.Client() as client:
        assert client.get(begun(console, client)).status_code == 400


def test_who_the_issuer_turns_away_is_told(console: ServedConsole, issuer: PeerIssuer) -> None:
    issuer.says_no = True
    with httpx.Client() as client:
        assert "did not let you in" in client.get(begun(console, client)).text


def test_an_issuer_that_is_down_is_said_to_be(console: ServedConsole, issuer: PeerIssuer) -> None:
    issuer.document = lambda: {"issuer": "http://somebody.example"}  # type: ignore[method-assign]
    answer = httpx.get(f"{console.base}/login/start")
    assert (answer.status_code, "cannot be asked" in answer.text) == (502, True)


def test_after_the_login_nobody_is_sent_to_another_site(console: ServedConsole) -> None:
    with httpx.Client() as client:
        assert client.get(begun(console, client, "//evil.example/")).headers["location"] == "/"


def test_without_an_issuer_there_is_no_such_door(tmp_path: Path) -> None:
    with served(tmp_path) as console:
        assert httpx.get(f"{console.base}/login/start").status_code == 404
        assert httpx.get(f"{console.base}/login/callback?state=x&code=y").status_code == 404


def test_an_issuer_needs_a_client_and_an_address() -> None:
    assert oidc_login(Settings()) is None
    with pytest.raises(InputRefused, match="CONSOLE_OIDC_CLIENT_ID"):
        oidc_login(Settings.model_validate({"CONSOLE_OIDC_ISSUER": "https://issuer.example"}))
