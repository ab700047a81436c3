"""Makes data safe for the page: harmless text, JSON that cannot leave its script element, and a limit in bytes."""

import json
from collections.abc import Iterable
from typing import Any, cast

from affidavit.entrypoints.report.terminal_escapes_and_colours import harmless

# Only `<` could close the element. Escaping the others too costs little and is surely safe.
_ESCAPES = {ord(char): f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"}


def encoded(value: Any) -> str:
    """JSON for a script element, every text in it made harmless."""
    text = _json(value)
    # Without a backslash JSON escaped nothing, so what stands here is what the texts hold: most need no second look.
    is_plain = text.isprintable() and "\\" not in text
    return (text if is_plain else _json(_harmless(value))).translate(_ESCAPES)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def shown(text: str) -> str:
    return text if text.isprintable() else harmless(text)


def _harmless(value: Any) -> Any:
    if isinstance(value, str):
        return shown(value)
    if isinstance(value, dict):
        items = cast(dict[str, Any], value).items()
        return {shown(key): _harmless(entry) for key, entry in items}
    if isinstance(value, list | tuple):
        return [_harmless(entry) for entry in cast(Iterable[Any], value)]
    return value


class Allowance:
    """How many bytes the page may still grow by. What matters most asks first; the page says what did not fit."""

    def __init__(self, size: int) -> None:
        self.left = size

    def take(self, value: Any) -> bool:
        cost = len(encoded(value).encode()) + 1
        if cost > self.left:
            return False
        self.left -= cost
        return True

    def fit(self, values: Iterable[Any], *, at_most: int) -> list[Any]:
        """The first of `values`, as many as go into `at_most` bytes."""
        part = Allowance(min(at_most, self.left))
        before, kept = part.left, list[Any]()
        for value in values:
            if not part.take(value):
                break
            kept.append(value)
        self.left -= before - part.left
        return kept
