"""Finds secrets as they stand in a text, behind escapes, inside base64, and again without their names."""

from collections.abc import Mapping, Sequence
from typing import Final

from affidavit.redaction import encoded_text, unescaped
from affidavit.redaction.engine import Engine, Span
from affidavit.redaction.pattern import Pattern
from affidavit.redaction.repeated_secrets import again

# Base64 of base64 of a secret is found; a fourth layer is not.
DEEPEST: Final = 3
ENCODED: Final = "encoded_secret"
_ESCAPED, _BASE64, _HEXADECIMAL = range(3)


class Scanner:
    """Safe to share between threads."""

    def __init__(self, patterns: Sequence[Pattern]) -> None:
        signs = {unescaped.TRIGGER: True, encoded_text.TRIGGER: True, encoded_text.COMMAND_LINE_TRIGGER: False}
        self._engine = Engine(patterns, signs=signs)

    def spans(self, text: bytes) -> list[Span]:
        """In any order; they may overlap."""
        found = self._layers(text, DEEPEST)
        return [*found, *again(text, found)] if found else found

    def _layers(self, text: bytes, depth: int) -> list[Span]:
        found, signs = self._engine.scan(text)
        found += self._in_encoded(text, signs, depth)
        if _ESCAPED in signs:
            for seen, path in unescaped.views(text, signs[_ESCAPED]):
                spans, inner = self._engine.scan(seen)
                spans += self._in_encoded(seen, inner, depth)
                found += [unescaped.in_original(span, path) for span in spans]
        return found

    def _in_encoded(self, text: bytes, signs: Mapping[int, Sequence[int]], depth: int) -> list[Span]:
        if not depth:
            return []
        blobs = [
            *(encoded_text.decoded(text, signs[_BASE64]) if _BASE64 in signs else ()),
            *(encoded_text.command_lines(text) if _HEXADECIMAL in signs else ()),
        ]
        return [
            Span(start, end, ENCODED) for start, end, content in blobs if content and self._layers(content, depth - 1)
        ]
