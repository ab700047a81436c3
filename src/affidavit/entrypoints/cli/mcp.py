"""`affidavit mcp`: start the MCP server, over stdio or HTTP."""

import logging
import os
import secrets
import signal
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import anyio
from mcp.server.auth.provider import TokenVerifier
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from affidavit.entrypoints.cli.exits import Exit
from affidavit.entrypoints.mcp.auth import AnyOfThem, KeyVerifier, StoredKeyVerifier, checked_key
from affidavit.entrypoints.mcp.issuer import issuer_verifiers
from affidavit.entrypoints.mcp.server import build_server
from affidavit.entrypoints.mcp.tool import toolsets_named
from affidavit.entrypoints.mcp.wiring import Wish, build_calls
from affidavit.errors import InputRefused
from affidavit.settings import Settings
from affidavit.telemetry import flush, start_exporting

_LAST_WORDS_SECONDS = 10


@dataclass(frozen=True, kw_only=True)
class McpOptions:
    is_http: bool
    host: str
    port: int
    bundles: Path | None
    toolsets: str | None
    generates_key: bool
    hosts: str
    origins: str
    public_url: str
    oauth_issuer: str
    oauth_audience: str
    oauth_jwks: str
    is_stateless: bool


def run_mcp(options: McpOptions) -> Exit:
    # Standard output belongs to the protocol.
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="affidavit: %(message)s", force=True)
    settings = _settled(Settings.from_environment(), options)
    verifier = _verifier(options, settings) if options.is_http else None
    start_exporting()
    wish = Wish(bundles=options.bundles, toolsets=toolsets_named(settings.mcp_toolsets))
    server = build_server(build_calls(settings, wish))
    if verifier is None:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, _leave)
        anyio.run(_serve_stdio, server)
    else:
        _serve_http(server, verifier, settings, options)
    return Exit.DONE


def _settled(settings: Settings, options: McpOptions) -> Settings:
    """What the command line says comes before the environment."""
    said = {
        "mcp_allowed_hosts": options.hosts,
        "mcp_allowed_origins": options.origins,
        "mcp_public_url": options.public_url,
        "mcp_oauth_issuer": options.oauth_issuer,
        "mcp_oauth_audience": options.oauth_audience,
        "mcp_oauth_jwks": options.oauth_jwks,
        "mcp_toolsets": options.toolsets,
    }
    return settings.model_copy(update={name: value for name, value in said.items() if value})


def _leave(_signal: int, _frame: object) -> None:
    """At once: a thread that waits for standard input cannot be called off, and unwinding would wait for it.

    What is on disk survives a stop at any moment, and the next start tidies up. Only telemetry is sent first, from
    another thread: what was interrupted here may hold a lock that sending needs.
    """
    threading.Thread(target=_send_and_end, daemon=True).start()


def _send_and_end() -> None:
    sending = threading.Thread(target=flush, daemon=True)
    sending.start()
    sending.join(_LAST_WORDS_SECONDS)
    os._exit(Exit.INTERRUPTED)


async def _serve_stdio(server: Server[Any]) -> None:
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


def _serve_http(server: Server[Any], verifier: TokenVerifier, settings: Settings, options: McpOptions) -> None:
    import uvicorn

    from affidavit.entrypoints.mcp.http import Door, http_app

    door = Door(
        verifier=verifier,
        hosts=_listed(settings.mcp_allowed_hosts),
        origins=_listed(settings.mcp_allowed_origins),
        public_url=settings.mcp_public_url or f"http://{options.host}:{options.port}/mcp",
        issuer=settings.mcp_oauth_issuer,
        is_stateless=options.is_stateless,
    )
    print(f"affidavit: MCP on http://{options.host}:{options.port}/mcp (SSE: /sse, health: /health)", file=sys.stderr)
    uvicorn.run(http_app(server, door), host=options.host, port=options.port, log_level="warning", access_log=False)


def _verifier(options: McpOptions, settings: Settings) -> TokenVerifier:
    verifiers = (*_by_key(options, settings), *issuer_verifiers(settings))
    if not verifiers:
        raise InputRefused(
            "the HTTP server has no key, and without one everybody could read your logs",
            hint="set MCP_API_KEY, or start with --generate-key, or name an OAuth issuer with --oauth-issuer",
        )
    return AnyOfThem(verifiers=verifiers)


def _by_key(options: McpOptions, settings: Settings) -> tuple[TokenVerifier, ...]:
    key = settings.mcp_api_key
    if options.generates_key:
        key = secrets.token_urlsafe(32)
        print(f"affidavit: key of this server, shown once: {key}", file=sys.stderr)
    elif not key and not settings.is_local and not settings.mcp_oauth_issuer:
        return (StoredKeyVerifier(_stored_key(settings)),)
    return (KeyVerifier(key=checked_key(key, "MCP_API_KEY")),) if key else ()


def _stored_key(settings: Settings) -> Callable[[], str]:
    from affidavit.adapters.aws.api_key import get_mcp_api_key
    from affidavit.adapters.aws.clients import AwsClients

    return partial(get_mcp_api_key, AwsClients(settings.region), settings.mcp_api_key_parameter)


def _listed(text: str) -> tuple[str, ...]:
    return tuple(part for each in text.split(",") if (part := each.strip()))
