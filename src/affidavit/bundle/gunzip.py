"""Read a gzip file fast, and when it is damaged, still hand over every byte that can be decoded."""

import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol, cast

from isal import igzip
from isal.igzip_lib import IsalError

from affidavit.bundle.source import MemberDamaged

_PIECE = 4096
_DAMAGE: tuple[type[Exception], ...] = (
    EOFError,
    OSError,
    zlib.error,
    cast(type[Exception], IsalError),
)  # a class, typed as an instance


class _Inflater(Protocol):
    def decompress(self, data: bytes, /) -> bytes: ...


class Gunzip:
    """The decompressed bytes of a file. After the last good byte of a damaged one, MemberDamaged is raised."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = path.open("rb")
        self._fast = igzip.IGzipFile(fileobj=self._file)
        self._delivered = 0
        self._salvaged: Iterator[bytes] | None = None
        self._rest = b""

    def readinto(self, view: memoryview) -> int:
        if self._salvaged is None:
            try:
                count = self._fast.readinto(view)
            except _DAMAGE:
                self._salvaged = _salvage(self._path, skip=self._delivered)
            else:
                self._delivered += count
                return count
        return self._readinto_salvaged(view)

    def consumed(self) -> int:
        return self._file.tell()

    def close(self) -> None:
        self._fast.close()
        self._file.close()

    def _readinto_salvaged(self, view: memoryview) -> int:
        while not self._rest and self._salvaged is not None:
            self._rest = next(self._salvaged)
        count = min(len(view), len(self._rest))
        view[:count] = self._rest[:count]
        self._rest = self._rest[count:]
        return count


def _salvage(path: Path, *, skip: int) -> Iterator[bytes]:
    """All bytes behind the first `skip` that decode, then MemberDamaged."""
    for piece in _decoded(path):
        if skip < len(piece):
            yield piece[skip:]
        skip = max(0, skip - len(piece))


def _decoded(path: Path) -> Iterator[bytes]:
    inflate = zlib.decompressobj(wbits=31)
    with path.open("rb") as file:
        while piece := file.read(_PIECE):
            before = inflate.copy()
            try:
                yield inflate.decompress(piece)
            except zlib.error as error:
                yield from _bytewise(before, piece)
                raise MemberDamaged(f"the compressed data is damaged ({error})") from error
            if inflate.eof:
                rest = inflate.unused_data + file.read(_PIECE)
                if not rest.strip(b"\0"):
                    break
                inflate = zlib.decompressobj(wbits=31)
                file.seek(-len(rest), 1)
    if inflate.eof:
        raise MemberDamaged("something that is not gzip follows the compressed data")
    raise MemberDamaged("the compressed data ends too early")


def _bytewise(inflate: _Inflater, piece: bytes) -> Iterator[bytes]:
    try:
        for index in range(len(piece)):
            yield inflate.decompress(piece[index : index + 1])
    except zlib.error:
        return
