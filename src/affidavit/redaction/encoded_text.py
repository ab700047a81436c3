"""Finds base64 that decodes to text, such as user data or a wrapped token, so that the text can be looked at too.

Base64 of ASCII has a shape: of every four characters the first three come from half of the alphabet. Digests, ids and
paths do not have it, so that hardly anything is decoded for nothing.
"""

import binascii
import re
import zlib
from collections.abc import Iterator, Sequence
from typing import Final

import re2

_ALPHABET: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_FIRST: Final = "".join(_ALPHABET[value] for value in range(64) if not value & 32)
_SECOND: Final = "".join(_ALPHABET[value] for value in range(64) if not value & 8)
_THIRD: Final = "".join(_ALPHABET[value] for value in range(64) if not value & 2)
_FOUR: Final = f"[{_FIRST}][{_SECOND}_-][{_THIRD}_-][A-Za-z0-9+/_-]"
# Simpler than the shape itself, which takes Hyperscan half of its time. The end, so that a run is told once.
RUN: Final = 32
TRIGGER: Final = f"[A-Za-z0-9+/]{{{RUN}}}(?:[^A-Za-z0-9+/]|$)"
COMMAND_LINE_TRIGGER: Final = r"\b(?:proctitle|a\d|cmd|data)=[0-9A-F]{16}"
MOST_BYTES: Final = 1 << 20
# Eight groups are 24 characters of text; what begins with H4sI is compressed. RE2: most texts end here.
_TEXT: Final = re2.compile(f"(?:{_FOUR}){{8}}|H4sI[A-Za-z0-9+/]{{24}}".encode())
_BLOB: Final = re.compile(rb"[A-Za-z0-9+/_-]+(?:(?:\\n|\r?\n)[ \t]{0,20}[A-Za-z0-9+/_-]{16,}){0,5000}={0,2}")
_RUN_AT_END: Final = re.compile(rb"[A-Za-z0-9+/_-]{0,256}\Z")
_FARTHEST: Final = 256
_HEX: Final = re.compile(rb"\b(?:proctitle|a\d{1,3}|cmd|data)=((?:[0-9A-F]{2}){8,})\b")
_WHITE: Final = re.compile(rb"\\n|\s")


def encodes_text(blob: bytes) -> bool:
    return _TEXT.search(blob) is not None


def decoded(text: bytes, ends: Sequence[int] = ()) -> Iterator[tuple[int, int, bytes]]:
    """Where each blob stands, and what it decodes to. `ends` are where long runs end; none stands for anywhere."""
    at = 0
    for end in _of_text(text, ends) if ends else (len(text),):
        line = text.rfind(b"\n", at, max(at, end - RUN)) + 1 if ends else 0
        for start, stop, blob in _blobs(text, max(at, line), end):
            yield start, stop, _opened(blob)
            at = stop
        # A line with many runs is read once.
        at = max(at, end - RUN)


def _of_text(text: bytes, ends: Sequence[int]) -> Iterator[int]:
    """Where the runs end that can be base64 of text: ids and digests in hexadecimal have no capitals."""
    return (min(end, len(text)) for end in ends if not text[max(0, end - RUN - 1) : end].islower())


def _blobs(text: bytes, at: int, last: int) -> Iterator[tuple[int, int, bytes]]:
    """Blobs whose shape is seen before `last`; they may reach beyond it."""
    while at < last and (found := _TEXT.search(text, at, last)) is not None:
        start = found.start() - len(_run_before(text[max(at, found.start() - _FARTHEST) : found.start()]))
        blob = _BLOB.match(text, start)
        at = blob.end() if blob is not None else found.end()
        # Characters in front of it may belong to something else, such as a path or `n` of an escaped line end.
        aligned = start + (found.start() - start) % 4
        yield start, at, text[aligned:at]


def command_lines(text: bytes) -> Iterator[tuple[int, int, bytes]]:
    """Arguments of audit records that the kernel wrote in hexadecimal, and what they say."""
    for found in _HEX.finditer(text):
        yield *found.span(1), bytes.fromhex(found[1].decode()).replace(b"\0", b" ")


def _run_before(text: bytes) -> bytes:
    found = _RUN_AT_END.search(text)
    return found[0] if found is not None else b""


def _opened(blob: bytes) -> bytes:
    plain = _WHITE.sub(b"", blob).rstrip(b"=").replace(b"-", b"+").replace(b"_", b"/")[: 4 * MOST_BYTES // 3]
    try:
        raw = binascii.a2b_base64(plain[: len(plain) - (len(plain) % 4 == 1)] + b"==")
    except binascii.Error:
        return b""
    return _inflated(raw) if raw[:2] == b"\x1f\x8b" else raw


def _inflated(raw: bytes) -> bytes:
    try:
        return zlib.decompressobj(31).decompress(raw, MOST_BYTES)
    except zlib.error:
        return b""
