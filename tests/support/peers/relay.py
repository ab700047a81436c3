"""Passes HTTP requests on, and can stop the one who sends them just before a request takes effect."""

import http.client
import threading
from collections.abc import Callable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

Name = Callable[[str, Any, bytes], str | None]
"""What a request is, by path, headers and body; None for one that does not count."""


class Requests:
    """Those that count, in order, whichever relay they came through. At number `at` (from 0) `act` is called."""

    def __init__(self, *, at: int | None = None, act: Callable[[], None] = lambda: None) -> None:
        self.names: list[str] = []
        self._at, self._act = at, act
        self._lock = threading.Lock()

    def passes(self, name: str) -> bool:
        with self._lock:
            number = len(self.names)
            self.names.append(name)
        if self._at is not None and number == self._at:
            self._act()
        # What others of the same worker send meanwhile must not take effect either.
        return self._at is None or number < self._at


class Relay:
    def __init__(self, upstream: str, name: Name) -> None:
        self._place, self._name = urlsplit(upstream), name
        self.requests = Requests()
        relay = self

        class Handler(_Handler):
            owner = relay

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def passes(self, path: str, headers: Any, body: bytes) -> bool:
        name = self._name(path, headers, body)
        return name is None or self.requests.passes(name)

    def forwarded(self, method: str, path: str, headers: Any, body: bytes) -> tuple[int, list[tuple[str, str]], bytes]:
        upstream = http.client.HTTPConnection(str(self._place.hostname), self._place.port, timeout=60)
        try:
            upstream.request(method, path, body=body, headers=dict(headers.items()))
            answer = upstream.getresponse()
            return answer.status, answer.getheaders(), answer.read()
        finally:
            upstream.close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # else the body waits 40 ms for the receipt of the head
    owner: Relay

    def handle(self) -> None:
        with suppress(OSError):  # the one who asked was killed
            super().handle()

    def _pass_on(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        if not self.owner.passes(self.path, self.headers, body):
            self.close_connection = True
            return
        status, headers, answer = self.owner.forwarded(self.command, self.path, self.headers, body)
        self.send_response_only(status)
        for name, value in headers:
            if name.lower() not in ("transfer-encoding", "content-length", "connection"):
                self.send_header(name, value)
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(b"" if self.command == "HEAD" else answer)

    do_GET = do_POST = do_PUT = do_HEAD = do_DELETE = _pass_on  # noqa: N815 - the base class's names

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        pass
