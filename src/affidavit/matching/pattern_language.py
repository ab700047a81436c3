"""The pattern language of rules: RE2 on the bytes of one line, without its line end.

RE2 defines what a pattern means. `block_form` rewrites it so that an engine which sees many lines at once finds
exactly the lines RE2 would: nothing may match a line feed, and `$` also stands before a carriage return.
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

import re2

from affidavit.errors import InputRefused

# RE2's \s without the line feed.
_SPACE = r" \t\f\r"
_ESCAPE_OR_CLASS = r"\\.|\[\^?\]?(?:\\.|\[:\^?\w+:\]|[^\]\\])*\]"
_TOKEN = re.compile(f"{_ESCAPE_OR_CLASS}|.", re.DOTALL)
# The only tokens whose block form can be another.
_REWRITTEN = re.compile(f"{_ESCAPE_OR_CLASS}|\\$", re.DOTALL)
_ESCAPES_WITHOUT_FEED = {r"\s": f"[{_SPACE}]", r"\W": r"[^\w\n]", r"\D": r"[^\d\n]"}
_REFUSED_ESCAPES = {
    "A": r"\A (use ^)",
    "z": r"\z (use $)",
    "Z": r"\Z (use $)",
    "n": r"\n (a rule sees one line)",
    "C": r"\C",
    "v": r"\v (engines disagree on it; use \x0b)",
    "p": r"\p{…} (patterns match bytes)",
    "P": r"\P{…} (patterns match bytes)",
    "Q": r"\Q",
}


class Wordings:
    """Several patterns matched by one call to RE2."""

    def __init__(self, patterns: Sequence[str]) -> None:
        """Raises InputRefused saying why a pattern cannot be used."""
        self._set = re2.Set.SearchSet(byte_options()) if patterns else None
        for pattern in patterns:
            _refuse_unusable(pattern)
            if self._set is not None:
                _add(self._set, pattern)
        if self._set is not None:
            self._set.Compile()
        if empty := self.which(b""):
            raise InputRefused(
                f"pattern {patterns[min(empty)]!r} matches the empty line", hint="anchor it on fixed text"
            )

    def match(self, line: bytes | bytearray) -> bool:
        return self._set is not None and bool(self._set.Match(line))

    def first(self, line: bytes | bytearray) -> int | None:
        """Position of the first pattern that matches."""
        found = self._set.Match(line) if self._set is not None else None
        return min(found) if found else None

    def which(self, line: bytes | bytearray) -> frozenset[int]:
        """Positions of the patterns that match."""
        return frozenset(self._set.Match(line) or ()) if self._set is not None else frozenset()


def _add(patterns: re2.Set, pattern: str) -> None:
    try:
        # A set does not say what is wrong with a pattern.
        re2.compile(pattern.encode("ascii"), byte_options())
        patterns.Add(pattern.encode("ascii"))
    except re2.error as error:
        detail: object = error.args[0] if error.args else error
        text = detail.decode("utf-8", "replace") if isinstance(detail, bytes) else str(detail)
        raise InputRefused(f"pattern {pattern!r}: {text}", hint="patterns are RE2: no look-around") from error


@lru_cache(8192)
def block_form(pattern: str) -> str:
    """Remembered: every engine that holds a pattern is known by its forms."""
    return _REWRITTEN.sub(_block_token, _trimmed(pattern))


def _trimmed(pattern: str) -> str:
    """Drops an open repetition at the end. The same lines match, and the engine reports each once, not per byte."""
    if not pattern.endswith(("*", "+")):
        return pattern
    tokens = list(_tokens(pattern))
    while len(tokens) > 2 and tokens[-1] in "*+" and tokens[-2] not in ("(", ")", "|", "}", "?", "*", "+"):
        tokens = tokens[:-1] if tokens[-1] == "+" else tokens[:-2]
    return "".join(tokens)


def _block_token(found: re.Match[str]) -> str:
    token = found[0]
    if token == "$":
        return r"\r?$"
    if token.startswith("[^"):
        return "[^\\n" + _without_feed(token[2:])
    if token.startswith("["):
        return _without_feed(token)
    return _ESCAPES_WITHOUT_FEED.get(token, token)


def _without_feed(character_class: str) -> str:
    return character_class.replace(r"\s", _SPACE)


def _tokens(pattern: str) -> Iterator[str]:
    """Escapes, character classes and single characters, in order."""
    return (match[0] for match in _TOKEN.finditer(pattern))


def _refuse_unusable(pattern: str) -> None:
    if not pattern.isascii():
        raise InputRefused(f"pattern {pattern!r} is not ASCII", hint="write other bytes as \\xNN")
    for token in _tokens(pattern):
        if token[0] == "\\" and token[1:] in _REFUSED_ESCAPES:
            raise InputRefused(f"pattern {pattern!r} uses {_REFUSED_ESCAPES[token[1:]]}")
        if token[0] == "[" and token[1:2] != "^" and re.search(r"\\[WDnpPv]|\[:(?:\^|space|cntrl)", token):
            raise InputRefused(f"pattern {pattern!r}: {token} may match a line feed", hint=r"use [^…] instead")
    if re.search(r"\(\?[a-z]*s", pattern):
        raise InputRefused(f"pattern {pattern!r} uses the flag s", hint="a rule sees one line; leave it out")


def byte_options() -> re2.Options:
    options = re2.Options()
    # Bytes, not UTF-8: logs hold invalid sequences, and offsets must stay true.
    options.encoding = re2.Options.Encoding.LATIN1
    options.log_errors = False
    return options
