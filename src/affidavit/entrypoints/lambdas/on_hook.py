"""A monitoring system posted alerts to a function URL: they are stored, and the watchdog investigates them."""

import asyncio
from collections.abc import Mapping
from functools import cache
from typing import Any

from starlette.applications import Starlette

from affidavit.bootstrap import build_app, deployed_settings
from affidavit.entrypoints.http.hooks.app import hooks_app
from affidavit.entrypoints.http.hooks.wiring import build_hooks
from affidavit.entrypoints.http.lambda_events import answer_event
from affidavit.entrypoints.lambdas.secret_rereading import Renewal
from affidavit.errors import InputRefused
from affidavit.incidents.telemetry import to_stdout


@cache
def _application() -> Starlette:
    hooks = build_hooks(build_app(deployed_settings()), emit=to_stdout, runs_here=False)
    if hooks is None:
        raise InputRefused("no hook is switched on", hint="set the secret of a source, see docs/alerts-in.md")
    return hooks_app(hooks)


_renew = Renewal(_application.cache_clear)


def handler(event: Mapping[str, Any], _context: object) -> dict[str, Any]:
    _renew()
    return asyncio.run(answer_event(_application(), event))
