"""Who asks: over stdio the person who started us, over HTTP whoever a token stands for."""

from dataclasses import dataclass
from typing import Any

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.context import ServerRequestContext
from starlette.requests import Request

from affidavit.entrypoints.mcp.calls import COLLECT_SCOPE


@dataclass(frozen=True, kw_only=True)
class Caller:
    name: str
    may_act: bool


def caller_of(ctx: ServerRequestContext[Any, Any]) -> Caller:
    request: object = ctx.request
    user: object = request.scope.get("user") if isinstance(request, Request) else None
    if isinstance(user, AuthenticatedUser):
        token = user.access_token
        return Caller(name=token.subject or token.client_id, may_act=COLLECT_SCOPE in token.scopes)
    # An HTTP request without a user never comes this far: the door asks for a token first.
    return Caller(name="local", may_act=True)
