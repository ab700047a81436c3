"""The console behind a function URL or an HTTP API: one HTTP request an event, sessions in the state table."""

import asyncio
from collections.abc import Mapping
from functools import cache
from typing import Any

from starlette.types import ASGIApp

from affidavit.bootstrap import deployed_settings
from affidavit.entrypoints.console.deployed import deployed_console
from affidavit.entrypoints.http.lambda_events import answer_event
from affidavit.entrypoints.lambdas.secret_rereading import Renewal
from affidavit.errors import InputRefused


@cache
def _console(host: str) -> ASGIApp:
    settings = deployed_settings()
    told = {"console_url": settings.console_url or f"https://{host}"}
    console = deployed_console(settings.model_copy(update=told), is_long_lived=False)
    if console is None:
        raise InputRefused("nobody can log in: CONSOLE_OIDC_ISSUER is not set", hint="see docs/console.md")
    return console


_renew = Renewal(_console.cache_clear)


def handler(event: Mapping[str, Any], _context: object) -> dict[str, Any]:
    _renew()
    # AWS says by which name it was called; a browser could write anything into the header.
    host = str(event.get("requestContext", {}).get("domainName", ""))
    return asyncio.run(answer_event(_console(host), event))
