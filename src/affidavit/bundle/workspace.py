"""Makes private working folders and publishes results, each file whole or not at all.

A working folder is locked as long as its run lives, so that the next run can tell and remove what a killed one left.
"""

import atexit
import errno
import fcntl
import os
import secrets
import shutil
import tempfile
import time
from collections.abc import Generator, Iterable
from contextlib import contextmanager, suppress
from pathlib import Path

from affidavit.errors import EvidenceUnavailable, InputRefused

_PREFIX = ".affidavit-"
# A folder that was just made may not be locked yet.
_YOUNG_SECONDS = 60
_LIST = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


@contextmanager
def workspace(beside: Path | None = None) -> Generator[Path]:
    """An empty folder, removed at the end whatever happens. `beside` puts it on the same disk as the results."""
    parent = Path(tempfile.gettempdir()).resolve() if beside is None else beside.resolve().parent
    _remove_leftovers(parent)
    # Noted before it is made: a stop may arrive before the block below guards it, and what is left goes at the exit.
    folder = parent / f"{_PREFIX}{secrets.token_hex(8)}"
    _in_use.add(folder)
    try:
        folder.mkdir(mode=0o700)
        lock = _locked(folder, wait=False)
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
        for folder in parent.glob(f"{_PREFIX}*"):
            with suppress(OSError):
                _remove_if_left(folder)


def _remove_if_left(folder: Path) -> None:
    facts = folder.lstat()
    if facts.st_uid != os.getuid() or time.time() - facts.st_mtime < _YOUNG_SECONDS:
        return
    lock = _locked(folder, wait=False)  # fails for what is no folder, and for one that is in use
    try:
        shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(lock)


def _locked(folder: Path, *, wait: bool) -> int:
    """A descriptor that holds the folder's lock. Raises OSError when another run has it and `wait` is off."""
    lock = os.open(folder, _LIST | os.O_NOFOLLOW)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BaseException:
        os.close(lock)
        raise
    return lock


def prepare_output(folder: Path) -> None:
    """Raises EvidenceUnavailable now rather than after minutes of work."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise EvidenceUnavailable(f"{folder} cannot be made: {error.strerror}", hint="choose another --out") from error
    if not os.access(folder, os.W_OK):
        raise EvidenceUnavailable(f"{folder} cannot be written to", hint="choose another --out")


@contextmanager
def exclusive(folder: Path) -> Generator[None]:
    """One run at a time writes to a folder of results; others wait. Removes what a killed one left half-written."""
    lock = _locked(folder.resolve(), wait=True)
    try:
        with suppress(OSError):
            for left in folder.glob(f"{_PREFIX}*.part"):
                left.unlink(missing_ok=True)
        yield
    finally:
        os.close(lock)


def publish(folder: Path, files: dict[str, bytes]) -> None:
    """Write all files in full under other names, then put them in place in order: a reader never sees half of one.

    The other names cannot be guessed and must not exist, so nobody can lay a link there. Files are for their owner
    alone. Whatever goes wrong while writing, a full disk or Ctrl-C, nothing is left behind.
    """
    unfinished = {name: f"{_PREFIX}{secrets.token_hex(16)}.part" for name in files}
    place: int | None = None
    try:
        place = os.open(folder, _LIST)
        for name, content in files.items():
            _write_through(unfinished[name], content, place)
        for name in files:
            os.replace(unfinished[name], name, src_dir_fd=place, dst_dir_fd=place)
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        raise EvidenceUnavailable(
            f"{' and '.join(files)} could not be written to {folder}: {'the disk is full' if full else error.strerror}",
            hint="free some space or choose another --out; nothing half-written was left",
        ) from error
    finally:
        if place is not None:
            _remove(unfinished.values(), place)
            os.close(place)


def publish_folder(source: Path, target: Path) -> None:
    """Move a finished folder into place. Raises InputRefused when something is there already."""
    if os.path.lexists(target):
        raise InputRefused(
            f"{target} is there already",
            hint="evidence is never overwritten: choose another --out, or remove it",
        )
    if source.exists():
        source.rename(target)
    else:
        target.mkdir()


def _write_through(name: str, content: bytes, place: int) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(name, flags, 0o600, dir_fd=place), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _remove(names: Iterable[str], place: int) -> None:
    for name in names:
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=place)
