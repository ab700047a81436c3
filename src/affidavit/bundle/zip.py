"""Zip archives, as the Windows collector writes them."""

import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from affidavit.bundle.limits import Limits
from affidavit.bundle.source import Member, MemberDamaged, MemberKind
from affidavit.errors import InputRefused

_END = b"PK\x05\x06"
_END_SEARCHED = 22 + 65_535
_ZIP64_MARK = 0xFFFFFFFF
_ENTRY_HEADER = 46
_DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, RuntimeError, ValueError)


class ZipSource:
    def __init__(self, path: Path, *, limits: Limits) -> None:
        _refuse_large_directory(path, limits)
        try:
            self._archive = zipfile.ZipFile(path)
        except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
            raise InputRefused(
                f"{path.name} is a damaged zip archive: {error}", hint="copy it again, or collect again"
            ) from error
        self._size = path.stat().st_size
        self._file: zipfile.ZipExtFile | None = None
        self._info: zipfile.ZipInfo | None = None
        self.problems: list[str] = []

    def members(self) -> Iterator[Member]:
        for info in self._archive.infolist():
            self._close_member()
            self._info = info
            yield _member(info)
        self._close_member()

    def readinto(self, view: memoryview) -> int:
        try:
            if self._file is None and self._info is not None:
                # isinstance: `open` may hand out any binary stream as far as types go
                opened = self._archive.open(self._info)
                self._file = opened if isinstance(opened, zipfile.ZipExtFile) else None
            return self._file.readinto(view) if self._file is not None else 0
        except _DAMAGE as error:
            raise MemberDamaged(f"the compressed data is damaged ({error})") from error

    def consumed(self) -> int:
        # Entries may overlap, so only the archive's size bounds what was paid for.
        return self._size

    def close(self) -> None:
        self._close_member()
        self._archive.close()

    def _close_member(self) -> None:
        if self._file is not None:
            self._file.close()
        self._file = self._info = None


def _member(info: zipfile.ZipInfo) -> Member:
    try:
        modified = datetime(*info.date_time, tzinfo=UTC)
    except ValueError:
        modified = None
    # Windows tools write backslashes although the format forbids them.
    name = info.filename.replace("\\", "/")
    return Member(name=name, size=info.file_size, kind=_kind(info), modified=modified)


def _kind(info: zipfile.ZipInfo) -> MemberKind:
    mode = info.external_attr >> 16
    if info.flag_bits & 0x1:
        return MemberKind.ENCRYPTED
    if stat.S_ISLNK(mode):
        return MemberKind.LINK
    if info.is_dir() or info.filename.endswith("\\"):
        return MemberKind.FOLDER
    is_special = stat.S_IFMT(mode) not in (0, stat.S_IFREG)
    return MemberKind.DEVICE if is_special else MemberKind.FILE


def _refuse_large_directory(path: Path, limits: Limits) -> None:
    """The library reads the whole list of members into memory, so its size is judged first."""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - _END_SEARCHED))
        tail = file.read()
    at = tail.rfind(_END)
    if at < 0 or len(tail) < at + 20:
        return
    size = struct.unpack_from("<L", tail, at + 12)[0]
    most = limits.members * (_ENTRY_HEADER + limits.longest_path // 4)
    if size > most or size == _ZIP64_MARK:
        raise InputRefused(
            f"{path.name} lists more members than a log bundle has (at most {limits.members})",
            hint="unpack it yourself and analyze the directory",
        )
