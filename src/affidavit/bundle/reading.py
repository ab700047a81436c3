"""Bytes of files that were listed before. A bundle in a folder may be changed, or closed to us, by somebody else."""

import os
from pathlib import Path

from affidavit.errors import EvidenceUnavailable

_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK


def head_of(location: Path, size: int) -> bytes:
    """Nothing when the file cannot be read: what only helps to date or name a bundle must not end its analysis."""
    return _read(location, size, from_end=False)


def tail_of(location: Path, size: int) -> bytes:
    """Like `head_of`, of its end. A bundle may hold thousands of files, so this is as cheap as can be."""
    return _read(location, size, from_end=True)


def span_of(location: Path, start: int, end: int) -> bytes:
    """The bytes that evidence stands on. Raises EvidenceUnavailable."""
    try:
        file = os.open(location, _FLAGS)
        try:
            return os.pread(file, end - start, start)
        finally:
            os.close(file)
    except OSError as error:
        raise unreadable(location, error) from error


def unreadable(location: Path, error: OSError) -> EvidenceUnavailable:
    return EvidenceUnavailable(
        f"{location.name} can no longer be read: {error.strerror}",
        hint="somebody changes the folder that it lies in; analyze a copy of it",
    )


def _read(location: Path, size: int, *, from_end: bool) -> bytes:
    try:
        file = os.open(location, _FLAGS)
    except OSError:
        return b""
    try:
        return os.pread(file, size, max(0, os.fstat(file).st_size - size) if from_end else 0)
    except OSError:
        return b""
    finally:
        os.close(file)
