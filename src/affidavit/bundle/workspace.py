"""Makes private working folders, and removes what killed runs left of theirs.

A working folder is locked as long as its run lives, so that the next run can tell and remove what a killed one left.
"""

import atexit
import fcntl
import os
import secrets
import shutil
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from affidavit.errors import EvidenceUnavailable

# Of working folders, and of files that are not finished yet.
PREFIX = ".affidavit-"
# A folder that was just made may not be locked yet.
_YOUNG_SECONDS = 60
# Opens a folder and nothing else.
LIST = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


@contextmanager
def workspace(beside: Path | None = None) -> Generator[Path]:
    """An empty folder, removed at the end whatever happens. `beside` puts it on the same disk as the results."""
    parent = Path(tempfile.gettempdir()).resolve() if beside is None else beside.resolve().parent
    _remove_leftovers(parent)
    # Noted before it is made: a stop may arrive before the block below guards it, and what is left goes at the exit.
    folder = parent / f"{PREFIX}{secrets.token_hex(8)}"
    _in_use.add(folder)
    try:
        folder.mkdir(mode=0o700)
        lock = locked(folder, wait=False)
    except OSError as error:
        raise EvidenceUnavailable(
            f"no working folder can be made in {parent}: {error.strerror}", hint="point TMPDIR at a disk with room"
        ) from error
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        _in_use.discard(folder)
        os.close(lock)


_in_use: set[Path] = set()


@atexit.register
def _remove_left() -> None:
    for folder in _in_use:
        shutil.rmtree(folder, ignore_errors=True)


def _remove_leftovers(parent: Path) -> None:
    """Working folders of ours that no living run holds: a killed run cannot remove its own."""
    with suppress(OSError):
        for folder in parent.glob(f"{PREFIX}*"):
            with suppress(OSError):
                _remove_if_left(folder)


def _remove_if_left(folder: Path) -> None:
    facts = folder.lstat()
    if facts.st_uid != os.getuid() or time.time() - facts.st_mtime < _YOUNG_SECONDS:
        return
    lock = locked(folder, wait=False)  # fails for what is no folder, and for one that is in use
    try:
        shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(lock)


def locked(folder: Path, *, wait: bool) -> int:
    """A descriptor that holds the folder's lock. Raises OSError when another run has it and `wait` is off."""
    lock = os.open(folder, LIST | os.O_NOFOLLOW)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BaseException:
        os.close(lock)
        raise
    return lock
