"""Passes a Lambda event (function URL or HTTP API, payload version 2.0) to an ASGI application as one request."""

import asyncio
import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from starlette.types import ASGIApp, Message, Scope

# Lambda takes 6 MB of JSON, and base64 makes a body a third larger.
MOST_ANSWER_BYTES = 4_400_000
_SET_COOKIE = "set-cookie"


@dataclass
class _Exchange:
    """What the application asks for and says. A client that waits is never gone: the event is its whole request."""

    body: bytes
    status: int = 500
    headers: list[tuple[bytes, bytes]] = field(default_factory=list[tuple[bytes, bytes]])
    said: bytearray = field(default_factory=bytearray)
    is_read: bool = False
    over: asyncio.Event = field(default_factory=asyncio.Event)

    async def receive(self) -> Message:
        if self.is_read:
            await self.over.wait()
            return {"type": "http.disconnect"}
        self.is_read = True
        return {"type": "http.request", "body": self.body, "more_body": False}

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status, self.headers = message["status"], list(message["headers"])
        elif message["type"] == "http.response.body":
            self.said += message.get("body", b"")
            if not message.get("more_body", False):
                self.over.set()


async def answer_event(app: ASGIApp, event: Mapping[str, Any]) -> dict[str, Any]:
    exchange = _Exchange(body=_body(event))
    async with _Lifespan(app):
        await app(_scope(event), exchange.receive, exchange.send)
    return _answer(exchange)


class _Lifespan:
    """Starts the application's own tasks, and ends them with the request: nothing runs while Lambda sleeps."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._asked: asyncio.Queue[Message] = asyncio.Queue()
        self._told: asyncio.Queue[Message] = asyncio.Queue()

    async def __aenter__(self) -> None:
        self._running = asyncio.create_task(self._run())
        await self._step("startup")

    async def __aexit__(self, *_: object) -> None:
        await self._step("shutdown")
        await self._running

    async def _run(self) -> None:
        scope: Scope = {"type": "lifespan", "asgi": {"version": "3.0", "spec_version": "2.0"}, "state": {}}
        await self._app(scope, self._asked.get, self._told.put)

    async def _step(self, name: str) -> None:
        await self._asked.put({"type": f"lifespan.{name}"})
        told = await self._told.get()
        if told["type"] != f"lifespan.{name}.complete":
            raise RuntimeError(f"the server's {name} failed: {told.get('message', '')}")


def _scope(event: Mapping[str, Any]) -> Scope:
    headers = {str(name).lower(): str(value) for name, value in event.get("headers", {}).items()}
    if cookies := event.get("cookies"):
        headers["cookie"] = "; ".join(map(str, cookies))
    http = event["requestContext"]["http"]
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": http["method"],
        "scheme": headers.get("x-forwarded-proto", "https"),
        "path": unquote(str(event.get("rawPath", "/"))),
        "raw_path": str(event.get("rawPath", "/")).encode(),
        "query_string": str(event.get("rawQueryString", "")).encode(),
        "root_path": "",
        "headers": [(name.encode("latin-1"), value.encode("latin-1", "replace")) for name, value in headers.items()],
        "client": (http.get("sourceIp", ""), 0),
        "server": (headers.get("host", ""), 443),
    }


def _body(event: Mapping[str, Any]) -> bytes:
    body = str(event.get("body") or "")
    return base64.b64decode(body) if event.get("isBase64Encoded") else body.encode()


def _answer(exchange: _Exchange) -> dict[str, Any]:
    if len(exchange.said) > MOST_ANSWER_BYTES:
        return {
            "statusCode": 413,
            "headers": {"content-type": "application/json"},
            "body": '{"error": "the answer is larger than Lambda can carry", "hint": "ask for less: a page, a range"}',
        }
    told = [(name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in exchange.headers]
    return {
        "statusCode": exchange.status,
        "headers": {name: value for name, value in told if name != _SET_COOKIE},
        # There may be several, and a mapping of headers holds one.
        "cookies": [value for name, value in told if name == _SET_COOKIE],
        "body": base64.b64encode(exchange.said).decode(),
        "isBase64Encoded": True,
    }
