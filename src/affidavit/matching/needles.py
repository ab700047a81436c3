"""Finds short texts of which one stands in every line that a pattern matches.

Most lines of a log match nothing, and looking for some hundred short texts is several times as fast as looking for
thousands of patterns. `usual_text.txt` holds what stands in the logs of healthy nodes (0 stands for any number):
looking for that is no help. The choice changes how fast a scan is, never what it finds.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from heapq import heapify, heappop, heappush
from importlib.resources import files
from itertools import product

from affidavit.errors import InputRefused
from affidavit.matching import regex_tree
from affidavit.matching.regex_tree import Alternation, Anchor, Atom, Hide, Repeat, Tree

# Hyperscan looks for texts of four bytes, and of eight, faster than for those between.
LENGTH = 4
_LONGER = 8
# More variants of one text than this are not written out.
_VARIANTS = 16
_MOST_TEXTS = 96
_CASELESS = "(?i:"
_TOKEN = re.compile(r"\\.|\[\^?\]?(?:\\.|\[:\^?\w+:\]|[^\]\\])*\]|.", re.DOTALL)
_DIGITS = frozenset("0123456789")
_IN_CLASS = frozenset("^-\\[]")

Texts = frozenset[str]


@dataclass(frozen=True, kw_only=True)
class Needles:
    """Every line that one of the patterns matches holds one of the `texts`, but for lines that `others` match."""

    texts: tuple[str, ...]
    others: tuple[str, ...]


def needles_of(patterns: Iterable[str]) -> Needles:
    required = {pattern: required_texts(pattern) for pattern in sorted(set(patterns))}
    wanted = {text for texts in required.values() if texts is not None for text in texts}
    return Needles(
        texts=tuple(sorted(_cover({text: _rare_parts(text) for text in wanted}))),
        others=tuple(pattern for pattern, texts in required.items() if texts is None),
    )


@lru_cache(8192)
def required_texts(pattern: str) -> Texts | None:
    """Texts of which every match holds one, each with a part that is rare; None where there are none."""
    try:
        found = _required(regex_tree.parse(_without_caseless(pattern)))
    except InputRefused:
        return None
    return min(found.choices, key=_weight, default=None)


def _without_caseless(pattern: str) -> str:
    """With anything in place of each group that ignores case: what stands beside it is still required."""
    while (start := pattern.find(_CASELESS)) >= 0:
        depth = 0
        for token in _TOKEN.finditer(pattern, start):
            depth += (token[0] == "(") - (token[0] == ")")
            if depth == 0:
                pattern = f"{pattern[:start]}.*{pattern[token.end() :]}"
                break
        else:
            raise InputRefused(f"{pattern!r} does not end")
    return pattern


@dataclass(frozen=True, kw_only=True)
class _Required:
    """`exact` is everything that the tree can match, where that is few texts. Of each of the `choices`, every match
    holds one text."""

    exact: Texts | None
    choices: tuple[Texts, ...] = ()

    @property
    def best(self) -> Texts | None:
        return min(self.choices, key=_weight, default=None)


_NOTHING = _Required(exact=frozenset(("",)))
_ANYTHING = _Required(exact=None)


def _required(tree: Tree) -> _Required:
    match tree:
        case Atom():
            return _of_exact(_characters(tree))
        case Anchor():
            return _of_anchor(tree)
        case Hide():
            return _required(tree.item)
        case Alternation():
            return _of_branches([_required(branch) for branch in tree.branches])
        case Repeat():
            return _of_repeat(tree)
        case regex_tree.Sequence():
            return _of_sequence([*_unrolled(tree.items)])


def _characters(atom: Atom) -> Texts | None:
    if atom.is_literal:
        return frozenset(atom.text[-1])
    inside = atom.text[1:-1]
    is_few = atom.text.startswith("[") and len(inside) <= _VARIANTS // 4 and not _IN_CLASS & {*inside}
    return frozenset(inside) if is_few else None


def _of_anchor(anchor: Anchor) -> _Required:
    if anchor.text.startswith("(?"):
        raise InputRefused("flags change what letters mean")
    return _NOTHING


def _of_exact(texts: Texts | None) -> _Required:
    if texts is None or len(texts) > _MOST_TEXTS:
        return _ANYTHING
    return _Required(exact=texts, choices=(texts,) if _is_useful(texts) else ())


def _of_branches(branches: Sequence[_Required]) -> _Required:
    exact = _union(branch.exact for branch in branches)
    best = _union(branch.best for branch in branches)
    whole = _of_exact(exact)
    return _Required(exact=whole.exact, choices=(*whole.choices, *([best] if best is not None else ())))


def _union(parts: Iterable[Texts | None]) -> Texts | None:
    found: set[str] = set()
    for part in parts:
        if part is None:
            return None
        found |= part
    return frozenset(found)


def _of_repeat(tree: Repeat) -> _Required:
    inner = _required(tree.item)
    if (tree.least, tree.most) == (1, 1):
        return inner
    if (tree.least, tree.most) == (0, 1) and inner.exact is not None:
        return _of_exact(inner.exact | {""})
    return _Required(exact=None, choices=inner.choices if tree.least else ())


def _unrolled(items: Iterable[Tree]) -> Iterator[_Required]:
    """`x+` as `x`, anything, `x`: what stands beside it then touches an `x`."""
    for item in items:
        found = _required(item)
        inner = _required(item.item) if isinstance(item, Repeat) and item.least and found.exact is None else _ANYTHING
        yield from (inner, _ANYTHING, inner) if inner.exact is not None else (found,)


def _of_sequence(items: Sequence[_Required]) -> _Required:
    choices: list[Texts] = [choice for item in items for choice in item.choices]
    run: Texts = frozenset(("",))
    is_exact = True
    for item in items:
        longer = _joined(run, item.exact)
        if longer is None:
            is_exact = False
            choices.append(run)
        run = longer or item.exact or frozenset(("",))
    choices.append(run)
    return _Required(exact=run if is_exact else None, choices=tuple(filter(_is_useful, choices)))


def _joined(run: Texts, more: Texts | None) -> Texts | None:
    if more is None or len(run) * len(more) > _VARIANTS:
        return None
    return frozenset(first + second for first, second in product(run, more))


def _is_useful(texts: Texts) -> bool:
    return all(_rare_parts(text) for text in texts)


def _weight(texts: Texts) -> tuple[int, int, list[str]]:
    """Few texts, and long ones: they have more parts to choose from."""
    return len(texts), -sum(map(len, texts)), sorted(texts)


@lru_cache(1 << 14)
def _rare_parts(text: str) -> Texts:
    """Short ones, and longer ones where healthy logs have all of those: `failed`, and not ` failed to`."""
    return _unusual(text, LENGTH) or _unusual(text, _LONGER)


def _unusual(text: str, length: int) -> Texts:
    """Numbers are everywhere."""
    return frozenset(part for part in _parts(text, length) if not _DIGITS & {*part}) - _usual_parts(length)


def _parts(text: str, length: int) -> set[str]:
    return {text[at : at + length] for at in range(len(text) - length + 1)}


@cache
def _usual_parts(length: int) -> Texts:
    lines = files("affidavit.matching").joinpath("usual_text.txt").read_text("utf-8").splitlines()
    return frozenset(part for line in lines for part in _parts(line, length))


def _cover(parts_of: dict[str, Texts]) -> Iterator[str]:
    """As few parts as it takes to have one of each text: always the one that most of the texts left have."""
    texts_with: dict[str, set[str]] = {}
    for text, parts in parts_of.items():
        for part in parts:
            texts_with.setdefault(part, set()).add(text)
    queue = [(-len(texts), part) for part, texts in texts_with.items()]
    heapify(queue)
    uncovered = {*parts_of}
    while uncovered:
        _, part = heappop(queue)
        covered = texts_with[part] & uncovered
        if queue and (-len(covered), part) > queue[0]:
            heappush(queue, (-len(covered), part))
        elif covered:
            yield part
            uncovered -= covered
