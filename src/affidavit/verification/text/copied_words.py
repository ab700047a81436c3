"""Finds words that one text copied from another: seven in a row."""

import re

WORDS_COPIED = 7


def copied(text: str, heard: str) -> str | None:
    """The first words, seven in a row, that stand in `heard` as well."""
    said = _runs(heard)
    return next((run for run in _runs(text) if run in said), None)


def _runs(text: str) -> dict[str, None]:
    """Within a line; in the order of the text."""
    found: dict[str, None] = {}
    for line in text.casefold().splitlines():
        words = re.findall(r"[\w'’-]+", line)
        found.update({" ".join(words[at : at + WORDS_COPIED]): None for at in range(len(words) - WORDS_COPIED + 1)})
    return found
