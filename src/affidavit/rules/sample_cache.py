"""Rules whose samples were seen to hold are not tried again at the next start: they and our code are the same."""

import hashlib
import os
from collections.abc import Callable, Iterable
from functools import cache
from importlib.metadata import version
from pathlib import Path

from affidavit.rules.kept import keep, read_kept

_MARKS = "checked"
_MOST = 64
_OURS = Path(__file__).parent.parent
# What decides whether a sample holds.
_JUDGES = ("rules", "checks", "checks/compute", "bundle", "evidence", "index")


def once(what: str, content: Iterable[str], check: Callable[[], object]) -> None:
    """`check`, unless it held for the same content before. It raises when it does not hold."""
    parts = (what, *content, version("google-re2"), *_code())
    name = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]
    if read_kept(_MARKS, name) is None:
        check()
        keep(_MARKS, name, b"holds", most=_MOST)


@cache
def _code() -> tuple[str, ...]:
    """Changes when our code does, also in a checkout that somebody works on."""
    files = (entry for folder in _JUDGES for entry in os.scandir(_OURS / folder) if entry.is_file())
    facts = ((entry.name, entry.stat()) for entry in files if entry.name.endswith((".py", "layout.yaml")))
    return tuple(sorted(f"{name} {stat.st_size} {stat.st_mtime_ns}" for name, stat in facts))
