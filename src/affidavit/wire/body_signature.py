"""Signs a body together with its time (HMAC-SHA256 over `timestamp.body`), and checks such signatures."""

import hashlib
import hmac
from collections.abc import Mapping
from datetime import datetime

TIMESTAMP_HEADER = "x-affidavit-timestamp"
SIGNATURE_HEADER = "x-affidavit-signature"
_PREFIX = "v1="


def signature_headers(secret: str, body: bytes, *, at: datetime) -> Mapping[str, str]:
    stamp = str(int(at.timestamp()))
    return {TIMESTAMP_HEADER: stamp, SIGNATURE_HEADER: signature_of(secret, body, stamp=stamp)}


def signature_of(secret: str, body: bytes, *, stamp: str) -> str:
    return _PREFIX + hmac.new(secret.encode(), stamp.encode() + b"." + body, hashlib.sha256).hexdigest()


def is_signed(secret: str, body: bytes, *, stamp: str, signature: str) -> bool:
    """In constant time, and False for an empty secret: that signs nothing."""
    expected = signature_of(secret, body, stamp=stamp)
    return bool(secret) and hmac.compare_digest(expected.encode(), signature.encode("utf-8", "replace"))
