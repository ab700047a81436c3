"""Finds an OAuth issuer's keys by OpenID Connect discovery or RFC 8414.

Whatever is not as it should be means that no token is believed.
"""

import json
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from typing import Any, Final
from urllib.parse import urlsplit, urlunsplit

import jwt
from jwt.exceptions import PyJWKClientConnectionError

FETCH_SECONDS: Final = 5.0
# The address of keys hardly ever changes; the keys themselves are fetched again every five minutes.
KEPT_SECONDS: Final = 3600.0
# A token can be anybody's: not every one of them may make us ask an issuer that does not answer.
REST_SECONDS: Final = 10.0
MOST_BYTES: Final = 1 << 20


class IssuerKeys:
    """Safe to share between threads."""

    def __init__(self, issuer: str, *, seconds: Callable[[], float] = time.monotonic) -> None:
        self._issuer, self._seconds = issuer, seconds
        self._lock = threading.Lock()
        self._found: tuple[float, jwt.PyJWKClient] | None = None
        self._failed: tuple[float, str] | None = None

    def client(self) -> jwt.PyJWKClient:
        """Raises PyJWKClientConnectionError when the issuer's keys cannot be found."""
        with self._lock:
            if self._found is None or self._seconds() - self._found[0] >= KEPT_SECONDS:
                self._found = None
                self._found = (self._seconds(), self._discovered())
            return self._found[1]

    def _discovered(self) -> jwt.PyJWKClient:
        if self._failed is not None and self._seconds() - self._failed[0] < REST_SECONDS:
            raise PyJWKClientConnectionError(self._failed[1])
        try:
            return keys_at(_address(self._issuer))
        except PyJWKClientConnectionError as error:
            self._failed = (self._seconds(), str(error))
            raise


def keys_at(url: str) -> jwt.PyJWKClient:
    """Keys are not kept one by one: those would be believed for ever, also when the issuer has withdrawn them."""
    return jwt.PyJWKClient(url, timeout=FETCH_SECONDS)


def issuer_document(issuer: str) -> dict[str, Any]:
    """What an issuer says of itself. It has to name the very issuer it was asked for: nobody can speak for another.

    Raises PyJWKClientConnectionError.
    """
    document = next((found for url in _places(issuer) if (found := _fetched(url)) is not None), None)
    if document is None:
        raise PyJWKClientConnectionError(f"{issuer} says nowhere where its keys are")
    if document.get("issuer") != issuer:
        raise PyJWKClientConnectionError(f"the document of {issuer} names another issuer")
    return document


def _address(issuer: str) -> str:
    """Of the keys."""
    url = issuer_document(issuer).get("jwks_uri")
    if not isinstance(url, str) or urlsplit(url).scheme not in _schemes(issuer):
        raise PyJWKClientConnectionError(f"the document of {issuer} has no address of keys that can be trusted")
    return url


def _places(issuer: str) -> tuple[str, str]:
    parts = urlsplit(issuer)
    path = parts.path.rstrip("/")
    oauth = urlunsplit((parts.scheme, parts.netloc, f"/.well-known/oauth-authorization-server{path}", "", ""))
    return f"{issuer.rstrip('/')}/.well-known/openid-configuration", oauth


def _schemes(issuer: str) -> frozenset[str]:
    """Over plain HTTP only for an issuer that was itself named so, as on one machine."""
    return frozenset({"https", "http"}) if urlsplit(issuer).scheme == "http" else frozenset({"https"})


def _fetched(url: str) -> dict[str, Any] | None:
    """None when there is no such document."""
    try:
        with without_redirects().open(url, timeout=FETCH_SECONDS) as response:
            found: Any = json.loads(response.read(MOST_BYTES))
    except urllib.error.HTTPError as error:
        error.close()
        if error.code == 404:
            return None
        raise PyJWKClientConnectionError(f"{url} answered {error.code}") from error
    except (OSError, ValueError) as error:
        raise PyJWKClientConnectionError(f"{url}: {type(error).__name__}") from error
    if not isinstance(found, dict):
        raise PyJWKClientConnectionError(f"{url} holds no document")
    return found  # pyright: ignore[reportUnknownVariableType]  # a JSON object, whose values are checked one by one


def without_redirects() -> urllib.request.OpenerDirector:
    return urllib.request.build_opener(_NoRedirect())


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Who can redirect us could name any keys."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None
