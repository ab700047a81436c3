"""Limits how many requests one client makes: over its rate it gets 429, and learns when to come again."""

import math
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from affidavit.entrypoints.http.auth import client_name

# Clients of an OAuth issuer can be many; those that come no more are forgotten.
MOST_CLIENTS: Final = 10_000


class RequestRates:
    """A minute's requests may come at once; after that, as fast as they are earned back."""

    def __init__(self, per_minute: int, *, seconds: Callable[[], float] = time.monotonic) -> None:
        self._per_minute, self._seconds = per_minute, seconds
        self._clients: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait_of(self, client: str) -> float:
        """Counts one request. 0 when it may pass, else in how many seconds the next one may."""
        now = self._seconds()
        left, seen_at = self._clients.pop(client, (float(self._per_minute), now))
        left = min(self._per_minute, left + (now - seen_at) * self._per_minute / 60)
        passes = left >= 1
        self._clients[client] = (left - 1 if passes else left, now)
        if len(self._clients) > MOST_CLIENTS:
            self._clients.popitem(last=False)
        return 0.0 if passes else (1 - left) * 60 / self._per_minute


class RateLimit:
    """Stands behind authentication. Whoever has no key is counted by address: keys are not guessed at full speed."""

    def __init__(self, app: ASGIApp, rates: RequestRates) -> None:
        self._app, self._rates = app, rates

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_counted = scope["type"] == "http" and scope["path"] != "/health"
        wait = self._rates.wait_of(_counted_as(scope)) if is_counted else 0.0
        await (_refusal(wait) if wait else self._app)(scope, receive, send)


def _counted_as(scope: Scope) -> str:
    user = scope.get("user")
    if isinstance(user, AuthenticatedUser):
        return client_name(user.access_token)
    address = scope.get("client")
    # No client's name begins with a space.
    return f" {address[0] if address else 'unknown address'}"


def _refusal(wait: float) -> JSONResponse:
    seconds = math.ceil(wait)
    return JSONResponse(
        {"error": "this client makes too many requests", "hint": f"come again in {seconds} s"},
        status_code=429,
        headers={"Retry-After": str(seconds)},
    )
