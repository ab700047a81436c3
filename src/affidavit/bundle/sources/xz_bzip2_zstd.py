"""Decompresses xz, bzip2 and zstd in bounded steps. Of damaged data it still returns every byte before the damage."""

import bz2
import io
import lzma
import sys
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Protocol

from affidavit.bundle.safety.link_free_opening import file_opener
from affidavit.bundle.sources.source import MemberDamaged

# Small enough that going over a damaged piece byte by byte costs nothing.
_PIECE = 8192
# What one step may return: a few bytes can expand to gigabytes.
_AT_ONCE = 1 << 18
# xz -9 needs 65 MiB; more than this only an attack on memory would ask for.
_XZ_MEMORY = 192 << 20
_ZSTD_WINDOW_LOG = 27


class Decoder(Protocol):
    """What the decoders of the three forms have in common."""

    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int = -1) -> bytes: ...


def xz_decoder() -> Decoder:
    return lzma.LZMADecompressor(format=lzma.FORMAT_XZ, memlimit=_XZ_MEMORY)


def bzip2_decoder() -> Decoder:
    return bz2.BZ2Decompressor()


def zstd_decoder() -> Decoder:
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    return zstd.ZstdDecompressor(options={zstd.DecompressionParameter.window_log_max: _ZSTD_WINDOW_LOG})


class Decompressed:
    """The decompressed bytes of a file. After the last good byte of a damaged one, MemberDamaged is raised."""

    def __init__(self, path: Path, new_decoder: Callable[[], Decoder], *, magic: bytes) -> None:
        self._path = path
        self._new_decoder = new_decoder
        self._magic = magic
        self._input = _Input(path)
        self._pieces = self._decoded(self._input)
        self._delivered = 0
        self._rest = b""
        self._failure: MemberDamaged | None = None
        self._is_salvaging = False

    def readinto(self, view: memoryview) -> int:
        if not self._rest:
            self._rest = self._next_piece()
        count = min(len(view), len(self._rest))
        view[:count] = self._rest[:count]
        self._rest = self._rest[count:]
        self._delivered += count
        return count

    def consumed(self) -> int:
        return self._input.consumed

    def close(self) -> None:
        self._input.close()

    def _next_piece(self) -> bytes:
        if self._failure is not None:
            raise self._failure
        try:
            return next(self._pieces, b"")
        except MemberDamaged as error:
            self._failure = error
        except OSError as error:
            # bz2 tells damaged data by an OSError that names no cause of the system.
            if error.errno is not None:
                self._failure = MemberDamaged(f"it cannot be read: {error.strerror}")
                raise self._failure from error
            return self._salvage(error)
        except Exception as error:  # noqa: BLE001 - each library has errors of its own for damaged data
            return self._salvage(error)
        raise self._failure

    def _salvage(self, error: Exception) -> bytes:
        """Decode again from the start, in single bytes where the damage is: a step that fails returns nothing."""
        if self._is_salvaging:
            self._failure = MemberDamaged(f"the compressed data is damaged ({_words(error)})")
            raise self._failure from error
        self._is_salvaging = True
        again = _Input(self._path, bytewise_from=max(0, self._input.consumed - _PIECE))
        self._pieces = _without_first(self._delivered, self._decoded(again))
        self._input.close()
        self._input = again
        return self._next_piece()

    def _decoded(self, packed: "_Input") -> Iterator[bytes]:
        """One stream after the other; zeros between and after them are padding."""
        rest, is_first = packed.read(), True
        while rest:
            rest = rest if is_first else packed.at_least(len(self._magic), rest.lstrip(b"\0"))
            if rest and not rest.startswith(self._magic) and not is_first:
                raise MemberDamaged("something else follows the compressed data")
            is_first = False
            if rest:
                rest = yield from self._stream(rest, packed)
                rest = rest or packed.read()

    def _stream(self, first: bytes, packed: "_Input") -> Generator[bytes, None, bytes]:
        decoder, data = self._new_decoder(), first
        while not decoder.eof:
            if piece := decoder.decompress(data, _AT_ONCE):
                yield piece
            data = b""
            if decoder.needs_input and not decoder.eof and not (data := packed.read()):
                raise MemberDamaged("the compressed data ends too early")
        return decoder.unused_data


class _Input:
    """The compressed file in pieces, in single bytes from an offset on, and how much of it was read."""

    def __init__(self, path: Path, *, bytewise_from: int | None = None) -> None:
        self._file = io.FileIO(path, opener=file_opener)
        self._bytewise_from = bytewise_from
        self.consumed = 0

    def read(self) -> bytes:
        size = _PIECE
        if self._bytewise_from is not None:
            size = max(1, min(_PIECE, self._bytewise_from - self.consumed))
        data = self._file.read(size) or b""
        self.consumed += len(data)
        return data

    def at_least(self, size: int, data: bytes) -> bytes:
        """`data`, with more behind it where it is shorter."""
        while len(data) < size and (more := self.read()):
            data = (data + more).lstrip(b"\0")
        return data

    def close(self) -> None:
        self._file.close()


def _without_first(skipped: int, pieces: Iterator[bytes]) -> Iterator[bytes]:
    for piece in pieces:
        if skipped < len(piece):
            yield piece[skipped:]
        skipped = max(0, skipped - len(piece))


def _words(error: Exception) -> str:
    return str(error) or type(error).__name__
