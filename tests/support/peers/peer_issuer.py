"""An OpenID Connect issuer on 127.0.0.1: discovery, keys, authorization with PKCE, and signed id tokens."""

import base64
import hashlib
import json
import secrets
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa


@dataclass
class PeerIssuer:
    """Says yes to whoever asks. `claims` go into the next id token, and may overwrite any other."""

    url: str = ""
    key: Any = field(default_factory=lambda: rsa.generate_private_key(public_exponent=65537, key_size=2048))
    claims: dict[str, Any] = field(default_factory=lambda: {"sub": "u-1", "roles": ["operator"]})
    codes: dict[str, dict[str, str]] = field(default_factory=dict)
    refusals: list[str] = field(default_factory=list)
    authorizations: list[str] = field(default_factory=list)
    """What clients sent to the token endpoint to prove themselves."""
    algorithm: str = "RS256"
    says_no: bool = False

    def document(self) -> dict[str, Any]:
        return {
            "issuer": self.url,
            "authorization_endpoint": f"{self.url}/authorize",
            "token_endpoint": f"{self.url}/token",
            "jwks_uri": f"{self.url}/keys",
        }

    def keys(self) -> dict[str, Any]:
        public = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(self.key.public_key()))
        return {"keys": [{**public, "kid": "k1", "use": "sig", "alg": "RS256"}]}

    def authorized(self, asked: dict[str, str]) -> str:
        """Where the browser is sent back to."""
        if self.says_no:
            return f"{asked['redirect_uri']}?{urlencode({'error': 'access_denied', 'state': asked['state']})}"
        code = secrets.token_urlsafe(16)
        self.codes[code] = asked
        return f"{asked['redirect_uri']}?{urlencode({'code': code, 'state': asked['state']})}"

    def token(self, sent: dict[str, str]) -> dict[str, Any] | None:
        asked = self.codes.pop(sent.get("code", ""), None)
        if asked is None:
            self.refusals.append("unknown code")
            return None
        digest = hashlib.sha256(sent.get("code_verifier", "").encode()).digest()
        if base64.urlsafe_b64encode(digest).rstrip(b"=").decode() != asked["code_challenge"]:
            self.refusals.append("wrong verifier")
            return None
        if sent.get("redirect_uri") != asked["redirect_uri"]:
            self.refusals.append("other redirect")
            return None
        now = int(time.time())
        usual = {"iss": self.url, "aud": asked["client_id"], "iat": now, "exp": now + 300, "nonce": asked["nonce"]}
        key = "a-secret-that-both-sides-know-0123456789" if self.algorithm == "HS256" else self.key
        signed = jwt.encode({**usual, **self.claims}, key, algorithm=self.algorithm, headers={"kid": "k1"})
        return {"id_token": signed, "access_token": "x", "token_type": "Bearer"}


@contextmanager
def peer_issuer() -> Generator[PeerIssuer]:
    issuer = PeerIssuer()

    class Door(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            asked = {name: values[0] for name, values in parse_qs(parts.query).items()}
            match parts.path:
                case "/.well-known/openid-configuration":
                    self._json(issuer.document())
                case "/keys":
                    self._json(issuer.keys())
                case "/authorize":
                    self.send_response(302)
                    self.send_header("Location", issuer.authorized(asked))
                    self.end_headers()
                case _:
                    self.send_error(404)

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            issuer.authorizations.append(self.headers.get("Authorization", ""))
            told = issuer.token({name: values[0] for name, values in parse_qs(body).items()})
            self._json(told) if told is not None else self.send_error(400)

        def _json(self, value: object) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(json.dumps(value).encode())

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it so
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Door)
    issuer.url = f"http://127.0.0.1:{server.server_address[1]}"
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    yield issuer
    server.shutdown()
    server.server_close()
