"""One HTTP endpoint in front of the emulator: simulators answer what is theirs, the rest goes through.

With `keys`, requests that are signed with them are answered. Who signs with others (a role's session, a user's) is
answered as far as the emulator's IAM allows it; simulators know no policies. Without `keys`, simulators check their
callers themselves. What goes through keeps its Host: the signature, which the emulator checks again, covers it.
"""

import http.client
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TypeAlias
from urllib.parse import parse_qs, urlsplit

from affidavit.sandbox.access.browser_refusal import refuse_browsers
from affidavit.sandbox.access.keys import SandboxKeys
from affidavit.sandbox.access.request_head import REFUSED_STATUS, RequestHead, RequestRefused
from affidavit.sandbox.access.signatures import read_signature, refuse_unsigned
from affidavit.sandbox.aws.emulated.iam_permission_check import ALLOWED_STATUS, ONLY_ASKED, SIMULATED

FORWARD_SECONDS = 60
# They belong to one connection, not to the message.
_HOP = {"connection", "keep-alive", "transfer-encoding", "content-length", "date", "server"}
_SCOPE = re.compile(r"Credential=[^/]+/[^/]+/([^/]+)/([^/]+)/")


@dataclass(frozen=True, kw_only=True, slots=True)
class GatewayRequest:
    method: str
    path: str
    headers: Mapping[str, str]
    """Names in lower case."""
    body: bytes

    @property
    def region(self) -> str:
        """The region that the caller signed for."""
        found = _SCOPE.search(self.headers.get("authorization", ""))
        return found.group(1) if found else ""

    @property
    def service(self) -> str:
        found = _SCOPE.search(self.headers.get("authorization", ""))
        return found.group(2) if found else ""


@dataclass(frozen=True, kw_only=True, slots=True)
class GatewayAnswer:
    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


class AnswerLost(Exception):
    """The request was carried out, and the connection broke before the caller learned so."""


Simulator: TypeAlias = Callable[[GatewayRequest], GatewayAnswer | None]
"""None: not mine."""


class Gateway:
    def __init__(self, upstream: str, simulators: Sequence[Simulator], *, keys: SandboxKeys | None) -> None:
        self._upstream, self._simulators, self._keys = upstream, simulators, keys
        self._server: ThreadingHTTPServer | None = None

    @property
    def url(self) -> str:
        port = self._server.server_address[1] if self._server is not None else 0
        return f"http://127.0.0.1:{port}"

    def start(self) -> None:
        handler = type("Handler", (_Handler,), {"gateway": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def stop(self) -> None:
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None

    def answer(self, request: GatewayRequest) -> GatewayAnswer:
        try:
            refused = self._admit(request)
        except RequestRefused as refusal:
            return GatewayAnswer(status=REFUSED_STATUS, body=refusal.body(), headers=refusal.headers())
        if refused is not None:
            return refused
        for simulator in self._simulators:
            if (answer := simulator(request)) is not None:
                return answer
        return self._forward(request)

    def _admit(self, request: GatewayRequest) -> GatewayAnswer | None:
        """What the emulator said against it, or None. Raises RequestRefused."""
        head = RequestHead(method=request.method, target=request.path, headers=tuple(request.headers.items()))
        refuse_browsers(head)
        if self._keys is None:
            return None
        if read_signature(head).access_key != self._keys.access_key:
            return self._asked_first(request)
        refuse_unsigned(head, request.body, self._keys)
        return None

    def _asked_first(self, request: GatewayRequest) -> GatewayAnswer | None:
        """What the emulator answers to somebody else's key, unless it allows what a simulator may then answer."""
        if request.service not in SIMULATED:
            return self._forward(request)
        if "Action" in parse_qs(urlsplit(request.path).query):
            raise RequestRefused("InvalidParameterValue", "the action belongs into the body: IAM and we look there")
        answer = self._forward(replace(request, headers={**request.headers, ONLY_ASKED: "1"}))
        told = {name.lower(): value for name, value in answer.headers.items()}
        is_allowed = answer.status == ALLOWED_STATUS and told.get(ONLY_ASKED) == request.service
        return None if is_allowed else answer

    def _forward(self, request: GatewayRequest) -> GatewayAnswer:
        place = urlsplit(self._upstream)
        connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=FORWARD_SECONDS)
        try:
            kept = {name: value for name, value in request.headers.items() if name not in _HOP}
            connection.request(request.method, request.path, request.body, kept)
            answer = connection.getresponse()
            headers = {name: value for name, value in answer.getheaders() if name.lower() not in _HOP}
            return GatewayAnswer(status=answer.status, body=answer.read(), headers=headers)
        finally:
            connection.close()


class _Handler(BaseHTTPRequestHandler):
    gateway: Gateway
    protocol_version = "HTTP/1.1"
    # Else the body waits for the receipt of the head: 40 ms for every answer.
    disable_nagle_algorithm = True

    def handle_any(self) -> None:
        length = int(self.headers.get("content-length") or 0)
        request = GatewayRequest(
            method=self.command,
            path=self.path,
            headers={name.lower(): value for name, value in self.headers.items()},
            body=self.rfile.read(length),
        )
        try:
            self._send(self.gateway.answer(request))
        except AnswerLost:
            self.close_connection = True

    do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = do_OPTIONS = handle_any  # noqa: N815 - the base class looks for these

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it so
        pass

    def _send(self, answer: GatewayAnswer) -> None:
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        self.wfile.write(answer.body)
