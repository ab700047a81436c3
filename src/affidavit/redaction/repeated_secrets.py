"""Finds a secret again where it stands without its name: `PASSWORD=x1y2z3w4`, and further down `x1y2z3w4`."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

import re2

from affidavit.redaction.engine import Span

SHORTEST: Final = 8
MOST_VALUES: Final = 200
LONGEST: Final = 512
# A word may stand elsewhere for itself; letters with digits or signs among them stand for the secret.
_UNLIKE_A_WORD: Final = re.compile(rb"[A-Za-z][^\s]*[0-9!#$%^*+/=@~]|[0-9!#$%^*+/=@~][^\s]*[A-Za-z]")
_AROUND: Final = b"\\\"'`"


def again(text: bytes, spans: Sequence[Span]) -> Iterator[Span]:
    values = {value: span.type for span in spans if (value := _value(text, span)) is not None}
    if not values:
        return
    chosen = sorted(values, key=len, reverse=True)[:MOST_VALUES]
    regex = _literals(chosen)
    for found in regex.finditer(text):
        yield Span(*found.span(), values[found.group()])


def _literals(values: Sequence[bytes]) -> "re2.Pattern":
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.never_nl = False
    return re2.compile(b"|".join(re2.escape(value) for value in values), options)


def _value(text: bytes, span: Span) -> bytes | None:
    value = text[span.start : span.end].strip(_AROUND)
    is_fit = SHORTEST <= len(value) <= LONGEST and b"[REDACTED" not in value and b"\n" not in value
    return value if is_fit and _UNLIKE_A_WORD.search(value) else None
