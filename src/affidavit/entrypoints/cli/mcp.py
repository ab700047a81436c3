"""`affidavit mcp`: start the MCP server, over stdio or HTTP."""

import logging
import os
import secrets
import signal
import socket
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import anyio
from mcp.server.auth.provider import TokenVerifier
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from affidavit.entrypoints.cli.exit_codes import Exit
from affidavit.entrypoints.http.auth import AnyOfThem, KeyVerifier, StoredKeyVerifier, checked_key
from affidavit.entrypoints.http.client_keys import ClientKeys
from affidavit.entrypoints.http.issuer_verifiers import issuer_verifiers
from affidavit.entrypoints.http.listening_socket import listener
from affidavit.entrypoints.mcp.server import build_server
from affidavit.entrypoints.mcp.slow_client_limits import gated
from affidavit.entrypoints.mcp.tools.tool import toolsets_named
from affidavit.entrypoints.mcp.wiring import Wish, build_calls
from affidavit.errors import InputRefused, InvariantBroken
from affidavit.settings import Settings
from affidavit.telemetry import flush, start_exporting

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from affidavit.entrypoints.mcp.http_app import Door

HOST: Final = "127.0.0.1"
PORT: Final = 8321
_LAST_WORDS_SECONDS: Final = 10


@dataclass(frozen=True, kw_only=True)
class McpOptions:
    is_http: bool
    host: str | None
    port: int | None
    bundles: Path | None
    toolsets: str | None
    generates_key: bool
    hosts: str
    origins: str
    keys: str
    public_url: str
    oauth_issuer: str
    oauth_audience: str
    oauth_jwks: str
    is_stateless: bool

    @property
    def of_http_alone(self) -> list[str]:
        """The given options that only work over HTTP."""
        said = {
            "--host": self.host,
            "--port": self.port,
            "--generate-key": self.generates_key,
            "--allow-host": self.hosts,
            "--allow-origin": self.origins,
            "--keys": self.keys,
            "--public-url": self.public_url,
            "--oauth-issuer": self.oauth_issuer,
            "--oauth-audience": self.oauth_audience,
            "--oauth-jwks": self.oauth_jwks,
            "--stateless": self.is_stateless,
        }
        return [option for option, value in said.items() if value]


def run_mcp(options: McpOptions) -> Exit:
    # Standard output belongs to the protocol.
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="affidavit: %(message)s", force=True)
    settings = _settled(Settings.from_environment(), options)
    if options.is_http:
        _run_http(settings, options)
    elif options.of_http_alone:
        raise InputRefused(f"{', '.join(options.of_http_alone)} without --http", hint="add --http, or leave it out")
    else:
        start_exporting()
        _run_stdio(_server(settings, options))
    return Exit.DONE


def _run_stdio(server: Server[Any]) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _leave)
    anyio.run(_serve_stdio, server)


def _run_http(settings: Settings, options: McpOptions) -> None:
    host, port = options.host or HOST, options.port or PORT
    with listener(host, port) as taken:
        verifier = _verifier(options, settings)
        start_exporting()
        url = f"http://{f'[{host}]' if ':' in host else host}:{port}/mcp"
        server, door = _server(settings, options), _door(verifier, settings, options, url)
        _serve_http(server, door, taken, url, most_connections=settings.mcp_max_connections)


def _server(settings: Settings, options: McpOptions) -> Server[Any]:
    wish = Wish(bundles=options.bundles, toolsets=toolsets_named(settings.mcp_toolsets))
    return build_server(build_calls(settings, wish))


def _settled(settings: Settings, options: McpOptions) -> Settings:
    """The settings. The command line wins over the environment."""
    said = {
        "mcp_allowed_hosts": options.hosts,
        "mcp_allowed_origins": options.origins,
        "mcp_keys_file": options.keys,
        "mcp_public_url": options.public_url,
        "mcp_oauth_issuer": options.oauth_issuer,
        "mcp_oauth_audience": options.oauth_audience,
        "mcp_oauth_jwks": options.oauth_jwks,
        "mcp_toolsets": options.toolsets,
    }
    return settings.model_copy(update={name: value for name, value in said.items() if value})


def _leave(_signal: int, _frame: object) -> None:
    """Exits at once: a thread that waits for standard input cannot be stopped, and unwinding would wait for it.

    What is on disk survives a stop at any moment, and the next start tidies up. Only telemetry is sent first, from
    another thread: the interrupted code may hold a lock that sending needs.
    """
    threading.Thread(target=_send_and_end, daemon=True).start()


def _send_and_end() -> None:
    sending = threading.Thread(target=flush, daemon=True)
    sending.start()
    sending.join(_LAST_WORDS_SECONDS)
    os._exit(Exit.INTERRUPTED)


async def _serve_stdio(server: Server[Any]) -> None:
    async with stdio_server() as (incoming, outgoing):
        requests, answers = gated(incoming, outgoing)
        await server.run(requests, answers, server.create_initialization_options())


def _serve_http(server: Server[Any], door: "Door", taken: socket.socket, url: str, *, most_connections: int) -> None:
    import uvicorn

    from affidavit.entrypoints.http.connection_limits import ConnectionLimits, bounded_protocol
    from affidavit.entrypoints.mcp.http_app import http_app

    print(f"affidavit: MCP on {url} (SSE: /sse, health: /health)", file=sys.stderr)
    protocol = bounded_protocol(ConnectionLimits(most=most_connections))
    config = uvicorn.Config(
        _with_hooks(http_app(server, door)), http=protocol, ws="none", log_level="warning", access_log=False
    )
    serving = uvicorn.Server(config)
    with suppress(KeyboardInterrupt):  # it has ended in good order, and says this last
        serving.run([taken])
    if not serving.started:
        raise InvariantBroken("the HTTP server did not start", hint="the lines before this one say why")


def _with_hooks(app: "ASGIApp") -> "ASGIApp":
    """The webhooks beside it, where a secret of a source is set."""
    from affidavit.bootstrap import build_app
    from affidavit.entrypoints.http.hooks.app import beside, hooks_app
    from affidavit.entrypoints.http.hooks.wiring import build_hooks, hook_secrets

    settings = Settings.from_environment()
    if not hook_secrets(settings):
        return app
    hooks = build_hooks(build_app(settings), emit=_to_errors, runs_here=True)
    if hooks is None:
        return app
    print(f"affidavit: alerts on /hooks/{{{', '.join(hooks.secrets)}}}", file=sys.stderr)
    return beside(app, hooks_app(hooks))


def _to_errors(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _door(verifier: TokenVerifier, settings: Settings, options: McpOptions, url: str) -> "Door":
    from affidavit.entrypoints.http.rate_limit import RequestRates
    from affidavit.entrypoints.mcp.http_app import Door

    return Door(
        verifier=verifier,
        hosts=_listed(settings.mcp_allowed_hosts),
        origins=_listed(settings.mcp_allowed_origins),
        public_url=settings.mcp_public_url or url,
        issuer=settings.mcp_oauth_issuer,
        is_stateless=options.is_stateless,
        rates=RequestRates(settings.mcp_requests_per_minute),
        console=_console(settings),
    )


def _console(settings: Settings) -> "ASGIApp | None":
    """Where people can log in, the console is served too."""
    if not settings.console_oidc_issuer:
        return None
    from affidavit.entrypoints.console.deployed import deployed_console

    return deployed_console(settings, is_long_lived=True)


def _verifier(options: McpOptions, settings: Settings) -> TokenVerifier:
    in_file = (ClientKeys(Path(settings.mcp_keys_file)),) if settings.mcp_keys_file else ()
    verifiers = (*in_file, *_by_key(options, settings), *issuer_verifiers(settings))
    if not verifiers:
        raise InputRefused(
            "the HTTP server has no key, and without one everybody could read your logs",
            hint="set MCP_API_KEY, or start with --generate-key or --keys, or name an OAuth issuer with --oauth-issuer",
        )
    return AnyOfThem(verifiers=verifiers)


def _by_key(options: McpOptions, settings: Settings) -> tuple[TokenVerifier, ...]:
    key = settings.mcp_api_key
    if options.generates_key:
        key = secrets.token_urlsafe(32)
        print(f"affidavit: key of this server, shown once: {key}", file=sys.stderr)
    elif not (key or settings.is_local or settings.mcp_oauth_issuer or settings.mcp_keys_file):
        return (StoredKeyVerifier(_stored_key(settings)),)
    return (KeyVerifier(key=checked_key(key, "MCP_API_KEY")),) if key else ()


def _stored_key(settings: Settings) -> Callable[[], str]:
    from affidavit.adapters.aws.clients import AwsClients
    from affidavit.adapters.aws.mcp_api_key import get_mcp_api_key

    return partial(get_mcp_api_key, AwsClients(settings.region), settings.mcp_api_key_parameter)


def _listed(text: str) -> tuple[str, ...]:
    return tuple(part for each in text.split(",") if (part := each.strip()))
