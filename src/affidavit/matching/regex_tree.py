"""Parses regular expressions into trees, so that other patterns can be made from them.

Only what the catalog uses is understood; anything else is refused when the patterns are loaded.
"""

import re
from dataclasses import dataclass
from typing import Final, TypeAlias

from affidavit.errors import InputRefused

_QUANTIFIER: Final = re.compile(r"(?:[*+?]|\{(\d+)(,(\d*))?\})\??")
_CLASS: Final = re.compile(r"\[\^?\]?(?:\\.|\[:\^?\w+:\]|[^\]\\])*\]", re.DOTALL)
_FLAGS: Final = re.compile(r"\(\?[imsU]+\)")
_HIDE: Final = "(?P<hide>"


@dataclass(frozen=True, slots=True)
class Atom:
    """Matches one character."""

    text: str
    is_literal: bool


@dataclass(frozen=True, slots=True)
class Anchor:
    """Matches no character: `\\b`, `^`, flags."""

    text: str


@dataclass(frozen=True, slots=True)
class Sequence:
    items: "tuple[Tree, ...]"


@dataclass(frozen=True, slots=True)
class Alternation:
    branches: "tuple[Tree, ...]"


@dataclass(frozen=True, slots=True)
class Repeat:
    item: "Tree"
    least: int
    most: int | None
    text: str


@dataclass(frozen=True, slots=True)
class Hide:
    """The group `hide`."""

    item: "Tree"


Tree: TypeAlias = Atom | Anchor | Sequence | Alternation | Repeat | Hide


def parse(pattern: str) -> Tree:
    """Drops `$` and `\\z`, because the end of a cut text is not known. Raises InputRefused."""
    parser = _Parser(pattern)
    tree = parser.choice()
    if parser.at != len(pattern):
        raise parser.refused()
    return tree


def written(tree: Tree) -> str:
    """Writes the tree as a pattern, without end anchors. `hide` becomes an ordinary group."""
    match tree:
        case Atom() | Anchor():
            return tree.text
        case Sequence():
            return "".join(map(written, tree.items))
        case Alternation():
            return f"(?:{'|'.join(map(written, tree.branches))})"
        case Repeat():
            inner = written(tree.item)
            return f"{inner if isinstance(tree.item, Atom) else f'(?:{inner})'}{tree.text}"
        case Hide():
            return f"(?:{written(tree.item)})"


class _Parser:
    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.at = 0

    def choice(self) -> Tree:
        branches = [self._sequence()]
        while self._take("|"):
            branches.append(self._sequence())
        return branches[0] if len(branches) == 1 else Alternation(tuple(branches))

    def _sequence(self) -> Sequence:
        items: list[Tree] = []
        while self.at < len(self.pattern) and self.pattern[self.at] not in "|)":
            items.append(self._repeated(self._item()))
        return Sequence(tuple(items))

    def _repeated(self, item: Tree) -> Tree:
        found = _QUANTIFIER.match(self.pattern, self.at)
        if found is None:
            return item
        self.at = found.end()
        if found[1] is None:
            least, most = {"*": (0, None), "+": (1, None), "?": (0, 1)}[found[0][0]]
        else:
            least = int(found[1])
            most = least if found[2] is None else int(found[3]) if found[3] else None
        return Repeat(item, least, most, found[0])

    def _item(self) -> Tree:
        char = self.pattern[self.at]
        if char == "(":
            return self._group()
        if char == "[":
            return self._class()
        if char == "\\":
            return self._escape()
        self.at += 1
        if char in "^$":
            return Anchor(char if char == "^" else "")
        return Atom(char, is_literal=char != ".")

    def _group(self) -> Tree:
        flags = _FLAGS.match(self.pattern, self.at)
        if flags is not None:
            self.at = flags.end()
            return Anchor(flags[0])
        is_hide = self._take(_HIDE)
        if not is_hide and not self._take("(?:"):
            raise self.refused()
        inner = self.choice()
        if not self._take(")"):
            raise self.refused()
        return Hide(inner) if is_hide else inner

    def _class(self) -> Atom:
        found = _CLASS.match(self.pattern, self.at)
        if found is None:
            raise self.refused()
        self.at = found.end()
        return Atom(found[0], is_literal=False)

    def _escape(self) -> Tree:
        text = self.pattern[self.at : self.at + 2]
        self.at += 2
        if text[1:] in ("b", "B", "A", "z"):
            return Anchor(text if text[1:] != "z" else "")
        if text[1:].isalnum() and text[1:] not in tuple("dDwWsSnrt"):
            raise self.refused()
        return Atom(text, is_literal=not text[1:].isalpha())

    def _take(self, text: str) -> bool:
        if not self.pattern.startswith(text, self.at):
            return False
        self.at += len(text)
        return True

    def refused(self) -> InputRefused:
        return InputRefused(
            f"redaction pattern {self.pattern!r} cannot be understood at {self.at}",
            hint="use literals, classes, (?:…), (?P<hide>…), | and quantifiers",
        )
