"""Makes a simpler expression that matches wherever a pattern does, for Hyperscan: it compiles in a tenth of the time.

Counts become "that many or more". RE2 still decides.
"""

from typing import Final

from affidavit.matching.regex_tree import Alternation, Atom, Hide, Repeat, Sequence, Tree, parse, written
from affidavit.redaction.pattern import Pattern

_MOST_CHARACTERS: Final = 8
_MOST_GROUPS: Final = 2


def simpler(pattern: Pattern) -> str:
    if pattern.finder is not None:
        return pattern.match
    # The parser leaves out `$`, which only makes the expression match more.
    return _relaxed(parse(pattern.match))


def _relaxed(tree: Tree) -> str:
    match tree:
        case Hide():
            return _relaxed(tree.item)
        case Repeat():
            return _repeated(tree)
        case Alternation():
            return f"(?:{'|'.join(map(_relaxed, tree.branches))})"
        case Sequence():
            return "".join(map(_relaxed, tree.items))
        case _:
            return written(tree)


def _repeated(tree: Repeat) -> str:
    is_character = isinstance(tree.item, Atom)
    inner = _relaxed(tree.item) if is_character else f"(?:{_relaxed(tree.item)})"
    least = min(tree.least, _MOST_CHARACTERS if is_character else _MOST_GROUPS)
    if tree.most == 1:
        return inner if least else f"{inner}?"
    return f"{inner}*" if not least else f"{inner}{{{least},}}"
