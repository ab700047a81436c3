"""Undoes escapes, colours and broken lines, so that patterns see a secret as its program wrote it.

A view knows where each of its bytes stood in the original, so what is found in it can be hidden there.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import re2

from affidavit.redaction.engine import Span

# When one of these is in a text, looking at its views is worth the time.
TRIGGER: Final = (
    r"\x1b\[[0-9;]*m|\\(?:u00|x)[2-7][0-9A-Fa-f]|%[2-7][0-9A-Fa-f]|&(?:quot|amp|lt|gt|apos|#\d{2,3}|#x[0-9A-Fa-f]{2});"
    r"|\\\r?\n| std(?:out|err) P |\\/|\ba1=|(?i:pass|secret|token|key)[^\n]{0,60}[:=][ \t]*\r?\n"
    r"|(?i:password|passwd|secret|token)[^\n]{0,24}[A-Za-z0-9]\n[A-Za-z0-9]|eyJ[A-Za-z0-9_.-]{20,}\n[A-Za-z0-9_-]"
)
# `%2522` is a quote, twice encoded.
MOST_ROUNDS: Final = 3
NEIGHBOURS: Final = 2048
_SIGN: Final = re2.compile(TRIGGER.encode())
ESCAPE: Final = re.compile(
    rb"\x1b\[[0-9;]*[A-Za-z]|\\{1,12}(?:u00|x)(?P<unicode>[2-7][0-9A-Fa-f])|%(?P<url>[2-7][0-9A-Fa-f])|\\(?P<slash>/)"
    rb"|&(?:(?P<name>quot|amp|lt|gt|apos)|#(?P<number>\d{2,3})|#x(?P<hex>[0-9A-Fa-f]{2}));|\\\r?\n[ \t]*"
)
# An argument of an audit record, written like one of a command line.
_ARGUMENT: Final = re.compile(rb'"? a\d{1,3}="?')
# What loggers write in front of a line, behind one that ends as if a value followed. No look-behind in front: Python
# would try it at every byte.
_PREFIX: Final = re.compile(
    rb"[:=][ \t]*(?:\r?\n(?:\S{20,40} std(?:out|err) [PF] "
    rb"|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \S{1,80} [^\s:]{1,80}: "
    rb"|\d{4}-\d\d-\d\d[T ][0-9:.,Z+-]{8,20} (?:[A-Z]{4,7} )?|[IWEF]\d{4} [0-9:.]{15} {1,8}\d+ [^\s\]]{1,80}\] ))"
)
# The end of a line in the middle of a word: wrapped, where the line is long.
_WRAPPED: Final = re.compile(rb"\n(?<=[A-Za-z0-9_=+/-]\n)(?=[A-Za-z0-9_=+/-])")
_SHORTEST_WRAPPED: Final = 60
_ESCAPE_SIGN: Final = re.compile(rb"[\x1b%&\\]\\*")
_MOST_BACKSLASHES: Final = 12
_NAMES: Final = {b"quot": b'"', b"amp": b"&", b"lt": b"<", b"gt": b">", b"apos": b"'"}
_PART: Final = re.compile(rb"(?m)^\S{20,40} std(?:out|err) ([PF]) ")


@dataclass(frozen=True, slots=True)
class RewrittenText:
    """`places[i]` are where a piece begins here and in the text it was made of."""

    text: bytes
    places: list[tuple[int, int]]

    def origin(self, offset: int) -> int:
        here, there = self.places[bisect_right(self.places, (offset, 1 << 62)) - 1]
        return there + offset - here


def views(text: bytes, ends: Sequence[int] = ()) -> Iterator[tuple[bytes, list[RewrittenText]]]:
    """Each text to look at, with the views that lead back from it, the last one first.

    `ends` are where signs of something to undo end; none stands for anywhere.
    """
    for start, end in _windows(text, ends or [found.end() for found in _SIGN.finditer(text)]):
        yield from _of_window(text[start:end], [RewrittenText(b"", [(0, start)])])


def _windows(text: bytes, ends: Iterable[int]) -> Iterator[tuple[int, int]]:
    """The lines with something to undo, and their neighbours: the rest of a long text was looked at already."""
    start = end = -1
    # Behind a sign that is the end of the text stands nothing that belongs to it.
    for sign in (sign for sign in ends if sign <= len(text)):
        if sign <= end:
            end = max(end, sign + NEIGHBOURS)
            continue
        if end >= 0:
            yield _lines(text, start, end)
        start, end = max(0, sign - NEIGHBOURS), sign + NEIGHBOURS
    if end >= 0:
        yield _lines(text, start, end)


def _lines(text: bytes, start: int, end: int) -> tuple[int, int]:
    last = text.find(b"\n", min(end, len(text)))
    return text.rfind(b"\n", 0, start) + 1, len(text) if last < 0 else last


def _of_window(text: bytes, path: list[RewrittenText]) -> Iterator[tuple[bytes, list[RewrittenText]]]:
    for make in (_joined, _plain_arguments, _without_prefixes, _unwrapped, *[_unescaped] * MOST_ROUNDS):
        made = make(text)
        if made is not None:
            path = [made, *path]
            text = made.text
            yield text, path


def in_original(span: Span, path: list[RewrittenText]) -> Span:
    start, end = span.start, span.end
    for view in path:
        start, end = view.origin(start), view.origin(end - 1) + 1
    return Span(start, end, span.type)


def _joined(text: bytes) -> RewrittenText | None:
    """A line that the container runtime wrote in several parts, as one."""
    cuts: list[tuple[int, int, bytes]] = []
    is_partial = False
    for part in _PART.finditer(text):
        if is_partial:
            cuts.append((max(0, part.start() - 1), part.end(), b""))
        is_partial = part[1] == b"P"
    return _without(text, cuts)


def _plain_arguments(text: bytes) -> RewrittenText | None:
    if b"a1=" not in text:
        return None
    return _without(text, [(found.start(), found.end(), b" ") for found in _ARGUMENT.finditer(text)])


def _without_prefixes(text: bytes) -> RewrittenText | None:
    return _without(text, [(found.start() + 1, found.end(), b"\n") for found in _PREFIX.finditer(text)])


def _unwrapped(text: bytes) -> RewrittenText | None:
    ends = (found.start() for found in _WRAPPED.finditer(text))
    long = (end for end in ends if end - text.rfind(b"\n", 0, end) > _SHORTEST_WRAPPED)
    return _without(text, [(end, end + 1, b"") for end in long])


def _unescaped(text: bytes) -> RewrittenText | None:
    return _without(text, [(found.start(), found.end(), _meant(found)) for found in escapes(text)])


def escapes(text: bytes) -> Iterator[re.Match[bytes]]:
    """As `ESCAPE.finditer`, which tries at every byte."""
    at = 0
    for sign in _ESCAPE_SIGN.finditer(text):
        start, end = sign.span()
        found = ESCAPE.match(text, start) if start >= at else None
        # Only the last ones of many backslashes can belong to an escape.
        place = max(at, start, end - 1 - _MOST_BACKSLASHES)
        while found is None and place < end - 1:
            place += 1
            found = ESCAPE.match(text, place)
        if found is not None:
            at = found.end()
            yield found


def _meant(found: re.Match[bytes]) -> bytes:
    if (digits := found["unicode"] or found["url"] or found["hex"]) is not None:
        return bytes([int(digits, 16)])
    if found["name"] is not None:
        return _NAMES[found["name"]]
    if found["number"] is not None:
        return bytes([int(found["number"]) & 0x7F])
    return found["slash"] or b""


def _without(text: bytes, cuts: list[tuple[int, int, bytes]]) -> RewrittenText | None:
    if not cuts:
        return None
    parts: list[bytes] = []
    places = [(0, 0)]
    at = size = 0
    for start, end, meant in cuts:
        parts += [text[at:start], meant]
        size += start - at
        places.append((size, start))
        size += len(meant)
        places.append((size, end))
        at = end
    return RewrittenText(b"".join([*parts, text[at:]]), places)
