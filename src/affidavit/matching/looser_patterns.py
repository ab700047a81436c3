"""Makes patterns of which one matches on every line that a given pattern matches, and that are looked for faster.

A pattern without a certain text is followed by the engine along every line that begins like it. For
`kernel: .*(?i:stuck|hung)` it is ten times as fast to look for `stuck` and `hung` alone.
"""

import re
from collections.abc import Iterator

_TOKEN = re.compile(r"\\.|\[\^?\]?(?:\\.|\[:\^?\w+:\]|[^\]\\])*\]|.", re.DOTALL)
_CASELESS = "(?i:"
# The beginning of a line, or what stands there.
_BEGINNING = re.compile(r"\(\?:(?:[\w ]+\|)*\^\)(?![?*{])")


def looser(pattern: str) -> list[str]:
    """The branches of a group that ends the pattern and ignores case; else what stands behind its beginning."""
    if len([*_branches(pattern)]) == 1 and (group := _last_group(pattern)).startswith(_CASELESS):
        return [f"{_CASELESS}{branch})" for branch in _branches(group[len(_CASELESS) : -1])]
    found = _BEGINNING.match(pattern)
    return [pattern if found is None else pattern[found.end() :]]


def _branches(pattern: str) -> Iterator[str]:
    start = 0
    for at, depth, token in _tokens(pattern):
        if token == "|" and depth == 0:
            yield pattern[start:at]
            start = at + 1
    yield pattern[start:]


def _last_group(pattern: str) -> str:
    """The group that the pattern ends with; nothing where it ends otherwise."""
    start, end = 0, 0
    for at, depth, token in _tokens(pattern):
        if token == "(" and depth == 1:
            start = at
        if token == ")" and depth == 0:
            end = at + 1
    return pattern[start:] if end == len(pattern) else ""


def _tokens(pattern: str) -> Iterator[tuple[int, int, str]]:
    """Where each token stands, and how many groups are open behind it."""
    depth = 0
    for found in _TOKEN.finditer(pattern):
        depth += (found[0] == "(") - (found[0] == ")")
        yield found.start(), depth, found[0]
