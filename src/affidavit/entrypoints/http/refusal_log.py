"""Logs refused keys and tokens: how many and from where, never their values."""

import logging
import time
from collections.abc import Callable
from typing import Final

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser, BearerAuthBackend
from mcp.server.auth.provider import TokenVerifier
from starlette.authentication import AuthCredentials
from starlette.requests import HTTPConnection

QUIET_SECONDS: Final = 60.0
_LONGEST_ADDRESS: Final = 60
_LOG = logging.getLogger(__name__)


class Refusals:
    """A line a minute at most, however often somebody tries; those in between are counted by the next."""

    def __init__(self, *, seconds: Callable[[], float] = time.monotonic) -> None:
        self._seconds = seconds
        self._told_at: float | None = None
        self._untold = 0

    def note(self, address: str) -> None:
        self._untold += 1
        if self._told_at is not None and self._seconds() - self._told_at < QUIET_SECONDS:
            return
        _LOG.warning(
            "%d request(s) with a wrong key or token refused, the last from %s",
            self._untold,
            # Printable ASCII alone: a line end in it would forge a line of the log.
            ascii(address[:_LONGEST_ADDRESS]).strip("'\""),
        )
        self._told_at, self._untold = self._seconds(), 0


class NotingBackend(BearerAuthBackend):
    """The library's own check; what it does not let in is noted."""

    def __init__(self, verifier: TokenVerifier, refusals: Refusals) -> None:
        super().__init__(verifier)
        self._refusals = refusals

    async def authenticate(self, conn: HTTPConnection) -> tuple[AuthCredentials, AuthenticatedUser] | None:
        found = await super().authenticate(conn)
        if found is None and "authorization" in conn.headers:
            self._refusals.note(conn.client.host if conn.client is not None else "an unknown address")
        return found
