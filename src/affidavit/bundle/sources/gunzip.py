"""Decompresses gzip fast. Of a damaged file it still returns every byte before the damage."""

import gzip
import io
import zlib
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, cast

from isal import igzip
from isal.igzip_lib import IsalError

from affidavit.bundle.safety.link_free_opening import file_opener
from affidavit.bundle.sources.inflate import PIECE, inflate
from affidavit.bundle.sources.source import MemberDamaged

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

GZIP_MAGIC = b"\x1f\x8b"
_WITH_GZIP_HEADER = 31
_DAMAGE: tuple[type[Exception], ...] = (
    EOFError,
    gzip.BadGzipFile,
    zlib.error,
    cast(type[Exception], IsalError),  # a class, typed as an instance
)


class Gunzip:
    """The decompressed bytes of a file. After the last good byte of a damaged one, MemberDamaged is raised."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = _CountedFile(path)
        self._fast = igzip.IGzipFile(fileobj=self._file)
        self._delivered = 0
        self._salvaged: Iterator[bytes] | None = None
        self._rest = b""
        self._failure: MemberDamaged | None = None

    def readinto(self, view: memoryview) -> int:
        if self._failure is not None:
            raise self._failure
        try:
            return self._readinto(view)
        except MemberDamaged as error:
            self._failure = error
        except OSError as error:
            self._failure = MemberDamaged(f"it cannot be read: {error.strerror}")
        raise self._failure

    def consumed(self) -> int:
        return self._file.consumed

    def close(self) -> None:
        self._fast.close()
        self._file.close()

    def _readinto(self, view: memoryview) -> int:
        if self._salvaged is None:
            try:
                count = self._fast.readinto(view)
            except _DAMAGE:
                self._salvaged = _salvage(self._path, skip=self._delivered)
            else:
                self._delivered += count
                return count
        return self._readinto_salvaged(view, self._salvaged)

    def _readinto_salvaged(self, view: memoryview, salvaged: Iterator[bytes]) -> int:
        while not self._rest:
            self._rest = next(salvaged)
        count = min(len(view), len(self._rest))
        view[:count] = self._rest[:count]
        self._rest = self._rest[count:]
        return count


class _CountedFile(io.FileIO):
    """Counts the bytes read: `tell()` per member would cost a system call."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, opener=file_opener)
        self.consumed = 0

    def read(self, size: int | None = -1, /) -> bytes:
        data = super().read(-1 if size is None else size) or b""
        self.consumed += len(data)
        return data

    def readinto(self, buffer: "WriteableBuffer", /) -> int:
        count = super().readinto(buffer) or 0
        self.consumed += count
        return count


def _salvage(path: Path, *, skip: int) -> Iterator[bytes]:
    """All bytes behind the first `skip` that decode, then MemberDamaged."""
    for piece in _decoded(path):
        if skip < len(piece):
            yield piece[skip:]
        skip = max(0, skip - len(piece))
    raise MemberDamaged("the compressed data is damaged")


def _decoded(path: Path) -> Iterator[bytes]:
    """One stream after the other; zeros between and behind them are padding."""
    with _CountedFile(path) as file:
        pieces = iter(lambda: file.read(PIECE), b"")
        rest = next(pieces, b"")
        while rest:
            rest = (yield from inflate(chain((rest,), pieces), wbits=_WITH_GZIP_HEADER)).lstrip(b"\0")
            while len(rest) < len(GZIP_MAGIC) and (more := next(pieces, b"")):
                rest = (rest + more).lstrip(b"\0")
            if rest and not rest.startswith(GZIP_MAGIC):
                raise MemberDamaged("something that is not gzip follows the compressed data")
