"""Makes a short text that a pattern matches, and counts the characters that every match must have."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from affidavit.errors import InputRefused
from affidavit.matching.pattern_language import Wordings

_MOST_REPEATED = 64
# A piece of a pattern: an escape, a class, the beginning of a group, a repetition, or one character.
TOKEN = re.compile(
    r"\\x\{[0-9A-Fa-f]+\}|\\x[0-9A-Fa-f]{2}|\\."
    r"|\[\^?\]?(?:\\.|\[:\^?\w+:\]|[^\]\\])*\]"
    r"|\(\?P?<\w+>|\(\?[a-zA-Z-]*[:)]|[*+?]\??|\{\d+(?:,\d*)?\}\??|.",
    re.DOTALL,
)


@dataclass(frozen=True, kw_only=True)
class Example:
    """A text that a pattern matches, and how many of its characters every match must have."""

    text: str
    fixed: int


def example(pattern: str) -> Example:
    """A short text that the pattern matches; `.*` and the like are taken once. Verify it, because `\\b` is ignored."""
    return _Reader(TOKEN.findall(pattern)).alternatives()


class _Reader:
    """Reads a pattern from left to right. Malformed ones give some text that then does not match."""

    def __init__(self, tokens: Sequence[str]) -> None:
        self._tokens = tokens
        self._at = 0

    def alternatives(self) -> Example:
        ways = [self._sequence()]
        while self._peek() == "|":
            self._at += 1
            ways.append(self._sequence())
        return Example(text=ways[0].text, fixed=min(way.fixed for way in ways))

    def _sequence(self) -> Example:
        parts = list(self._parts())
        return Example(text="".join(part.text for part in parts), fixed=sum(part.fixed for part in parts))

    def _parts(self) -> Iterator[Example]:
        while self._peek() not in ("", "|", ")"):
            part = self._atom()
            least, wanted = self._repetition()
            yield Example(text=part.text * wanted, fixed=part.fixed * least)

    def _atom(self) -> Example:
        token = self._peek()
        self._at += 1
        if not token.startswith("("):
            return _of_token(token)
        if token.startswith("(?") and token.endswith(")"):
            return Example(text="", fixed=0)
        inside = self.alternatives()
        self._at += 1
        return inside

    def _repetition(self) -> tuple[int, int]:
        """The least that is allowed, and how often the example takes it."""
        token = self._peek()
        if token[:1] not in ("*", "+", "?", "{") or token in ("", "{"):
            return 1, 1
        self._at += 1
        if token[0] == "{":
            least = min(int(re.findall(r"\d+", token)[0]), _MOST_REPEATED)
            return least, least
        return {"*": (0, 1), "+": (1, 1), "?": (0, 0)}[token[0]]

    def _peek(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""


def _of_token(token: str) -> Example:
    if token in ("^", "$", r"\b", r"\B", r"\A", r"\z"):
        return Example(text="", fixed=0)
    if token == "." or token.startswith("[") or re.fullmatch(r"\\[dDwWsS]", token):
        return Example(text=_one_of(token), fixed=0)
    if token.startswith(r"\x"):
        return Example(text=chr(min(int(token[2:].strip("{}"), 16), 255)), fixed=1)
    escaped = {"t": "\t", "r": "\r", "f": "\f", "a": "\a"}
    return Example(text=escaped.get(token[1:], token[1:]) if len(token) > 1 else token, fixed=1)


def _one_of(token: str) -> str:
    try:
        wordings = Wordings((f"^{token}$",))
    except InputRefused:
        return "x"
    return next((char for char in "x7 /-:.=ABCabc" if wordings.match(char.encode())), _rarer(wordings))


def _rarer(wordings: Wordings) -> str:
    return next((chr(code) for code in range(32, 127) if wordings.match(bytes([code]))), "x")
