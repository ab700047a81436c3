"""Sends one HTTP request within a deadline. Redirects are not followed, proxies not asked, answers bounded."""

import http.client
import json
import socket
import ssl
import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, cast

from affidavit import __version__
from affidavit.adapters.channels.allowed_destinations import Destination, Egress
from affidavit.errors import UpstreamFailed
from affidavit.ports.json import JsonValue
from affidavit.ports.notifier import AskedToWait

DEADLINE_SECONDS = 10.0
_MOST_REPLY = 64 * 1024
# What a channel asks for when it says "slow down" and not for how long.
_USUAL_PAUSE = 60.0


class ChannelRefused(UpstreamFailed):
    """The other side answered, with a status that is no success."""

    def __init__(self, message: str, *, status: int, hint: str) -> None:
        super().__init__(message, hint=hint, is_retryable=status >= 500)
        self.status = status


@dataclass(frozen=True, kw_only=True, slots=True)
class ChannelReply:
    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> dict[str, Any]:
        """The answer as an object; empty when it is none."""
        try:
            value: object = json.loads(self.body)
        except ValueError:
            return {}
        return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


@dataclass(frozen=True, kw_only=True)
class Sender:
    """`deadline` is for the whole request, whatever the other side does."""

    egress: Egress
    deadline: float = DEADLINE_SECONDS

    def post(self, url: str, body: JsonValue, *, headers: Mapping[str, str] | None = None) -> ChannelReply:
        return self.send("POST", url, json.dumps(body).encode(), headers=headers)

    def send(self, method: str, url: str, body: bytes, *, headers: Mapping[str, str] | None = None) -> ChannelReply:
        """A reply of the 2xx kind. Raises AskedToWait, ChannelRefused for all others, UpstreamFailed without one."""
        place = self.egress.admit(url)
        said = {"content-type": "application/json", "user-agent": f"affidavit/{__version__}", **(headers or {})}
        return _checked(_exchange(place, _Message(method=method, body=body, headers=said), self.deadline), place)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Message:
    method: str
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


def _exchange(place: Destination, message: _Message, deadline: float) -> ChannelReply:
    try:
        with _connected(place, deadline) as connection:
            connection.request(message.method, place.target, body=message.body, headers=dict(message.headers))
            answer = connection.getresponse()
            body = answer.read(_MOST_REPLY)
            return ChannelReply(
                status=answer.status, headers={name.lower(): value for name, value in answer.getheaders()}, body=body
            )
    except ssl.SSLCertVerificationError as error:
        raise UpstreamFailed(
            f"{place.host} shows a certificate that is not to be trusted: {error.verify_message}",
            hint="check the address; give a private authority by SSL_CERT_FILE",
        ) from error
    except (OSError, http.client.HTTPException) as error:
        raise UpstreamFailed(
            f"{place.host} did not answer within {deadline:g} s: {type(error).__name__}",
            hint="it is tried again",
            is_retryable=True,
        ) from error


@contextmanager
def _connected(place: Destination, deadline: float) -> Generator[http.client.HTTPConnection]:
    """A connection to the address that was admitted. A timer cuts it: a peer that answers byte by byte outlives every
    timeout of a socket."""
    plain = socket.create_connection((place.address, place.port), timeout=deadline)
    handle = plain.dup()
    timer = threading.Timer(deadline, _cut, (handle,))
    timer.daemon = True
    timer.start()
    connection = http.client.HTTPConnection(place.host, place.port)
    try:
        connection.sock = _secured(plain, place.host) if place.is_tls else plain
        yield connection
    finally:
        timer.cancel()
        connection.close()
        handle.close()
        plain.close()


def _cut(handle: socket.socket) -> None:
    with suppress(OSError):
        handle.shutdown(socket.SHUT_RDWR)


def _secured(plain: socket.socket, host: str) -> ssl.SSLSocket:
    return ssl.create_default_context().wrap_socket(plain, server_hostname=host)


def _checked(reply: ChannelReply, place: Destination) -> ChannelReply:
    if 200 <= reply.status < 300:
        return reply
    if (seconds := _asked_pause(reply)) is not None:
        raise AskedToWait(f"{place.host} answered {reply.status}: slow down", seconds=seconds)
    raise ChannelRefused(f"{place.host} answered {reply.status}", status=reply.status, hint=_hint(reply.status))


def _hint(status: int) -> str:
    if status in (401, 403):
        return "the token or address is not accepted; make a new one and set it"
    if status in (404, 410):
        return "the address or what it names is gone; make a new one and set it"
    if 300 <= status < 400:
        return "it asked to go elsewhere, and redirects are not followed; set the final address"
    return "it is tried again" if status >= 500 else "it does not take such a message; see its documentation"


def _asked_pause(reply: ChannelReply) -> float | None:
    """Seconds that the other side asks to wait for; None where it refused for another reason.

    GitHub says 403 where others say 429, with the end of its hour or only in words; PagerDuty has a header of its own.
    """
    headers = reply.headers
    if "retry-after" in headers and reply.status in (403, 429, 503):
        return pause_of(headers["retry-after"])
    if headers.get("x-ratelimit-remaining") == "0" and reply.status in (403, 429):
        return _until(headers.get("x-ratelimit-reset", ""))
    if reply.status == 429:
        return pause_of(headers.get("ratelimit-reset"))
    return _USUAL_PAUSE if reply.status == 403 and b"rate limit" in reply.body.lower() else None


def _until(epoch: str) -> float:
    is_time = epoch.isascii() and epoch.isdigit() and len(epoch) < 12
    return max(1.0, int(epoch) - datetime.now(UTC).timestamp()) if is_time else _USUAL_PAUSE


def pause_of(retry_after: str | None) -> float:
    """Seconds to wait, from either form of the header Retry-After."""
    if retry_after is None:
        return _USUAL_PAUSE
    try:
        return max(0.0, float(retry_after))
    except ValueError:
        pass
    try:
        return max(0.0, (parsedate_to_datetime(retry_after) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError):
        return _USUAL_PAUSE
