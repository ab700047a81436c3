"""A private folder to unpack into, and the one way results leave it: whole, or not at all."""

import atexit
import errno
import os
import secrets
import shutil
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from affidavit.errors import EvidenceUnavailable, InputRefused

_PREFIX = ".affidavit-"


@contextmanager
def workspace(beside: Path | None = None) -> Generator[Path]:
    """An empty folder, removed at the end whatever happens. `beside` puts it on the same disk as the results."""
    parent = Path(tempfile.gettempdir()) if beside is None else beside.resolve().parent
    # Noted before it is made: a stop may arrive before the block below guards it, and what is left goes at the exit.
    folder = parent / f"{_PREFIX}{secrets.token_hex(8)}"
    _in_use.add(folder)
    try:
        folder.mkdir(mode=0o700)
    except OSError as error:
        raise EvidenceUnavailable(
            f"no working folder can be made in {parent}: {error.strerror}", hint="point TMPDIR at a disk with room"
        ) from error
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        _in_use.discard(folder)


_in_use: set[Path] = set()


@atexit.register
def _remove_left() -> None:
    for folder in _in_use:
        shutil.rmtree(folder, ignore_errors=True)


def prepare_output(folder: Path) -> None:
    """Raises EvidenceUnavailable now rather than after minutes of work."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise EvidenceUnavailable(f"{folder} cannot be made: {error.strerror}", hint="choose another --out") from error
    if not os.access(folder, os.W_OK):
        raise EvidenceUnavailable(f"{folder} cannot be written to", hint="choose another --out")


def publish(folder: Path, files: dict[str, bytes]) -> None:
    """Write all files in full under other names, then put them in place in order: a reader never sees half of one.

    Whatever goes wrong while writing, a full disk or Ctrl-C, nothing is left behind.
    """
    unfinished = [folder / f"{_PREFIX}{name}" for name in files]
    try:
        for path, content in zip(unfinished, files.values(), strict=True):
            _write_through(path, content)
        for path, name in zip(unfinished, files, strict=True):
            path.replace(folder / name)
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        raise EvidenceUnavailable(
            f"{' and '.join(files)} could not be written to {folder}: {'the disk is full' if full else error.strerror}",
            hint="free some space or choose another --out; nothing half-written was left",
        ) from error
    finally:
        for path in unfinished:
            path.unlink(missing_ok=True)


def publish_folder(source: Path, target: Path) -> None:
    """Move a finished folder into place. Raises InputRefused when something is there already."""
    if target.exists():
        raise InputRefused(
            f"{target} is there already",
            hint="evidence is never overwritten: choose another --out, or remove it",
        )
    if source.exists():
        source.rename(target)
    else:
        target.mkdir()


def _write_through(path: Path, content: bytes) -> None:
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
