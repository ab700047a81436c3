"""Reads zip archives, as the Windows collector writes them. The standard library parses only the member list."""

import io
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

from affidavit.bundle.safety.limits import UnpackLimits
from affidavit.bundle.sources.inflate import PIECE, inflate
from affidavit.bundle.sources.source import Member, MemberDamaged, MemberKind, believable_time
from affidavit.errors import InputRefused

_ENTRY = b"PK\x01\x02"
_ENTRY_SIZE = 46
_LOCAL = struct.Struct("<4s22xHH")
_LOCAL_MAGIC = b"PK\x03\x04"
_ENCRYPTED = 0x1
_UTF8_NAME = 0x800
_RAW_DEFLATE = -15


class ZipSource:
    def __init__(self, path: Path, *, limits: UnpackLimits) -> None:
        self.problems: list[str] = []
        self._entries = _entries(path, limits)
        self._overlapping = _overlapping(self._entries)
        self._file = path.open("rb")
        self._entry: zipfile.ZipInfo | None = None
        self._content: Iterator[bytes] | None = None
        self._rest = b""
        self._consumed = 0

    def members(self) -> Iterator[Member]:
        for number, entry in enumerate(self._entries):
            self._entry, self._content, self._rest = entry, None, b""
            yield _member(entry, is_overlapping=number in self._overlapping)

    def readinto(self, view: memoryview) -> int:
        if self._content is None:
            self._content = self._decoded(self._entry) if self._entry is not None else iter(())
        try:
            while not self._rest and (piece := next(self._content, None)) is not None:
                self._rest = piece
        except OSError as error:
            raise MemberDamaged(f"it cannot be read: {error.strerror}") from error
        count = min(len(view), len(self._rest))
        view[:count] = self._rest[:count]
        self._rest = self._rest[count:]
        return count

    def consumed(self) -> int:
        return self._consumed

    def close(self) -> None:
        self._file.close()

    def _decoded(self, entry: zipfile.ZipInfo) -> Iterator[bytes]:
        """The member's bytes as they are stored, whatever the list says about them, then what does not agree."""
        _go_to_content(self._file, entry)
        pieces = self._stored(entry.compress_size)
        crc = size = 0
        is_deflated = entry.compress_type == zipfile.ZIP_DEFLATED
        for piece in inflate(pieces, wbits=_RAW_DEFLATE) if is_deflated else pieces:
            crc = zlib.crc32(piece, crc)
            size += len(piece)
            yield piece
        if size != entry.file_size:
            raise MemberDamaged(f"the archive says it has {entry.file_size} bytes, it has {size}")
        if crc != entry.CRC:
            raise MemberDamaged("its checksum does not match: it was damaged or changed")

    def _stored(self, size: int) -> Iterator[bytes]:
        while size > 0:
            piece = self._file.read(min(size, PIECE))
            if not piece:
                raise MemberDamaged(f"the archive ends {size} bytes before the member does")
            self._consumed += len(piece)
            size -= len(piece)
            yield piece


class _Guarded(io.FileIO):
    """The library reads the whole list of members in one go and keeps it, so its size is judged as it is read."""

    def __init__(self, path: Path, limits: UnpackLimits) -> None:
        super().__init__(path)
        self._limits = limits

    def read(self, size: int | None = -1, /) -> bytes:
        most = self._limits.members * (_ENTRY_SIZE + self._limits.longest_path // 4)
        if size is not None and size > most:
            raise self._refusal()
        data = super().read(-1 if size is None else size) or b""
        if data.count(_ENTRY) > self._limits.members:
            raise self._refusal()
        return data

    def _refusal(self) -> InputRefused:
        return InputRefused(
            f"the zip archive lists more members than a log bundle has (at most {self._limits.members})",
            hint="unpack it yourself and analyze the directory",
        )


def _entries(path: Path, limits: UnpackLimits) -> list[zipfile.ZipInfo]:
    try:
        with _Guarded(path, limits) as file, zipfile.ZipFile(file) as archive:
            return archive.infolist()
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, struct.error) as error:
        raise InputRefused(
            f"{path.name} is a damaged zip archive: {error}", hint="copy it again, or collect again"
        ) from error


def _overlapping(entries: list[zipfile.ZipInfo]) -> frozenset[int]:
    """The numbers of members that begin inside another one: the same bytes listed many times make a bomb."""
    found: set[int] = set()
    end = 0
    for number, entry in sorted(enumerate(entries), key=lambda item: item[1].header_offset):
        if entry.header_offset < end:
            found.add(number)
        else:
            end = entry.header_offset + _LOCAL.size + len(_raw_name(entry)) + entry.compress_size
    return frozenset(found)


def _member(entry: zipfile.ZipInfo, *, is_overlapping: bool) -> Member:
    # Windows tools write backslashes although the format forbids them.
    name = entry.orig_filename.replace("\\", "/")
    kind = _kind(entry)
    trouble = _trouble(entry, is_overlapping=is_overlapping) if kind is MemberKind.FILE else ""
    return Member(
        name=name,
        size=entry.file_size,
        kind=MemberKind.UNREADABLE if trouble else kind,
        modified=_modified(entry),
        detail=trouble,
    )


def _trouble(entry: zipfile.ZipInfo, *, is_overlapping: bool) -> str:
    # A list that lies about its own place moves all members, in front of the file if it likes.
    if entry.header_offset < 0:
        return "it is not where the archive's list says"
    if is_overlapping:
        return "its bytes overlap those of another member"
    # Other methods can inflate a few bytes to gigabytes in a single step, and no collector uses them.
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        return f"compression method {entry.compress_type} is not supported"
    return ""


def _modified(entry: zipfile.ZipInfo) -> datetime | None:
    try:
        return believable_time(datetime(*entry.date_time, tzinfo=UTC).timestamp())
    except ValueError:
        return None


def _kind(entry: zipfile.ZipInfo) -> MemberKind:
    mode = entry.external_attr >> 16
    if stat.S_ISLNK(mode):
        return MemberKind.LINK
    if entry.orig_filename.endswith(("/", "\\")):
        return MemberKind.FOLDER
    if entry.flag_bits & _ENCRYPTED:
        return MemberKind.ENCRYPTED
    is_special = stat.S_IFMT(mode) not in (0, stat.S_IFREG)
    return MemberKind.DEVICE if is_special else MemberKind.FILE


def _raw_name(entry: zipfile.ZipInfo) -> bytes:
    return entry.orig_filename.encode("utf-8" if entry.flag_bits & _UTF8_NAME else "cp437", "replace")


def _go_to_content(file: BinaryIO, entry: zipfile.ZipInfo) -> None:
    file.seek(entry.header_offset)
    header = file.read(_LOCAL.size)
    if len(header) < _LOCAL.size or not header.startswith(_LOCAL_MAGIC):
        raise MemberDamaged("it is not where the archive's list says")
    _, name_size, extra_size = _LOCAL.unpack(header)
    if file.read(name_size) != _raw_name(entry):
        raise MemberDamaged("its own header gives it another name than the archive's list")
    file.seek(extra_size, io.SEEK_CUR)
