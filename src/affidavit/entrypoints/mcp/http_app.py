"""The server over HTTP: Streamable HTTP on /mcp, the older SSE on /sse, and a health check that asks for no token."""

import contextlib
import re
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Any, Final

from mcp.server.auth.middleware.auth_context import AuthContextMiddleware
from mcp.server.auth.middleware.bearer_auth import RequireAuthMiddleware
from mcp.server.auth.provider import TokenVerifier
from mcp.server.auth.routes import build_resource_metadata_url, create_protected_resource_routes
from mcp.server.lowlevel import Server
from mcp.server.sse import SseServerTransport
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from pydantic import AnyHttpUrl, ConfigDict, TypeAdapter
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.authentication import AuthenticationMiddleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from affidavit import __version__
from affidavit.entrypoints.http.auth import READ_SCOPE
from affidavit.entrypoints.http.rate_limit import RateLimit, RequestRates
from affidavit.entrypoints.http.refusal_log import NotingBackend, Refusals
from affidavit.entrypoints.mcp.progress_and_cancellation import answered_here
from affidavit.entrypoints.mcp.scopes import AccessScope
from affidavit.entrypoints.mcp.slow_client_limits import gated

MOST_BODY_BYTES: Final = 1 << 20
_SSE_MESSAGES: Final = "/messages/"
_URL: Final = TypeAdapter(AnyHttpUrl, config=ConfigDict(url_preserve_empty_path=True))
_PAGE_SENDS: Final = (
    *("Authorization", "Content-Type", "Last-Event-ID"),
    *("Mcp-Method", "Mcp-Name", "MCP-Protocol-Version", "Mcp-Session-Id"),
)
_PAGE_READS: Final = ("Mcp-Session-Id", "Retry-After", "WWW-Authenticate")
_LOOPBACK: Final = ("127.0.0.1", "localhost", "[::1]")


@dataclass(frozen=True, kw_only=True)
class Door:
    """`hosts` are names (with port) this server may be called by besides loopback; `issuer` signs OAuth tokens.

    Pages of `origins` may call this server; other pages may not. `console` answers all other paths.
    """

    verifier: TokenVerifier
    hosts: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    public_url: str = ""
    issuer: str = ""
    is_stateless: bool = False
    rates: RequestRates | None = None
    console: ASGIApp | None = None


def http_app(server: Server[Any], door: Door) -> Starlette:
    security = _security(door)
    manager = StreamableHTTPSessionManager(
        app=server,
        security_settings=security,
        max_request_body_size=MOST_BODY_BYTES,
        stateless=door.is_stateless,
        json_response=door.is_stateless,
    )
    sse = SseServerTransport(_SSE_MESSAGES, security_settings=security, max_request_body_size=MOST_BODY_BYTES)
    metadata = build_resource_metadata_url(_url(door.public_url)) if door.issuer else None

    def guarded(app: Any) -> RequireAuthMiddleware:
        return RequireAuthMiddleware(app, [READ_SCOPE], metadata)

    streamable = guarded(answered_here(StreamableHTTPASGIApp(manager)))
    app = Starlette(
        routes=[
            Route("/health", _health),
            *(Route(path, endpoint=streamable) for path in ("/mcp", "/mcp/")),
            Route("/sse", endpoint=guarded(_sse_stream(server, sse)), methods=["GET"]),
            Mount(_SSE_MESSAGES, app=guarded(sse.handle_post_message)),
            *_metadata_routes(door),
            *([Mount("/", app=door.console)] if door.console is not None else []),
        ],
        middleware=[
            *_cors(door.origins),
            Middleware(AuthenticationMiddleware, backend=NotingBackend(door.verifier, Refusals())),
            *([Middleware(RateLimit, rates=door.rates)] if door.rates is not None else []),
            Middleware(AuthContextMiddleware),
        ],
        lifespan=_running(manager),
    )
    # It would send a client, with its key, to whatever name the request's Host has.
    app.router.redirect_slashes = False
    return app


def _cors(origins: tuple[str, ...]) -> list[Middleware]:
    """What a browser asks before a page of an allowed origin may call. It comes without a key, so before that check."""
    if not origins:
        return []
    named = "|".join(re.escape(origin).replace(r":\*", r":\d+") for origin in origins)
    allowed = Middleware(
        CORSMiddleware,
        allow_origin_regex=named,
        allow_methods=["GET", "POST", "DELETE"],
        allow_headers=_PAGE_SENDS,
        expose_headers=_PAGE_READS,
    )
    return [allowed]


def _running(manager: StreamableHTTPSessionManager) -> Any:
    @contextlib.asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncGenerator[None]:
        async with manager.run():
            yield

    return lifespan


def _sse_stream(server: Server[Any], sse: SseServerTransport) -> Any:
    async def stream(scope: Scope, receive: Receive, send: Send) -> None:
        async with sse.connect_sse(scope, receive, send) as (incoming, outgoing):
            requests, answers = gated(incoming, outgoing)
            await server.run(requests, answers, server.create_initialization_options())

    return stream


async def _health(_request: Request) -> Response:
    return JSONResponse({"status": "ok", "version": __version__})


def _metadata_routes(door: Door) -> list[BaseRoute]:
    """Where a client learns which issuer to ask for a token (RFC 9728)."""
    if not door.issuer:
        return []
    return [
        *create_protected_resource_routes(
            resource_url=_url(door.public_url),
            authorization_servers=[_url(door.issuer)],
            scopes_supported=sorted(AccessScope),
        )
    ]


def _security(door: Door) -> TransportSecuritySettings:
    """Web pages can reach a server on this machine; checking Host and Origin keeps them out."""
    hosts = [*(f"{name}:*" for name in _LOOPBACK), *door.hosts]
    return TransportSecuritySettings(
        enable_dns_rebinding_protection=True,
        allowed_hosts=hosts,
        allowed_origins=[*(f"http://{name}:*" for name in _LOOPBACK), *door.origins],
    )


def _url(text: str) -> AnyHttpUrl:
    """As it was written: clients compare issuers letter by letter, so an empty path gets no slash."""
    return _URL.validate_python(text)
