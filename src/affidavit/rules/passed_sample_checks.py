"""Remembers which rules' samples held, so that the next start with the same rules and code does not try them again."""

import hashlib
import os
from collections.abc import Callable, Iterable
from functools import cache
from importlib.metadata import version
from pathlib import Path

from affidavit.matching.disk_cache import keep, read_kept

MARKS = "checked"
_MOST = 64
_OURS = Path(__file__).parent.parent
# The folders whose code decides whether a sample holds.
_JUDGES = (
    "matching",
    "rules",
    "checks",
    "checks/compute",
    "bundle",
    "bundle/safety",
    "bundle/sources",
    "evidence",
    "index",
    "index/scanning",
    "index/times",
    "verdict",
    "verdict/graph",
)


def once(what: str, content: Iterable[str], check: Callable[[], object]) -> None:
    """Calls `check` unless it held for the same content before. `check` raises when it does not hold."""
    parts = (what, *content, version("google-re2"), *_code())
    name = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]
    if read_kept(MARKS, name) is None:
        check()
        keep(MARKS, name, b"holds", most=_MOST)


@cache
def _code() -> tuple[str, ...]:
    """Digests of our code: the same wherever it is installed, another when a file in a checkout is edited."""
    files = (entry for folder in _JUDGES for entry in os.scandir(_OURS / folder) if entry.is_file())
    judging = (
        entry for entry in files if entry.name.endswith((".py", "layout.yaml", "recognition.yaml", "entities.yaml"))
    )
    return tuple(sorted(f"{entry.name} {hashlib.sha256(Path(entry).read_bytes()).hexdigest()}" for entry in judging))
