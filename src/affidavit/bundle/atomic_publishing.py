"""Publishes results, each file whole or not at all; one run at a time writes to a folder of them."""

import errno
import os
import secrets
from collections.abc import Generator, Iterable
from contextlib import contextmanager, suppress
from pathlib import Path

from affidavit.bundle.workspace import LIST, PREFIX, locked
from affidavit.errors import EvidenceUnavailable, InputRefused


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
    lock = locked(folder.resolve(), wait=True)
    try:
        with suppress(OSError):
            for left in folder.glob(f"{PREFIX}*.part"):
                left.unlink(missing_ok=True)
        yield
    finally:
        os.close(lock)


def publish(folder: Path, files: dict[str, bytes]) -> None:
    """Write all files in full under other names, then put them in place in order: a reader never sees half of one.

    The other names cannot be guessed and must not exist, so nobody can lay a link there. Files are for their owner
    alone. Whatever goes wrong while writing, a full disk or Ctrl-C, nothing is left behind.
    """
    unfinished = {name: f"{PREFIX}{secrets.token_hex(16)}.part" for name in files}
    place: int | None = None
    try:
        place = os.open(folder, LIST)
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
