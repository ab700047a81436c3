"""Serves `/hooks/{source}`, alone or beside another application: 2xx only after every alert is stored."""

import json
import math
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from affidavit.entrypoints.http.hooks.authenticity import CHECKS, WINDOW, Posted
from affidavit.entrypoints.http.rate_limit import RequestRates
from affidavit.incidents.intake.alert_incident import Envelope
from affidavit.incidents.intake.delivery_handling import Delivered, deliver_readings
from affidavit.incidents.intake.hooks.label_mapping import LabelNames
from affidavit.incidents.intake.hooks.readers import READERS, HookSource
from affidavit.incidents.reception import Reception
from affidavit.ports.object_store import ObjectStore
from affidavit.ports.table import Absent, ConditionFailed, Delete, Key, Put

MOST_BODY_BYTES = 1 << 20
MOST_ALERTS = 200
# Storing takes moments; what runs afterwards has its own time.
STORING = timedelta(minutes=1)
PREFIX = "/hooks/"


@dataclass(frozen=True, kw_only=True)
class Hooks:
    """`secrets` has the sources that are on."""

    secrets: Mapping[HookSource, str]
    reception: Reception
    quarantine: ObjectStore
    rates: RequestRates
    labels: LabelNames = field(default_factory=LabelNames)


class HookRefused(Exception):
    def __init__(self, status: int, why: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(why)
        self.status, self.headers = status, headers


def hooks_app(hooks: Hooks) -> Starlette:
    async def receive(request: Request) -> Response:
        try:
            source = _source(request, hooks)
            posted = await _posted(request, hooks)
            done = await run_in_threadpool(_stored, source, posted, hooks)
        except HookRefused as refusal:
            return JSONResponse({"error": str(refusal)}, status_code=refusal.status, headers=refusal.headers)
        alerts = [{"incident_id": one.incident_id, "outcome": str(one.outcome)} for one in done]
        return JSONResponse({"alerts": alerts}, status_code=202)

    app = Starlette(routes=[Route(f"{PREFIX}{{source}}", receive, methods=["POST"])])
    app.router.redirect_slashes = False
    return app


def beside(main: ASGIApp, hooks: ASGIApp) -> ASGIApp:
    """Both under one address. Hooks have their own keys, so no check of the main application sees them."""

    async def choose(scope: Scope, receive: Receive, send: Send) -> None:
        is_hook = scope["type"] == "http" and str(scope["path"]).startswith(PREFIX)
        await (hooks if is_hook else main)(scope, receive, send)

    return choose


def _source(request: Request, hooks: Hooks) -> HookSource:
    name = request.path_params["source"]
    found = next((source for source in hooks.secrets if source == name), None)
    if found is None:
        raise HookRefused(404, "there is no such hook, or it is not switched on")
    wait = hooks.rates.wait_of(found)
    if wait:
        raise HookRefused(429, "too many requests", {"Retry-After": str(math.ceil(wait))})
    return found


async def _posted(request: Request, hooks: Hooks) -> Posted:
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MOST_BODY_BYTES:
            raise HookRefused(413, f"the body is larger than {MOST_BODY_BYTES} bytes")
    headers = {name.lower(): value for name, value in request.headers.items()}
    return Posted(headers=headers, body=bytes(body), at=hooks.reception.clock.now())


def _stored(source: HookSource, posted: Posted, hooks: Hooks) -> list[Delivered]:
    genuine = CHECKS[source](posted, hooks.secrets[source])
    if genuine is None:
        raise HookRefused(401, "the signature or token is missing, wrong or too old")
    body = _json(posted.body)
    envelope = Envelope(delivery_id=f"hook-{source}", received_at=posted.at, region="", account="")
    readings = READERS[source](body, envelope, hooks.labels)
    if len(readings) > MOST_ALERTS:
        raise HookRefused(413, f"the delivery holds more than {MOST_ALERTS} alerts")
    with _once(source, genuine.once, hooks):
        return deliver_readings(readings, hooks.reception, hooks.quarantine, remaining=STORING)


def _json(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as error:
        raise HookRefused(400, "the body is not JSON") from error


@contextmanager
def _once(source: HookSource, name: str, hooks: Hooks) -> Generator[None]:
    """Refuses a delivery that came before. One that could not be stored may come again."""
    if not name:
        yield
        return
    table, key = hooks.reception.states.table, Key(pk=f"hook#{source}", sk=name[:200])
    until = int((hooks.reception.clock.now() + 2 * WINDOW).timestamp())
    try:
        table.write(Put(item={"pk": key.pk, "sk": key.sk, "ttl": until}, when=Absent()))
    except ConditionFailed as error:
        raise HookRefused(409, "this delivery came before") from error
    try:
        yield
    except Exception:
        table.write(Delete(key=key))
        raise
