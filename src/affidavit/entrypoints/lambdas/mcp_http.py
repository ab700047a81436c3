"""The MCP server behind a function URL: one HTTP request an event, no sessions.

The key lies in Parameter Store; where an OAuth issuer is named, its tokens open the door too.
"""

import asyncio
from collections.abc import Mapping
from functools import cache, partial
from typing import Any

from mcp.server.auth.provider import TokenVerifier
from mcp.server.lowlevel import Server

from affidavit.adapters.aws.clients import AwsClients
from affidavit.adapters.aws.mcp_api_key import get_mcp_api_key
from affidavit.entrypoints.http.auth import AnyOfThem, KeyVerifier, StoredKeyVerifier, checked_key
from affidavit.entrypoints.http.issuer_verifiers import issuer_verifiers
from affidavit.entrypoints.http.lambda_events import answer_event
from affidavit.entrypoints.mcp.http_app import Door, http_app
from affidavit.entrypoints.mcp.server import build_server
from affidavit.entrypoints.mcp.tools.tool import toolsets_named
from affidavit.entrypoints.mcp.wiring import Wish, build_calls
from affidavit.settings import Settings


def handler(event: Mapping[str, Any], _context: object) -> dict[str, Any]:
    # AWS says by which name it was called; a client could write anything into the header.
    host = str(event.get("requestContext", {}).get("domainName", ""))
    # The session manager of the library runs once; an application is small, and one is made for each request.
    return asyncio.run(answer_event(http_app(_server(), _door(host)), event))


def _door(host: str) -> Door:
    settings = _settings()
    return Door(
        verifier=_verifier(),
        hosts=(host, f"{host}:*"),
        public_url=settings.mcp_public_url or f"https://{host}/mcp",
        issuer=settings.mcp_oauth_issuer,
        is_stateless=True,
    )


@cache
def _server() -> Server[Any]:
    settings = _settings()
    return build_server(build_calls(settings, Wish(toolsets=toolsets_named(settings.mcp_toolsets))))


@cache
def _settings() -> Settings:
    return Settings.from_environment()


@cache
def _verifier() -> TokenVerifier:
    """Kept between requests: the stored key and the issuer's keys are looked up now and then, not each time."""
    settings = _settings()
    return AnyOfThem(verifiers=(_by_key(settings), *issuer_verifiers(settings)))


def _by_key(settings: Settings) -> TokenVerifier:
    if settings.mcp_api_key:
        return KeyVerifier(key=checked_key(settings.mcp_api_key, "MCP_API_KEY"))
    return StoredKeyVerifier(partial(get_mcp_api_key, AwsClients(settings.region), settings.mcp_api_key_parameter))
