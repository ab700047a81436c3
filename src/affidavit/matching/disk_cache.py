"""Caches data between runs in the user's cache folder.

When the cache cannot be used, the work is done again. Cached engines act like code and cached marks skip checks, so
both are only read from a folder that nobody else can write to. A wheel carries some entries in a folder beside our
code, so that the first run after an installation need not make them.
"""

import contextlib
import hashlib
import os
import stat
import tempfile
from pathlib import Path

SHIPPED = "shipped"
_DIGEST = 32
_SHIPPED = Path(__file__).parents[1] / SHIPPED
_OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH


def read_kept(kind: str, name: str) -> bytes | None:
    """Reads an entry, or None. Reading it also marks it as recently used."""
    shipped = _content(_SHIPPED / kind / name)
    return shipped if shipped is not None else _read_own(kind, name)


def _read_own(kind: str, name: str) -> bytes | None:
    folder = _folder(kind)
    if folder is None:
        return None
    with contextlib.suppress(OSError):
        os.utime(folder / name)
    return _content(folder / name)


def _content(entry: Path) -> bytes | None:
    """What an entry holds, if it is there and whole."""
    try:
        kept = entry.read_bytes()
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
