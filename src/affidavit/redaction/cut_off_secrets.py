"""Hides the beginning of a secret at the end of a truncated text, where no whole pattern matches.

From each pattern another is made that matches every beginning of it, up to the end of the text. So nobody has to read
what stood behind the cut, and a cut excerpt of an old index is as safe as a new one.
"""

from collections.abc import Iterator
from collections.abc import Sequence as Several
from itertools import takewhile
from typing import Final

from affidavit.matching.regex_tree import Alternation, Anchor, Atom, Hide, Repeat, Sequence, Tree, parse, written
from affidavit.redaction.engine import Engine, Span
from affidavit.redaction.pattern import Pattern, Sample, Samples

TYPE: Final = "cut_off"
# Shorter than this, a beginning is only the prefix that all tokens of its maker share.
SHORTEST: Final = 5
# A word that nothing tells from others but its letters has to be this long to be taken for the beginning of one.
SHORTEST_UNNAMED: Final = 12
# Stands behind the text when it is looked at, so that "the end" is something both engines find.
_END: Final = b"\x00\x01"
_NO_SAMPLES: Final = Samples(hidden=(Sample(text="", hides=""),))


class CutOff:
    def __init__(self, patterns: Several[Pattern], *, shortest_unnamed: int = SHORTEST_UNNAMED) -> None:
        ours = (pattern for pattern in patterns if pattern.finder is None)
        made = [made for pattern in ours for made in _beginnings_of(pattern, shortest_unnamed)]
        self._engine = Engine(made, is_for_short_texts=True)

    def spans(self, text: bytes) -> list[Span]:
        return self._engine.spans(text + _END)


def _beginnings_of(pattern: Pattern, shortest_unnamed: int) -> Iterator[Pattern]:
    tree = parse(pattern.match)
    parts = tree.items if isinstance(tree, Sequence) else (tree,)
    hide = next((number for number, part in enumerate(parts) if isinstance(part, Hide)), None)
    if hide is not None:
        before, behind = "".join(map(written, parts[:hide])), beginnings(Sequence(parts[hide + 1 :]))
        yield _made(f"{before}(?P<hide>{beginnings(parts[hide])}){behind}", shortest=1)
        return
    head, body = _flags(parts)
    yield _made(f"{head}(?P<hide>{_named_beginnings(body)})", shortest=SHORTEST)
    if not _begins_named(body):
        yield _made(f"{head}{written(_leading(body))}(?P<hide>{beginnings(body)})", shortest=shortest_unnamed)


def _made(match: str, *, shortest: int) -> Pattern:
    end = "".join(f"\\x{byte:02x}" for byte in _END)
    return Pattern(type=TYPE, match=match + end, needs=(f"(?s)^.{{{shortest}}}",), samples=_NO_SAMPLES)


def _flags(parts: Several[Tree]) -> tuple[str, Sequence]:
    """Flags hold for the whole pattern, so they stand outside the group."""
    first = parts[0] if parts else None
    if isinstance(first, Anchor) and first.text.startswith("(?"):
        return first.text, Sequence(tuple(parts[1:]))
    return "", Sequence(tuple(parts))


def _leading(body: Sequence) -> Sequence:
    """`\\b` and the like, in front of everything that takes a character."""
    return Sequence(tuple(takewhile(lambda item: isinstance(item, Anchor), body.items)))


def beginnings(tree: Tree) -> str:
    """A pattern of every text that can go on to be a match of `tree`: from nothing to all of it."""
    match tree:
        case Atom():
            return f"{tree.text}?"
        case Anchor():
            return ""
        case Alternation():
            return f"(?:{'|'.join(map(beginnings, tree.branches))})"
        case Hide():
            return beginnings(tree.item)
        case Repeat():
            return _of_repeat(tree)
        case Sequence():
            return _of_sequence(tree.items)


def _of_sequence(items: Several[Tree]) -> str:
    found = ""
    for item in reversed(items):
        found = f"(?:{written(item)}{found}|{beginnings(item)})"
    return found


def _of_repeat(tree: Repeat) -> str:
    if isinstance(tree.item, Atom):
        return f"{tree.item.text}*" if tree.most is None else f"{tree.item.text}{{0,{tree.most}}}"
    if tree.most == 1:
        return beginnings(tree.item)
    again = "*" if tree.most is None else f"{{0,{tree.most - 1}}}"
    return f"(?:{written(tree.item)}){again}{beginnings(tree.item)}"


def _named_beginnings(tree: Tree) -> str:
    """Beginnings that hold a character the pattern names: without it almost any word would be one."""
    match tree:
        case Alternation():
            return f"(?:{'|'.join(map(_named_beginnings, tree.branches))})"
        case Sequence():
            at = next((number for number, item in enumerate(tree.items) if _names(item)), None)
            if at is None:
                return written(tree)
            named, before, behind = tree.items[at], tree.items[:at], tree.items[at + 1 :]
            rest = f"(?:{written(named)}{_of_sequence(behind)}|{_named_beginnings(named)})"
            return "".join(map(written, before)) + rest
        case _:
            return written(tree)


def _names(tree: Tree) -> bool:
    match tree:
        case Atom():
            return tree.is_literal
        case Alternation():
            return any(map(_names, tree.branches))
        case Sequence():
            return any(map(_names, tree.items))
        case _:
            return False


def _begins_named(tree: Tree) -> bool:
    match tree:
        case Atom():
            return tree.is_literal
        case Alternation():
            return all(map(_begins_named, tree.branches))
        case Sequence():
            first = next((item for item in tree.items if not isinstance(item, Anchor)), None)
            return first is not None and _begins_named(first)
        case _:
            return False
