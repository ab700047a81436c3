"""Compiled engines, kept between runs: building one takes a second, loading it less than a millisecond."""

import hashlib
import platform
import threading
from typing import Any

from affidavit.rules.kept import keep, read_kept

_ENGINES = "engines"
KEPT = 16


def engine_name(expressions: list[bytes], ids: list[int], *, version: str) -> str:
    """The same patterns for the same library on the same kind of machine."""
    facts = (version, platform.machine(), platform.system(), ids, expressions)
    return hashlib.sha256(repr(facts).encode()).hexdigest()[:32]


def load_engine(name: str) -> Any | None:
    import hyperscan

    kept = read_kept(_ENGINES, name)
    if kept is None:
        return None
    try:
        return hyperscan.loadb(kept, hyperscan.HS_MODE_BLOCK)
    except hyperscan.HyperscanError:
        return None


def keep_engine(name: str, database: Any) -> None:
    import hyperscan

    keep(_ENGINES, name, hyperscan.dumpb(database), most=KEPT)


class Scratches:
    """Room to work in, one for each thread: Hyperscan refuses to share it between two scans at once."""

    def __init__(self, database: Any) -> None:
        self._database = database
        self._mine = threading.local()

    def mine(self) -> Any:
        import hyperscan

        if not hasattr(self._mine, "scratch"):
            self._mine.scratch = hyperscan.Scratch(self._database)
        return self._mine.scratch
