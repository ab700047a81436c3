"""Tar, gzip and zip written byte by byte, so that they can be wrong in ways no library would write them."""

import gzip
import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

BLOCK: Final = 512
END_MARK: Final = bytes(2 * BLOCK)

FILE, HARD_LINK, SYMLINK, CHAR_DEVICE, BLOCK_DEVICE, FOLDER, FIFO = (str(kind).encode() for kind in range(7))
PAX, GLOBAL_PAX, LONG_NAME, LONG_LINK, SPARSE = b"x", b"g", b"L", b"K", b"S"


def octal(value: int, width: int) -> bytes:
    return b"%0*o\0" % (width - 1, value)


def base_256(value: int, width: int) -> bytes:
    """How GNU tar writes numbers that octal digits cannot hold, negative ones among them."""
    if value < 0:
        return b"\xff" + (256 ** (width - 1) + value).to_bytes(width - 1, "big")
    return b"\x80" + value.to_bytes(width - 1, "big")


def header(
    name: bytes,
    *,
    size: int | bytes = 0,
    kind: bytes = FILE,
    link: bytes = b"",
    mtime: int | bytes = 1_768_471_200,
    prefix: bytes = b"",
    magic: bytes = b"ustar\x0000",
) -> bytes:
    """One block. Numbers given as bytes are written as they are."""
    fields = (
        name[:100].ljust(100, b"\0"),
        octal(0o644, 8) + octal(0, 8) + octal(0, 8),
        octal(size, 12) if isinstance(size, int) else size.ljust(12, b"\0"),
        octal(mtime, 12) if isinstance(mtime, int) else mtime.ljust(12, b"\0"),
        b" " * 8,
        kind,
        link[:100].ljust(100, b"\0"),
        magic,
        bytes(64),
        octal(0, 8) * 2,
        prefix.ljust(155, b"\0"),
    )
    return with_checksum(b"".join(fields).ljust(BLOCK, b"\0"))


def with_checksum(block: bytes) -> bytes:
    block = block[:148] + b" " * 8 + block[156:]
    return block[:148] + b"%06o\0 " % sum(block) + block[156:]


def padded(content: bytes) -> bytes:
    return content + bytes(-len(content) % BLOCK)


def member(name: str | bytes, content: bytes = b"", **fields: int | bytes) -> bytes:
    """A file; `size=` makes it lie."""
    raw = name.encode("utf-8", "surrogateescape") if isinstance(name, str) else name
    return header(raw, **{"size": len(content), **fields}) + padded(content)  # pyright: ignore[reportArgumentType]


def pax_record(key: str, value: str | bytes) -> bytes:
    raw = value.encode() if isinstance(value, str) else value
    body = b" " + key.encode() + b"=" + raw + b"\n"
    length = len(body)
    while length != len(body) + len(str(length)):
        length = len(body) + len(str(length))
    return str(length).encode() + body


def pax(records: Mapping[str, str | bytes] | bytes, *, kind: bytes = PAX) -> bytes:
    """An extended header, from records or from any bytes at all."""
    payload = records if isinstance(records, bytes) else b"".join(pax_record(*item) for item in records.items())
    return header(b"./PaxHeaders/x", size=len(payload), kind=kind) + padded(payload)


def long_name(name: bytes, *, kind: bytes = LONG_NAME) -> bytes:
    return header(b"././@LongLink", size=len(name) + 1, kind=kind) + padded(name + b"\0")


def tar(*parts: bytes) -> bytes:
    return b"".join(parts) + END_MARK


def gz(content: bytes, level: int = 6) -> bytes:
    return gzip.compress(content, level, mtime=0)


def gz_zeros(mebibytes: int) -> bytes:
    """A thousand to one. Many streams in a row are one gzip file, and take no time to write."""
    return gz(bytes(1 << 20), 9) * mebibytes


def deflated_zeros(mebibytes: int) -> bytes:
    squeeze = zlib.compressobj(9, zlib.DEFLATED, -15)
    one = squeeze.compress(bytes(1 << 20)) + squeeze.flush(zlib.Z_FULL_FLUSH)
    return one * mebibytes + zlib.compressobj(9, zlib.DEFLATED, -15).flush()


def flipped(data: bytes, at: int, mask: int = 0xFF) -> bytes:
    return data[:at] + bytes([data[at] ^ mask]) + data[at + 1 :]


@dataclass(frozen=True, kw_only=True)
class ZipEntry:
    """A zip member. What is None is written truthfully."""

    name: bytes
    content: bytes = b""
    method: int = 8
    flags: int = 0
    mode: int = 0
    date: int = 0x5C2F
    raw: bytes | None = None
    claimed_size: int | None = None
    crc: int | None = None
    local_name: bytes | None = None
    at: int | None = None

    @cached_property
    def packed(self) -> bytes:
        if self.raw is not None:
            return self.raw
        if self.method == 0:
            return self.content
        squeeze = zlib.compressobj(9, zlib.DEFLATED, -15)
        return squeeze.compress(self.content) + squeeze.flush()

    @cached_property
    def numbers(self) -> tuple[int, int, int]:
        size = len(self.content) if self.claimed_size is None else self.claimed_size
        return zlib.crc32(self.content) if self.crc is None else self.crc, len(self.packed), size

    def local(self) -> bytes:
        name = self.name if self.local_name is None else self.local_name
        fixed = (b"PK\x03\x04", 20, self.flags, self.method, 0, self.date, *self.numbers, len(name), 0)
        return struct.pack("<4s5H3L2H", *fixed) + name + self.packed

    def listed(self, offset: int) -> bytes:
        fixed = (b"PK\x01\x02", 0x0314, 20, self.flags, self.method, 0, self.date, *self.numbers)
        rest = (len(self.name), 0, 0, 0, 0, self.mode << 16, offset if self.at is None else self.at)
        return struct.pack("<4s6H3L", *fixed) + struct.pack("<5H2L", *rest) + self.name


def zipped(*entries: ZipEntry) -> bytes:
    """Entries with `at` bring no bytes of their own."""
    body, listed = bytearray(), bytearray()
    for entry in entries:
        listed += entry.listed(len(body))
        body += entry.local() if entry.at is None else b""
    count = min(len(entries), 0xFFFF)
    end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, count, count, len(listed), len(body), 0)
    return bytes(body + listed) + end
