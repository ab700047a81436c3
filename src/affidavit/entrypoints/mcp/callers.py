"""Who calls, and what they may do: over stdio the person who started us, over HTTP the holder of a token."""

from dataclasses import dataclass
from typing import Any

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.context import ServerRequestContext
from starlette.requests import Request

from affidavit.entrypoints.http.auth import client_name
from affidavit.entrypoints.mcp.scopes import ALL_SCOPES, AccessScope


@dataclass(frozen=True, kw_only=True)
class Caller:
    name: str
    scopes: frozenset[AccessScope]

    def may(self, scope: AccessScope) -> bool:
        return scope in self.scopes


def caller_of(ctx: ServerRequestContext[Any, Any]) -> Caller:
    request: object = ctx.request
    user: object = request.scope.get("user") if isinstance(request, Request) else None
    if isinstance(user, AuthenticatedUser):
        token = user.access_token
        held = frozenset(scope for scope in AccessScope if scope in token.scopes)
        return Caller(name=client_name(token), scopes=held)
    # An HTTP request without a user never comes this far: it is refused without a token.
    return Caller(name="local", scopes=ALL_SCOPES)
