"""Names the system that a run called, by what it said and by the clients in its stack frames."""

import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

from affidavit.yaml_loading import load_yaml

_FILE = Path(__file__).parent / "called_systems.yaml"


def called_system(texts: Iterable[str]) -> str | None:
    """The first system that a text names, in the order of the texts; None when none does."""
    return next((found for text in texts if (found := _in(text)) is not None), None)


def _in(text: str) -> str | None:
    found = _pattern().search(text)
    return _names()[found[1].lower()] if found else None


@cache
def _names() -> Mapping[str, str]:
    table: Mapping[str, list[str]] = load_yaml(_FILE.read_text())
    return {mark: name for name, marks in table.items() for mark in marks}


@cache
def _pattern() -> re.Pattern[str]:
    marks = "|".join(re.escape(mark) for mark in sorted(_names(), key=len, reverse=True))
    return re.compile(rf"(?<![A-Za-z0-9])({marks})(?![a-z0-9])", re.IGNORECASE)
