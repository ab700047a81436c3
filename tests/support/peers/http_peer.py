"""A real HTTP server on this machine that answers by script and keeps what it was sent."""

import ipaddress
import json
import ssl
import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


@dataclass(frozen=True, kw_only=True)
class Answer:
    """`drip` seconds pass before each byte of the body; `hang` answers nothing until the peer is closed."""

    status: int = 200
    body: bytes | dict[str, Any] = b"ok"
    headers: Mapping[str, str] = field(default_factory=dict)
    drip: float = 0.0
    hang: bool = False
    cut_after: int | None = None
    """Closes the connection after so many bytes of the body, though more were announced."""


@dataclass(frozen=True, kw_only=True)
class Sent:
    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Peer:
    """Answers in the order of `answers`, the last one repeated; or as `respond` says."""

    respond: Callable[[Sent], Answer] | None = None
    answers: list[Answer] = field(default_factory=lambda: [Answer()])
    sent: list[Sent] = field(default_factory=list)
    url: str = ""
    closing: threading.Event = field(default_factory=threading.Event)

    def answer_to(self, sent: Sent) -> Answer:
        if self.respond is not None:
            return self.respond(sent)
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


@contextmanager
def a_peer(
    *answers: Answer,
    certificate: tuple[Path, Path] | None = None,
    respond: Callable[[Sent], Answer] | None = None,
) -> Generator[Peer]:
    """`certificate` and its key make it speak TLS."""
    peer = Peer(answers=list(answers) or [Answer()], respond=respond)
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(peer))
    server.daemon_threads = True
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    peer.url = f"{'https' if certificate else 'http'}://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield peer
    finally:
        peer.closing.set()
        server.shutdown()
        server.server_close()


def _handler(peer: Peer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle_any(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            headers = {name.lower(): value for name, value in self.headers.items()}
            sent = Sent(method=self.command, path=self.path, headers=headers, body=body)
            peer.sent.append(sent)
            self._reply(peer.answer_to(sent))

        do_GET = do_POST = do_PATCH = do_PUT = handle_any  # noqa: N815 - names of the standard library

        def _reply(self, answer: Answer) -> None:
            self.close_connection = True
            if answer.hang:
                peer.closing.wait(30)
                return
            body = json.dumps(answer.body).encode() if isinstance(answer.body, dict) else answer.body
            self.send_response(answer.status)
            for name, value in {"content-type": "application/json", **answer.headers}.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(body)))
            # Said, or a client that is quick asks again on a connection that is about to go.
            self.send_header("connection", "close")
            self.end_headers()
            self._write(body[: answer.cut_after], answer.drip)

        def _write(self, body: bytes, drip: float) -> None:
            if not drip:
                self.wfile.write(body)
                return
            for byte in body:
                if peer.closing.wait(drip):
                    return
                self.wfile.write(bytes([byte]))

        def log_message(self, *_: object) -> None:
            return

    return Handler


def self_signed(folder: Path) -> tuple[Path, Path]:
    """A certificate for 127.0.0.1 that nobody vouches for, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.now(UTC)
    built = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), False)
        .sign(key, hashes.SHA256())
    )
    certificate, private = folder / "peer.pem", folder / "peer.key"
    certificate.write_bytes(built.public_bytes(serialization.Encoding.PEM))
    private.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return certificate, private
