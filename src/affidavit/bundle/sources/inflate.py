"""Decompresses deflate data. Of damaged data it still returns every byte before the damage."""

import zlib
from collections.abc import Generator, Iterable, Iterator
from typing import Protocol

from affidavit.bundle.sources.source import MemberDamaged

# Small enough that going over a damaged piece byte by byte costs nothing.
PIECE = 8192


class _Inflater(Protocol):
    def decompress(self, data: bytes, /) -> bytes: ...


def inflate(pieces: Iterable[bytes], *, wbits: int) -> Generator[bytes, None, bytes]:
    """The decoded bytes of one stream. Returns what of the last piece lies behind it. Raises MemberDamaged."""
    decoder = zlib.decompressobj(wbits=wbits)
    for piece in pieces:
        before = decoder.copy()
        try:
            decoded = decoder.decompress(piece)
        except zlib.error as error:
            yield from _bytewise(before, piece)
            raise MemberDamaged(f"the compressed data is damaged ({error})") from error
        yield decoded
        if decoder.eof:
            return decoder.unused_data
    raise MemberDamaged("the compressed data ends too early")


def _bytewise(decoder: _Inflater, piece: bytes) -> Iterator[bytes]:
    try:
        for index in range(len(piece)):
            yield decoder.decompress(piece[index : index + 1])
    except zlib.error:
        return
