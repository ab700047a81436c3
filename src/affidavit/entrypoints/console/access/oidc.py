"""Logs in by OpenID Connect: the code flow with PKCE. What the issuer signs becomes a person with roles."""

import base64
import json
import secrets
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlencode, urlsplit

import jwt
from authlib.oauth2.rfc6749.parameters import prepare_grant_uri
from authlib.oauth2.rfc7636 import create_s256_code_challenge
from jwt.exceptions import PyJWKClientConnectionError, PyJWTError

from affidavit.entrypoints.console.access.person import Person, roles_named
from affidavit.entrypoints.http.auth import SIGNATURES
from affidavit.entrypoints.http.issuer_keys import (
    FETCH_SECONDS,
    MOST_BYTES,
    issuer_document,
    keys_at,
    without_redirects,
)
from affidavit.errors import InputRefused, UpstreamFailed
from affidavit.settings import Settings

CALLBACK: Final = "/login/callback"
_SCOPE: Final = "openid profile email"


@dataclass(frozen=True, kw_only=True)
class LoginBegun:
    """`url` is where the browser goes; the rest stays here until it comes back."""

    url: str
    verifier: str
    nonce: str


@dataclass(frozen=True, kw_only=True)
class OidcLogin:
    """`base` is the console's own address, `roles_claim` the claim that lists a person's roles."""

    issuer: str
    client_id: str
    base: str
    client_secret: str = field(default="", repr=False)
    roles_claim: str = "roles"

    def begin(self, state: str) -> LoginBegun:
        """Raises UpstreamFailed when the issuer cannot be asked."""
        verifier, nonce = secrets.token_urlsafe(48), secrets.token_urlsafe(24)
        url = prepare_grant_uri(
            self._endpoint(self._document(), "authorization_endpoint"),
            client_id=self.client_id,
            response_type="code",
            redirect_uri=self._redirect,
            scope=_SCOPE,
            state=state,
            nonce=nonce,
            code_challenge=create_s256_code_challenge(verifier),
            code_challenge_method="S256",
        )
        return LoginBegun(url=url, verifier=verifier, nonce=nonce)

    def finish(self, code: str, *, verifier: str, nonce: str) -> Person:
        """Raises InputRefused when the issuer or its token says no, UpstreamFailed when it cannot be asked."""
        document = self._document()
        claims = self._claims(self._token(document, code, verifier), document)
        if not secrets.compare_digest(str(claims.get("nonce", "")), nonce):
            raise InputRefused("the login belongs to another request", hint="log in again")
        return Person(name=_name(claims), roles=roles_named(_listed(claims.get(self.roles_claim))))

    @property
    def _redirect(self) -> str:
        return f"{self.base.rstrip('/')}{CALLBACK}"

    def _document(self) -> Mapping[str, Any]:
        try:
            return issuer_document(self.issuer)
        except PyJWKClientConnectionError as error:
            raise _unreachable(self.issuer, error) from error

    def _endpoint(self, document: Mapping[str, Any], name: str) -> str:
        """Over plain HTTP only for an issuer that was itself named so, as on one machine."""
        found = document.get(name)
        allowed = {"https", urlsplit(self.issuer).scheme}
        if not isinstance(found, str) or urlsplit(found).scheme not in allowed:
            raise UpstreamFailed(f"{self.issuer} names no {name} that can be trusted", hint="check CONSOLE_OIDC_ISSUER")
        return found

    def _token(self, document: Mapping[str, Any], code: str, verifier: str) -> str:
        fields = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": self._redirect,
            "client_id": self.client_id,
            "code_verifier": verifier,
        }
        request = urllib.request.Request(
            self._endpoint(document, "token_endpoint"), data=urlencode(fields).encode(), headers=self._headers()
        )
        try:
            with without_redirects().open(request, timeout=FETCH_SECONDS) as answer:
                told: Any = json.loads(answer.read(MOST_BYTES))
        except urllib.error.HTTPError as error:
            error.close()
            raise InputRefused(f"the issuer refused the login ({error.code})", hint="log in again") from error
        except (OSError, ValueError) as error:
            raise _unreachable(self.issuer, error) from error
        found: Any = told.get("id_token") if isinstance(told, dict) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] any JSON
        if not isinstance(found, str):
            raise UpstreamFailed(f"{self.issuer} answered without an id token", hint="allow the scope openid")
        return found

    def _headers(self) -> dict[str, str]:
        if not self.client_secret:
            return {"Accept": "application/json"}
        pair = base64.b64encode(f"{self.client_id}:{self.client_secret}".encode()).decode()
        return {"Accept": "application/json", "Authorization": f"Basic {pair}"}

    def _claims(self, token: str, document: Mapping[str, Any]) -> Mapping[str, Any]:
        try:
            key = keys_at(self._endpoint(document, "jwks_uri")).get_signing_key_from_jwt(token)
            return jwt.decode(
                token,
                key.key,
                algorithms=list(SIGNATURES),
                audience=self.client_id,
                issuer=self.issuer,
                leeway=30,
                options={"require": ["exp", "iat", "iss", "aud", "sub"]},
            )
        except PyJWKClientConnectionError as error:
            raise _unreachable(self.issuer, error) from error
        except (PyJWTError, ValueError) as error:
            raise InputRefused(f"the id token is not valid: {type(error).__name__}", hint="log in again") from error


def oidc_login(settings: Settings) -> OidcLogin | None:
    """None without an issuer. Raises InputRefused when something that goes with it is missing."""
    if not settings.console_oidc_issuer:
        return None
    if not settings.console_oidc_client_id or not settings.console_url:
        raise InputRefused(
            "CONSOLE_OIDC_ISSUER needs CONSOLE_OIDC_CLIENT_ID and CONSOLE_URL",
            hint=f"register a client whose redirect address is CONSOLE_URL{CALLBACK}",
        )
    return OidcLogin(
        issuer=settings.console_oidc_issuer,
        client_id=settings.console_oidc_client_id,
        client_secret=settings.console_oidc_client_secret,
        base=settings.console_url,
        roles_claim=settings.console_oidc_roles_claim,
    )


def _name(claims: Mapping[str, Any]) -> str:
    """A mail address only where the issuer vouches for it: people must not name themselves after others."""
    if claims.get("email_verified") is True and isinstance(claims.get("email"), str):
        return str(claims["email"])
    return str(claims["sub"])


def _listed(claim: Any) -> list[str]:
    if isinstance(claim, str):
        return claim.replace(",", " ").split()
    return [str(one) for one in claim] if isinstance(claim, Sequence) else []  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType] any JSON


def _unreachable(issuer: str, error: Exception) -> UpstreamFailed:
    return UpstreamFailed(
        f"{issuer} cannot be asked: {type(error).__name__}", hint="try again; if it stays, check CONSOLE_OIDC_ISSUER"
    )
