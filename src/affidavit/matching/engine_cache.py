"""Caches compiled engines between runs: building one takes a second, loading it less than a millisecond."""

import hashlib
import platform
import threading
from typing import Any

from affidavit.matching.disk_cache import keep, read_kept

_ENGINES = "engines"
KEPT = 64


def engine_name(expressions: list[bytes], ids: list[int], *, version: str) -> str:
    """The cache key: same patterns, same library, same kind of machine."""
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


def is_kept(name: str) -> bool:
    return read_kept(_ENGINES, name) is not None


def keep_engine(name: str, database: Any) -> None:
    import hyperscan

    keep(_ENGINES, name, hyperscan.dumpb(database), most=KEPT)


class Scratches:
    """Hyperscan's scratch space, one for each thread: two scans cannot share it at once."""

    def __init__(self, database: Any) -> None:
        self._database = database
        self._mine = threading.local()

    def mine(self) -> Any:
        try:
            return self._mine.scratch
        except AttributeError:
            import hyperscan

            self._mine.scratch = hyperscan.Scratch(self._database)
            return self._mine.scratch
