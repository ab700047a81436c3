"""Finds the longest text that every match of a query contains: searching for it first is often faster."""

from collections.abc import Iterator
from typing import Any

from affidavit.errors import InputRefused
from affidavit.matching.regex_tree import Anchor, Atom, Sequence, Tree, parse

# Shorter ones stand in too many lines.
_SHORTEST = 5


def needle_of(pattern: str) -> str | None:
    """None when there is none, when it is all of the pattern, or when nobody can tell."""
    try:
        tree = parse(pattern)
    except InputRefused:
        return None
    items = tree.items if isinstance(tree, Sequence) else ()
    # Flags change what letters mean.
    if any(isinstance(item, Anchor) and item.text.startswith("(?") for item in items):
        return None
    longest = max(_runs(items), key=len)
    is_all = len(longest) == len(items)
    return longest if len(longest) >= _SHORTEST and not is_all else None


def needle_database(needle: str | None) -> Any:
    """None without a needle, or without Hyperscan."""
    try:
        import hyperscan
    except ImportError:
        return None
    if needle is None:
        return None
    database: Any = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
    try:
        database.compile(expressions=[needle.encode("ascii")], ids=[0], elements=1, flags=[0], literal=True)
    except hyperscan.HyperscanError:
        return None
    return database


def _runs(items: tuple[Tree, ...]) -> Iterator[str]:
    """Characters that stand one behind the other in every match."""
    run = ""
    for item in items:
        if isinstance(item, Atom) and item.is_literal:
            run += item.text[-1]
            continue
        yield run
        run = ""
    yield run
