"""An ASGI application in front of another: only requests signed with keys that were handed out pass."""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, TypeAlias

from affidavit.sandbox.access.browser_refusal import refuse_browsers
from affidavit.sandbox.access.request_head import REFUSED_STATUS, RequestHead, RequestRefused
from affidavit.sandbox.access.signatures import SecretOf, check_signature, needed_secret, read_signature

# A deployment package in one request, with room to spare.
MOST_BODY_BYTES = 512 << 20

Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
AsgiApp: TypeAlias = Callable[[Message, Receive, Send], Awaitable[None]]


class AccessGate:
    def __init__(self, app: AsgiApp, secret_of: SecretOf) -> None:
        self._app, self._secret_of = app, secret_of

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        match scope["type"]:
            case "lifespan":
                await self._app(scope, receive, send)
            case "http":
                await self._answer(scope, receive, send)
            case _:
                # A web socket is opened by any page, and nothing of the sandbox uses one.
                await send({"type": "websocket.close", "code": 1008})

    async def _answer(self, scope: Message, receive: Receive, send: Send) -> None:
        try:
            body = await self._admitted(_head(scope), receive)
        except RequestRefused as refusal:
            await _send_refusal(refusal, send)
        else:
            await self._app(scope, _replayed(body, receive), _without_cors(send))

    async def _admitted(self, head: RequestHead, receive: Receive) -> bytes:
        """The body. Whoever does not know a key is refused before a byte of it is read."""
        refuse_browsers(head)
        signature = read_signature(head)
        secret = needed_secret(signature, self._secret_of)
        body = await _read(receive)
        check_signature(signature, head, body, secret)
        return body


def _head(scope: Message) -> RequestHead:
    query = scope["query_string"].decode("latin-1")
    path = scope["raw_path"].decode("latin-1").partition("?")[0]
    return RequestHead(
        method=scope["method"],
        target=f"{path}?{query}" if query else path,
        headers=tuple((name.decode("latin-1").lower(), _text(value)) for name, value in scope["headers"]),
    )


def _text(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")


async def _read(receive: Receive) -> bytes:
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] != "http.request":
            # Half of a body would be stored as the whole: most uploads do not sign theirs.
            raise RequestRefused("IncompleteBody", "the client left before its body had come")
        body += message.get("body", b"")
        if len(body) > MOST_BODY_BYTES:
            raise RequestRefused("EntityTooLarge", "the body is larger than the sandbox takes")
        if not message.get("more_body"):
            return bytes(body)


def _replayed(body: bytes, receive: Receive) -> Receive:
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return waiting.pop() if waiting else await receive()

    return replay


def _without_cors(send: Send) -> Send:
    """The emulator tells browsers that every page may read its answers."""

    async def kept(message: Message) -> None:
        if "headers" in message:
            headers = [pair for pair in message["headers"] if not bytes(pair[0]).lower().startswith(b"access-control-")]
            message = {**message, "headers": headers}
        await send(message)

    return kept


async def _send_refusal(refusal: RequestRefused, send: Send) -> None:
    body = refusal.body()
    headers = {**refusal.headers(), "Content-Length": str(len(body))}
    encoded = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": REFUSED_STATUS, "headers": encoded})
    await send({"type": "http.response.body", "body": body})
