"""Compiled engines, kept between runs: building one takes 0.4 s, loading it less than a millisecond.

The cache is a convenience: whatever is wrong with it, the engine is built anew. An engine is machine code in effect,
so it is only taken from a folder that nobody else can write to.
"""

import contextlib
import hashlib
import os
import platform
import stat
import tempfile
import threading
from pathlib import Path
from typing import Any

_DIGEST = 32
_OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH
KEPT = 8


def engine_name(expressions: list[bytes], ids: list[int], *, version: str) -> str:
    """The same patterns for the same library on the same kind of machine."""
    facts = (version, platform.machine(), platform.system(), ids, expressions)
    return hashlib.sha256(repr(facts).encode()).hexdigest()[:32]


def load_engine(name: str) -> Any | None:
    import hyperscan

    folder = _folder()
    kept = _read(folder / name) if folder is not None else None
    if kept is None:
        return None
    try:
        return hyperscan.loadb(kept, hyperscan.HS_MODE_BLOCK)
    except hyperscan.HyperscanError:
        return None


def keep_engine(name: str, database: Any) -> None:
    import hyperscan

    folder = _folder()
    if folder is None:
        return
    data: bytes = hyperscan.dumpb(database)
    with contextlib.suppress(OSError):
        _write(folder, name, hashlib.sha256(data).digest() + data)
        _forget_oldest(folder)


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


def _folder() -> Path | None:
    """Ours alone, or none."""
    base = os.environ.get("XDG_CACHE_HOME")
    try:
        folder = (Path(base) if base else Path.home() / ".cache") / "affidavit" / "engines"
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        facts = folder.lstat()
    except (OSError, RuntimeError):
        return None
    is_ours = stat.S_ISDIR(facts.st_mode) and facts.st_uid == os.getuid() and not facts.st_mode & _OTHERS_MAY_WRITE
    return folder if is_ours else None


def _read(path: Path) -> bytes | None:
    try:
        kept = path.read_bytes()
    except OSError:
        return None
    data = kept[_DIGEST:]
    return data if kept[:_DIGEST] == hashlib.sha256(data).digest() else None


def _write(folder: Path, name: str, data: bytes) -> None:
    file, temporary = tempfile.mkstemp(dir=folder, prefix=".")
    try:
        with os.fdopen(file, "wb") as sink:
            sink.write(data)
        Path(temporary).replace(folder / name)
    except OSError:
        Path(temporary).unlink(missing_ok=True)
        raise


def _forget_oldest(folder: Path) -> None:
    kept = sorted(folder.iterdir(), key=lambda path: path.stat().st_mtime, reverse=True)
    for path in kept[KEPT:]:
        path.unlink(missing_ok=True)
