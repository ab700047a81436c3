"""Page tokens: opaque, and good for one index and one filter only."""

import base64
import binascii
import hashlib
import json
from dataclasses import dataclass
from typing import Any

from affidavit.errors import InputRefused

_DIGEST = 16


@dataclass(frozen=True, kw_only=True, slots=True)
class Page:
    index_id: str
    offset: int


def page_token(page: Page, question: str) -> str:
    """`question` is everything but the page that decides which findings are asked for."""
    body = json.dumps([page.index_id, page.offset], separators=(",", ":")).encode()
    return base64.urlsafe_b64encode(_digest(body, question) + body).decode().rstrip("=")


def page_of(token: str, question: str) -> Page:
    """Raises InputRefused for a token that is broken or was given for another question."""
    try:
        raw = base64.b64decode(token.encode() + b"=" * (-len(token) % 4), altchars=b"-_", validate=True)
        body: Any = json.loads(raw[_DIGEST:]) if _digest(raw[_DIGEST:], question) == raw[:_DIGEST] else None
    except (binascii.Error, ValueError, UnicodeError):
        body = None
    if body is None:
        raise InputRefused(
            "pageToken is broken, or belongs to another question",
            hint="repeat the call that gave the token with everything else unchanged, or ask again without pageToken",
        )
    return Page(index_id=str(body[0]), offset=int(body[1]))


def _digest(body: bytes, question: str) -> bytes:
    # No secret: a token says nothing that its bearer may not ask for. The digest keeps it from being taken for another.
    return hashlib.sha256(b"affidavit page\0" + question.encode() + b"\0" + body).digest()[:_DIGEST]
