"""How runtimes word an error that nothing caught, and what is noise: data with samples, checked when loaded."""

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import re2

from affidavit.errors import InvariantBroken
from affidavit.yaml_loading import load_yaml

_FILE = Path(__file__).parent / "wordings.yaml"


def is_unhandled(message: str) -> bool:
    return any(pattern.search(message) for pattern in _patterns("unhandled"))


def is_noise(message: str) -> bool:
    return any(pattern.search(message) for pattern in _patterns("noise"))


@cache
def _patterns(group: str) -> tuple[Any, ...]:
    entries: list[Mapping[str, Any]] = load_yaml(_FILE.read_text())[group]
    return tuple(checked_pattern(entry) for entry in entries)


def checked_pattern(entry: Mapping[str, Any]) -> Any:
    """The entry's pattern. Raises InvariantBroken when a sample does not behave as its entry says."""
    pattern = re2.compile(_any_of(entry["match"]))
    silent = [sample for sample in entry["fires"] if not pattern.search(sample)]
    loud = [sample for sample in entry["quiet"] if pattern.search(sample)]
    if silent or loud:
        raise InvariantBroken(
            f"wording {entry['id']}: a sample misbehaves: {(silent or loud)[0]!r}", hint="correct `match` or the sample"
        )
    return pattern


def _any_of(match: str | Sequence[str]) -> str:
    return match if isinstance(match, str) else "|".join(f"(?:{one})" for one in match)
