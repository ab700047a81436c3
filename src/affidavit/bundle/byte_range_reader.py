"""Reads bytes of listed files. Another process may change a directory bundle or its permissions meanwhile."""

import os
from contextlib import closing
from pathlib import Path

from affidavit.bundle.safety.link_free_opening import open_without_links
from affidavit.errors import EvidenceUnavailable


def head_of(location: Path, size: int) -> bytes:
    """The first bytes, or nothing when the file cannot be read: callers only use it to date or name a bundle."""
    return _read(location, size, from_end=False)


def tail_of(location: Path, size: int) -> bytes:
    """The last bytes, or nothing when the file cannot be read. Called for thousands of files, so it is cheap."""
    return _read(location, size, from_end=True)


def span_of(location: Path, start: int, end: int) -> bytes:
    """The bytes of a range. Raises EvidenceUnavailable."""
    with closing(Spans()) as spans:
        return spans.read(location, start, end)


class Spans:
    """Reads ranges of files. The last file stays open, as the next range is mostly of the same."""

    def __init__(self) -> None:
        self._location: Path | None = None
        self._file = -1

    def read(self, location: Path, start: int, end: int) -> bytes:
        """Raises EvidenceUnavailable."""
        try:
            if location != self._location:
                self.close()
                self._file, self._location = open_without_links(location), location
            return os.pread(self._file, end - start, start)
        except OSError as error:
            raise unreadable(location, error) from error

    def close(self) -> None:
        if self._location is not None:
            self._location = None
            os.close(self._file)


def unreadable(location: Path, error: OSError) -> EvidenceUnavailable:
    return EvidenceUnavailable(
        f"{location.name} can no longer be read: {error.strerror}",
        hint="another process changes that folder; analyze a copy of it",
    )


def _read(location: Path, size: int, *, from_end: bool) -> bytes:
    try:
        file = open_without_links(location)
    except OSError:
        return b""
    try:
        return os.pread(file, size, max(0, os.fstat(file).st_size - size) if from_end else 0)
    except OSError:
        return b""
    finally:
        os.close(file)
