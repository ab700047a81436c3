"""Reads JSON that another program wrote, without trusting it."""

import json
import re
from collections.abc import Collection
from typing import cast

from affidavit.checks.computation_results import whole_characters
from affidavit.checks.numbered_lines import Document

# Parsed JSON takes many times its size in memory; what ipamd and the kubelet write is far smaller.
_LARGEST = 4 * 1024 * 1024
# The closing quote is optional, so that an unclosed string is scanned once: UTF-16 bytes can look like one.
_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)


def json_of(document: Document) -> object | None:
    """None when it is no JSON, too deep or too large. Half of a surrogate pair becomes U+FFFD."""
    if len(document.data) > _LARGEST:
        return None
    try:
        return _readable(json.loads(document.data))
    except (ValueError, RecursionError):
        return None


def members_of(value: object) -> dict[str, object]:
    """The members of a JSON object; none for any other value."""
    return cast(dict[str, object], value) if isinstance(value, dict) else {}  # keys of a JSON object are strings


def items_of(value: object) -> list[object]:
    """The items of a JSON array; none for any other value."""
    return cast(list[object], value) if isinstance(value, list) else []


def first_lines(document: Document, strings: Collection[str]) -> dict[str, int]:
    """The line on which each JSON string stands first, in that order; 1 where the file is not in UTF-8."""
    lines: dict[str, int] = {}
    left, line, counted = set(strings), 1, 0
    for match in _STRING.finditer(document.data):
        if left and (text := _string(match[0])) in left:
            left.remove(text)
            line += document.data.count(b"\n", counted, match.start())
            counted = match.start()
            lines[text] = line
    return {**lines, **dict.fromkeys(sorted(left), 1)}


def _string(quoted: bytes) -> str:
    if b"\\" not in quoted:
        return quoted[1:-1].decode("utf-8", "replace")
    try:
        return whole_characters(str(json.loads(quoted)))
    except ValueError:
        return ""


def _readable(value: object) -> object:
    if isinstance(value, str):
        return whole_characters(value)
    if isinstance(value, dict):
        return {whole_characters(key): _readable(member) for key, member in members_of(cast(object, value)).items()}
    return [_readable(item) for item in items_of(cast(object, value))] if isinstance(value, list) else value
