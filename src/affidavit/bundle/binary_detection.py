"""Tells text from binary and compressed data by the first bytes of a file."""

import re
from enum import StrEnum

from affidavit.evidence.utf16 import is_wide

_NUL_SHARE = 0.3
_BINARY_MAGIC = (b"\x7fELF", b"\x89PNG", b"ElfFile\0", b"\xff\xd8\xff", b"%PDF")
_JOURNAL_MAGIC = b"LPKSHHRH"
_COMPRESSED_MAGIC = (
    b"\x1f\x8b",  # gzip
    b"\x1f\x9d",  # compress
    b"\xfd7zXZ\0",
    b"BZh",
    b"\x28\xb5\x2f\xfd",  # zstd
    b"\x04\x22\x4d\x18",  # lz4
    b"\x02\x21\x4c\x18",  # lz4 of old
    b"\x89LZO",
    b"PK\x03\x04",
    b"7z\xbc\xaf\x27\x1c",
    b"Rar!\x1a\x07",
    b"\xff\x06\0\0sNaPpY",
    b"\x5d\0\0",  # lzma of old
)


# Bytes that are no UTF-8: a log in another encoding has some, other data has mostly such.
_FOREIGN_SHARE = 0.3
# Base64 and the like: long lines of letters and digits without a blank.
_ENCODED = re.compile(rb"[A-Za-z0-9+/_-]{1024}|(?:[A-Za-z0-9+/_-]{60,100}\r?\n){12}")

_ALPHABET = 16


class Content(StrEnum):
    TEXT = "text"
    BINARY = "binary"
    COMPRESSED = "compressed"
    JOURNAL = "journal"
    """journald's own files: a log, and not in lines."""


def content_of(head: bytes) -> Content:
    """Zeros in front say nothing: a log that was emptied while its writer went on (copytruncate) begins with them."""
    if head.startswith(_COMPRESSED_MAGIC):
        return Content.COMPRESSED
    if head.startswith(_JOURNAL_MAGIC):
        return Content.JOURNAL
    if head.startswith(_BINARY_MAGIC):
        return Content.BINARY
    text = head.lstrip(b"\0")
    return Content.TEXT if is_wide(head) or not _is_foreign(text) else Content.BINARY


def _is_foreign(text: bytes) -> bool:
    """A few zeros are normal in logs after a crash; a third of them is not."""
    is_encoded = _ENCODED.match(text) is not None and len(set(text[:1024])) > _ALPHABET
    if is_encoded or text.count(0) > _NUL_SHARE * len(text):
        return True
    return not text.isascii() and len(text) - len(text.decode(errors="ignore").encode()) > _FOREIGN_SHARE * len(text)
