"""Bounds what a client can hold open: time to send a request, and how many connections there are.

uvicorn waits for ever for a request that comes byte by byte, and counts connections only once a request is complete.
"""

import asyncio
from dataclasses import dataclass
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

_REFUSAL = b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 5\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


@dataclass(frozen=True, kw_only=True, slots=True)
class ConnectionLimits:
    """`head_seconds` to send request line and headers, `body_seconds` for what follows."""

    most: int = 256
    head_seconds: float = 10.0
    body_seconds: float = 60.0


class BoundedProtocol(H11Protocol):
    """An answer may take as long as it takes: only what the client still owes us is timed."""

    limits: ConnectionLimits

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        super().connection_made(transport)
        self._opened_at = self.loop.time()
        self._timed: Any = None
        self._timer: asyncio.TimerHandle | None = None
        self._time()
        self._make_room()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._time()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._time()

    @property
    def is_waiting(self) -> bool:
        """Whether the client has not sent a whole request yet."""
        return self.conn.their_state in (h11.IDLE, h11.SEND_BODY)

    def _time(self) -> None:
        """Starts anew with each part of a request, never with each byte."""
        state = self.conn.their_state
        if state is self._timed:
            return
        self._stop_timer()
        self._timed = state
        if self.is_waiting and not self.transport.is_closing():
            allowed = self.limits.head_seconds if state is h11.IDLE else self.limits.body_seconds
            self._timer = self.loop.call_later(allowed, self.transport.abort)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _make_room(self) -> None:
        """Whoever waited longest without a request goes; when all are being served, the newcomer does."""
        others = [each for each in self._open_connections() if each is not self]
        if len(others) < self.limits.most:
            return
        waiting = [each for each in others if each.is_waiting]
        if waiting:
            min(waiting, key=lambda each: each._opened_at).transport.abort()
        else:
            self.transport.write(_REFUSAL)
            self.transport.close()

    def _open_connections(self) -> "list[BoundedProtocol]":
        return [
            each for each in self.connections if isinstance(each, BoundedProtocol) and not each.transport.is_closing()
        ]


def bounded_protocol(limits: ConnectionLimits) -> type[BoundedProtocol]:
    """The protocol class for `uvicorn.Config(http=…)`."""
    return type("LimitedProtocol", (BoundedProtocol,), {"limits": limits})
