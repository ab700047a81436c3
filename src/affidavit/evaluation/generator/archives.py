"""Writes tar and gzip files whose bytes depend only on the content."""

import io
import tarfile
import zlib
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import PurePosixPath
from typing import BinaryIO

# No name and no time, as `gzip -n` writes it on Unix.
_GZIP_HEADER = bytes((0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3))
_STORED_LIMIT = 0xFFFF
_BLOCK = 512

END_OF_TAR = bytes(2 * _BLOCK)


def tarball(contents: Mapping[str, bytes], at: datetime, *, prefix: str) -> bytes:
    packed = io.BytesIO()
    for folder in _folders(contents):
        if name := f"{prefix}{folder}":
            packed.write(tar_header(name, 0, at, is_folder=True))
    for path in sorted(contents):
        packed.write(tar_header(f"{prefix}{path}", len(contents[path]), at))
        packed.write(contents[path])
        packed.write(padding(len(contents[path])))
    packed.write(END_OF_TAR)
    return packed.getvalue()


def tar_header(name: str, size: int, at: datetime, *, is_folder: bool = False) -> bytes:
    member = tarfile.TarInfo(name)
    member.size, member.mtime = size, int(at.timestamp())
    member.mode = 0o755 if is_folder else 0o644
    member.type = tarfile.DIRTYPE if is_folder else tarfile.REGTYPE
    member.uname = member.gname = "root"
    return member.tobuf(tarfile.GNU_FORMAT)


def padding(size: int) -> bytes:
    return bytes(-size % _BLOCK)


def stored_gzip(content: bytes) -> bytes:
    """A gzip file of stored blocks: builds of zlib differ in how they compress, none in how they store."""
    starts = range(0, max(1, len(content)), _STORED_LIMIT)
    blocks = (_stored(content[at : at + _STORED_LIMIT], is_last=at == starts[-1]) for at in starts)
    return _GZIP_HEADER + b"".join(blocks) + _gzip_trailer(zlib.crc32(content), len(content))


class GzipSink:
    """A file that compresses what is written to it, in bounded memory."""

    def __init__(self, target: BinaryIO, level: int = 6) -> None:
        self._target = target
        self._deflate = zlib.compressobj(level, zlib.DEFLATED, -zlib.MAX_WBITS)
        self._checksum, self._size = 0, 0
        target.write(_GZIP_HEADER)

    def write(self, content: bytes) -> None:
        self._checksum = zlib.crc32(content, self._checksum)
        self._size += len(content)
        self._target.write(self._deflate.compress(content))

    def close(self) -> None:
        """End the gzip stream; the file below stays open."""
        self._target.write(self._deflate.flush())
        self._target.write(_gzip_trailer(self._checksum, self._size))


def _folders(contents: Mapping[str, bytes]) -> Iterator[str]:
    folders = {str(parent) for path in contents for parent in PurePosixPath(path).parents}
    for folder in sorted(folders):
        yield "" if folder == "." else f"{folder}/"


def _gzip_trailer(checksum: int, size: int) -> bytes:
    return checksum.to_bytes(4, "little") + (size & 0xFFFFFFFF).to_bytes(4, "little")


def _stored(block: bytes, *, is_last: bool) -> bytes:
    size = len(block)
    return bytes((is_last,)) + size.to_bytes(2, "little") + (size ^ _STORED_LIMIT).to_bytes(2, "little") + block
