"""The MCP server behind a function URL: one HTTP request an event, no sessions, the key asked of Parameter Store."""

import asyncio
import os
from collections.abc import Mapping
from functools import cache
from typing import Any

from mcp.server.lowlevel import Server

from affidavit.adapters.aws.api_key import SsmApiKey
from affidavit.adapters.aws.clients import AwsClients
from affidavit.entrypoints.lambdas.asgi import answer_event
from affidavit.entrypoints.mcp.auth import KeyVerifier
from affidavit.entrypoints.mcp.http import Door, http_app
from affidavit.entrypoints.mcp.server import build_server
from affidavit.entrypoints.mcp.tool import Toolset
from affidavit.entrypoints.mcp.wiring import Wish, build_calls
from affidavit.settings import Settings


def handler(event: Mapping[str, Any], _context: object) -> dict[str, Any]:
    # AWS says by which name it was called; a client could write anything into the header.
    host = str(event.get("requestContext", {}).get("domainName", ""))
    # The session manager of the library runs once; an application is small, and one is made for each request.
    door = Door(verifier=KeyVerifier(key=_key()), hosts=(host, f"{host}:*"), is_stateless=True)
    return asyncio.run(answer_event(http_app(_server(), door), event))


@cache
def _server() -> Server[Any]:
    wanted = frozenset(Toolset(name) for name in os.environ.get("MCP_TOOLSETS", "").split(",") if name)
    return build_server(build_calls(_settings(), Wish(toolsets=wanted or None)))


@cache
def _settings() -> Settings:
    return Settings.from_environment()


@cache
def _stored_key() -> SsmApiKey:
    return SsmApiKey(AwsClients(_settings().region), _settings().mcp_api_key_parameter)


def _key() -> str:
    return _settings().mcp_api_key or _stored_key()(refresh=False)
