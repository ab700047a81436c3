"""JSON that another program wrote, read without trusting it."""

import json
from typing import cast

from affidavit.checks.text import Document

# Parsed JSON takes many times its size; what ipamd and the kubelet write is far below.
_LARGEST = 4 * 1024 * 1024


def json_of(document: Document) -> object | None:
    """None when it is no JSON, too deep or too large."""
    if len(document.data) > _LARGEST:
        return None
    try:
        return json.loads(document.data)
    except (ValueError, RecursionError):
        return None


def members_of(value: object) -> dict[str, object]:
    """Of a JSON object; nothing of any other value."""
    return cast(dict[str, object], value) if isinstance(value, dict) else {}  # keys of a JSON object are strings


def items_of(value: object) -> list[object]:
    """Of a JSON array; nothing of any other value."""
    return cast(list[object], value) if isinstance(value, list) else []
