"""`affidavit mcp`: its arguments and help."""

from pathlib import Path
from typing import Annotated

import typer


def mcp(
    http: Annotated[bool, typer.Option("--http", help="Serve Streamable HTTP (and SSE) instead of stdio.")] = False,
    host: Annotated[
        str | None, typer.Option(help="With --http: address to listen on.", show_default="127.0.0.1")
    ] = None,
    port: Annotated[
        int | None, typer.Option(min=1, max=65535, help="With --http: port to listen on.", show_default="8321")
    ] = None,
    bundles: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Answer from the bundles in this folder, without AWS."),
    ] = None,
    toolsets: Annotated[
        str | None, typer.Option(help="Only these, separated by commas: nodes, collection, lambda.")
    ] = None,
    generate_key: Annotated[
        bool, typer.Option("--generate-key", help="With --http: make a key and print it once to standard error.")
    ] = False,
    allow_host: Annotated[
        str, typer.Option(help="With --http: Host headers to accept besides loopback (MCP_ALLOWED_HOSTS).")
    ] = "",
    allow_origin: Annotated[
        str, typer.Option(help="With --http: Origin headers to accept besides loopback (MCP_ALLOWED_ORIGINS).")
    ] = "",
    keys: Annotated[
        str,
        typer.Option(
            metavar="FILE",
            help="With --http: keys of clients with their scopes, made by `affidavit keys add` (MCP_KEYS_FILE).",
        ),
    ] = "",
    public_url: Annotated[
        str, typer.Option(help="With --http: the address clients use, for OAuth metadata (MCP_PUBLIC_URL).")
    ] = "",
    oauth_issuer: Annotated[str, typer.Option(help="Accept tokens that this issuer signed (MCP_OAUTH_ISSUER).")] = "",
    oauth_audience: Annotated[str, typer.Option(help="The audience such a token must name (MCP_OAUTH_AUDIENCE).")] = "",
    oauth_jwks: Annotated[
        str, typer.Option(help="Where the issuer's keys are, if not where it says itself (MCP_OAUTH_JWKS).")
    ] = "",
    stateless: Annotated[
        bool, typer.Option("--stateless", help="With --http: keep no sessions, answer in plain JSON.")
    ] = False,
) -> None:
    """Serve the tools to agents and editors (Model Context Protocol).

    Over stdio for a client that starts it; over HTTP with a key (MCP_API_KEY, --keys) or OAuth tokens.

    Example: affidavit mcp --bundles bundles
    """
    from affidavit.entrypoints.cli.mcp import McpOptions, run_mcp

    options = McpOptions(
        is_http=http,
        host=host,
        port=port,
        bundles=bundles,
        toolsets=toolsets,
        generates_key=generate_key,
        hosts=allow_host,
        origins=allow_origin,
        keys=keys,
        public_url=public_url,
        oauth_issuer=oauth_issuer,
        oauth_audience=oauth_audience,
        oauth_jwks=oauth_jwks,
        is_stateless=stateless,
    )
    raise typer.Exit(run_mcp(options))
