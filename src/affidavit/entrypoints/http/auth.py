"""Verifies API keys and OAuth tokens of HTTP requests."""

import hashlib
import hmac
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

import anyio.to_thread
import jwt
from jwt.exceptions import PyJWKClientConnectionError, PyJWTError
from mcp.server.auth.provider import AccessToken, TokenVerifier

from affidavit.entrypoints.http.issuer_keys import IssuerKeys, keys_at
from affidavit.entrypoints.mcp.scopes import ALL_SCOPES, AccessScope
from affidavit.errors import AffidavitError, InputRefused

READ_SCOPE: Final = AccessScope.READ
# Only signatures that need the issuer's private key: a shared secret could be anybody's.
SIGNATURES: Final = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
LOOKED_UP_AGAIN: Final = 300.0
_SHORTEST_KEY: Final = 16
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class KeyVerifier:
    """One key for everything. Compared as digests, so neither its length nor its start shows in the time it takes."""

    key: str = field(repr=False)

    async def verify_token(self, token: str) -> AccessToken | None:
        if not hmac.compare_digest(_digest(token), _digest(self.key)):
            return None
        return AccessToken(token="", client_id="key", scopes=sorted(ALL_SCOPES))


class StoredKeyVerifier:
    """The key that a store holds, looked up again every five minutes, so that a rotated one needs no restart.

    While the store cannot be asked, the key it held last still opens: an outage there must not shut people out here.
    """

    def __init__(self, fetch: Callable[[], str], *, seconds: Callable[[], float] = time.monotonic) -> None:
        """Asks at once. Raises InputRefused when there is no key, or one too short to be safe."""
        self._fetch, self._seconds = fetch, seconds
        self._key, self._looked_at = checked_key(fetch(), "the stored key"), seconds()

    async def verify_token(self, token: str) -> AccessToken | None:
        if self._seconds() - self._looked_at >= LOOKED_UP_AGAIN:
            self._looked_at = self._seconds()
            await anyio.to_thread.run_sync(self._look)
        return await KeyVerifier(key=self._key).verify_token(token)

    def _look(self) -> None:
        try:
            self._key = checked_key(self._fetch(), "the stored key")
        except AffidavitError as error:
            _LOG.warning("the key could not be looked up, the last one stays: %s", error)


def checked_key(key: str, name: str) -> str:
    if len(key) < _SHORTEST_KEY:
        raise InputRefused(f"{name} is too short to be safe", hint=f"use at least {_SHORTEST_KEY} random characters")
    return key


@dataclass(frozen=True, kw_only=True)
class JwtVerifier:
    """Tokens of one issuer, for one audience, checked against the issuer's published keys.

    Without `jwks_url` the issuer is asked where they are.
    """

    issuer: str
    audience: str
    jwks_url: str = ""

    async def verify_token(self, token: str) -> AccessToken | None:
        try:
            claims = await anyio.to_thread.run_sync(self._claims, token)
            scopes = _scopes(claims)
        except PyJWKClientConnectionError as error:
            # Not the token's fault: whoever runs the server has to hear of it.
            _LOG.warning("a token was refused, its key could not be had: %s", error)
            return None
        except (PyJWTError, ValueError, TypeError) as error:
            _LOG.info("a token was refused: %s", type(error).__name__)
            return None
        subject = str(claims["sub"])
        return AccessToken(
            token="",
            client_id=str(claims.get("client_id") or claims.get("azp") or subject),
            subject=subject,
            scopes=scopes,
            expires_at=int(claims["exp"]),
        )

    @cached_property
    def _keys(self) -> Callable[[], jwt.PyJWKClient]:
        if not self.jwks_url:
            return IssuerKeys(self.issuer).client
        client = keys_at(self.jwks_url)
        return lambda: client

    def _claims(self, token: str) -> dict[str, Any]:
        key = self._keys().get_signing_key_from_jwt(token)
        return jwt.decode(
            token,
            key.key,
            algorithms=list(SIGNATURES),
            audience=self.audience,
            issuer=self.issuer,
            leeway=30,
            options={"require": ["exp", "iss", "aud", "sub"]},
        )


@dataclass(frozen=True, kw_only=True)
class AnyOfThem:
    verifiers: tuple[TokenVerifier, ...]

    async def verify_token(self, token: str) -> AccessToken | None:
        for verifier in self.verifiers:
            if (found := await verifier.verify_token(token)) is not None:
                return found
        return None


def client_name(token: AccessToken) -> str:
    """Whom a token or key belongs to."""
    return token.subject or token.client_id


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).digest()


def _scopes(claims: dict[str, Any]) -> list[str]:
    """Raises TypeError when the claim is neither text nor a list: such a token is refused."""
    found: Any = claims.get("scope", claims.get("scp", ""))
    if isinstance(found, str):
        return found.split()
    if not isinstance(found, list):
        raise TypeError("the token's scope is neither text nor a list")
    return [str(each) for each in found]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]  # JSON
