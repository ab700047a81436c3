"""Caches data between runs in the user's cache folder.

When the cache cannot be used, the work is done again. Cached engines act like code and cached marks skip checks, so
both are only read from a folder that nobody else can write to.
"""

import contextlib
import hashlib
import os
import stat
import tempfile
from pathlib import Path

_DIGEST = 32
_OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH


def read_kept(kind: str, name: str) -> bytes | None:
    """Reads an entry, or None. Reading it also marks it as recently used."""
    folder = _folder(kind)
    if folder is None:
        return None
    try:
        kept = (folder / name).read_bytes()
        os.utime(folder / name)
    except OSError:
        return None
    data = kept[_DIGEST:]
    return data if kept[:_DIGEST] == hashlib.sha256(data).digest() else None


def keep(kind: str, name: str, data: bytes, *, most: int) -> None:
    """Stores an entry. Of each kind only the `most` recently used stay."""
    folder = _folder(kind)
    if folder is None:
        return
    with contextlib.suppress(OSError):
        _write(folder, name, hashlib.sha256(data).digest() + data)
        _forget_oldest(folder, most)


def _folder(kind: str) -> Path | None:
    """The folder, if nobody else can write to it; else None."""
    base = os.environ.get("XDG_CACHE_HOME")
    try:
        folder = (Path(base) if base else Path.home() / ".cache") / "affidavit" / kind
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        facts = folder.lstat()
    except (OSError, RuntimeError):
        return None
    is_ours = stat.S_ISDIR(facts.st_mode) and facts.st_uid == os.getuid() and not facts.st_mode & _OTHERS_MAY_WRITE
    return folder if is_ours else None


def _write(folder: Path, name: str, data: bytes) -> None:
    file, temporary = tempfile.mkstemp(dir=folder, prefix=".")
    try:
        with os.fdopen(file, "wb") as sink:
            sink.write(data)
        Path(temporary).replace(folder / name)
    except OSError:
        Path(temporary).unlink(missing_ok=True)
        raise


def _forget_oldest(folder: Path, most: int) -> None:
    kept = sorted(folder.iterdir(), key=lambda path: path.stat().st_mtime, reverse=True)
    for path in kept[most:]:
        path.unlink(missing_ok=True)
