"""Clients that hold connections open without asking for anything, against a real server."""

import asyncio
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from urllib.parse import urlsplit

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from tests.support.peers.mcp_server import serving

from affidavit.entrypoints.http.connection_limits import ConnectionLimits, bounded_protocol

SLOW_SECONDS = 1.5
# Far longer than the limits below: what is still open by then stays open.
PATIENCE = 30.0


async def _quick(_request: Request) -> Response:
    return PlainTextResponse("quick")


async def _slow(_request: Request) -> Response:
    await asyncio.sleep(SLOW_SECONDS)
    return PlainTextResponse("slow")


async def _echo(request: Request) -> Response:
    return PlainTextResponse(await request.body())


@contextmanager
def server(**limits: float) -> Iterator[Callable[[], socket.socket]]:
    """Opens connections to a server with these limits."""
    routes = [Route("/quick", _quick), Route("/slow", _slow), Route("/echo", _echo, methods=["POST"])]
    protocol = bounded_protocol(ConnectionLimits(**limits))
    with serving(Starlette(routes=routes), http=protocol) as url, ExitStack() as opened:

        def connect() -> socket.socket:
            made = opened.enter_context(socket.create_connection(("127.0.0.1", urlsplit(url).port)))
            made.settimeout(PATIENCE)
            return made

        yield connect


def asked(connection: socket.socket, path: str) -> bytes:
    connection.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    return answered(connection)


def answered(connection: socket.socket) -> bytes:
    """The body, when all of it has come; what came so far when the connection ends."""
    found = b""
    while data := connection.recv(4096):
        found += data
        head, _, body = found.partition(b"\r\n\r\n")
        if body and f"content-length: {len(body)}".encode() in head.lower():
            return body
    return found


def ends(connection: socket.socket) -> bool:
    """Whether the other side closes without a word."""
    try:
        return connection.recv(4096) == b""
    except ConnectionResetError:
        return True
    except TimeoutError:
        return False


@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\nHost: x\r\n"])
def test_a_head_that_does_not_end_is_cut_off(sent: bytes) -> None:
    with server(head_seconds=0.3) as connect:
        connection = connect()
        connection.sendall(sent)
        assert ends(connection)


def test_a_head_that_comes_byte_by_byte_is_cut_off() -> None:
    with server(head_seconds=0.5) as connect:
        connection, deadline = connect(), time.monotonic() + PATIENCE
        with pytest.raises(OSError):
            while time.monotonic() < deadline:
                connection.sendall(b"X")
                time.sleep(0.05)


def test_a_body_that_comes_byte_by_byte_is_cut_off() -> None:
    with server(body_seconds=0.5) as connect:
        connection, deadline = connect(), time.monotonic() + PATIENCE
        connection.sendall(b"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n")
        with pytest.raises(OSError):
            while time.monotonic() < deadline:
                connection.sendall(b"X")
                time.sleep(0.05)


def test_the_second_request_of_a_connection_is_timed_as_the_first() -> None:
    with server(head_seconds=0.3) as connect:
        connection = connect()
        assert asked(connection, "/quick") == b"quick"
        connection.sendall(b"GET /quick HTTP/1.1\r\n")
        assert ends(connection)


def test_an_answer_may_take_longer_than_a_request() -> None:
    with server(head_seconds=0.3, body_seconds=0.3) as connect:
        assert asked(connect(), "/slow") == b"slow"


def test_silent_connections_make_room_for_one_that_asks() -> None:
    with server(most=5) as connect:
        silent = [connect() for _ in range(20)]
        assert asked(connect(), "/quick") == b"quick"
        assert ends(silent[0])


def test_while_all_are_served_one_more_is_told_to_come_again() -> None:
    with server(most=2) as connect:
        served = [connect() for _ in range(2)]
        for connection in served:
            connection.sendall(b"GET /slow HTTP/1.1\r\nHost: x\r\n\r\n")
        time.sleep(SLOW_SECONDS / 5)
        refused = answered(connect())
        assert refused.startswith(b"HTTP/1.1 503") and b"Retry-After: " in refused
        assert [answered(connection) for connection in served] == [b"slow"] * 2
