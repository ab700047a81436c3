"""The compressed forms that are read (gzip, xz, bzip2, zstd): how to tell them and how to open them."""

from enum import StrEnum
from pathlib import Path
from typing import Protocol, assert_never

from affidavit.bundle.sources.gunzip import GZIP_MAGIC, Gunzip
from affidavit.bundle.sources.xz_bzip2_zstd import Decompressed, bzip2_decoder, xz_decoder, zstd_decoder


class Compression(StrEnum):
    GZIP = "gzip"
    XZ = "xz"
    BZIP2 = "bzip2"
    ZSTD = "zstd"


_MAGIC = {
    Compression.GZIP: GZIP_MAGIC,
    Compression.XZ: b"\xfd7zXZ\0",
    Compression.BZIP2: b"BZh",
    Compression.ZSTD: b"\x28\xb5\x2f\xfd",
}
NAME_ENDINGS = {
    Compression.GZIP: ".gz",
    Compression.XZ: ".xz",
    Compression.BZIP2: ".bz2",
    Compression.ZSTD: ".zst",
}
COMPRESSED_NAMES = tuple(NAME_ENDINGS.values())
TAR_NAMES = (".tar.gz", ".tgz", ".tar.xz", ".txz", ".tar.bz2", ".tbz2", ".tar.zst", ".tzst", ".tar")


class DecompressedBytes(Protocol):
    """Decompressed bytes of a file. Of a damaged one, all bytes before the damage, then MemberDamaged."""

    def readinto(self, view: memoryview) -> int: ...
    def consumed(self) -> int: ...
    def close(self) -> None: ...


def compression_of(head: bytes) -> Compression | None:
    """By the first bytes of a file."""
    return next((form for form, magic in _MAGIC.items() if head.startswith(magic)), None)


def decompressed(path: Path, compression: Compression) -> DecompressedBytes:
    match compression:
        case Compression.GZIP:
            return Gunzip(path)
        case Compression.XZ:
            return Decompressed(path, xz_decoder, magic=_MAGIC[compression])
        case Compression.BZIP2:
            return Decompressed(path, bzip2_decoder, magic=_MAGIC[compression])
        case Compression.ZSTD:
            return Decompressed(path, zstd_decoder, magic=_MAGIC[compression])
        case _:
            assert_never(compression)
