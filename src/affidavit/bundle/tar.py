"""Tar archives, read as a stream. The standard library parses headers; nothing it offers to extract with is used."""

import tarfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol, cast

from affidavit.bundle.gunzip import Gunzip
from affidavit.bundle.limits import Limits
from affidavit.bundle.paths import printable
from affidavit.bundle.source import Member, MemberDamaged, MemberKind

_BLOCK = tarfile.BLOCKSIZE
_SCRATCH = 1 << 18
_GLOBAL_HEADERS = 1000
# HeaderError covers damage; the others escape from parsing numbers, names and endless header chains.
_HEADER_ERRORS = (tarfile.HeaderError, ValueError, OverflowError, IndexError, RecursionError)


class _Bytes(Protocol):
    def readinto(self, view: memoryview) -> int: ...
    def consumed(self) -> int: ...
    def close(self) -> None: ...


class TarSource:
    def __init__(self, path: Path, *, limits: Limits, is_gzip: bool) -> None:
        self._stream = _Forward(Gunzip(path) if is_gzip else _Plain(path), limits)
        self._limits = limits
        self._left = 0
        self.problems: list[str] = []

    def members(self) -> Iterator[Member]:
        reader = cast(Any, _HeaderReader(self._stream))  # what TarInfo.fromtarfile needs of a TarFile
        try:
            while (info := self._next(reader)) is not None:
                self._left = info.size if info.isreg() else 0
                yield _member(info)
        except MemberDamaged as error:
            self.problems.append(f"the rest of the archive was not read: {error}")
            return
        self._drain_tail()

    def _next(self, reader: Any) -> tarfile.TarInfo | None:
        """The next good header; None at the end of the archive."""
        skipped = 0
        while True:
            self._stream.seek(reader.offset)
            self._stream.start_header()
            try:
                info = tarfile.TarInfo.fromtarfile(reader)
                return self._checked(info, reader)
            except _HEADER_ERRORS as error:
                if self._is_end(error, reader, skipped):
                    return None
                if skipped == 0:
                    self.problems.append(f"the member header at byte {reader.offset} is damaged: {error}")
                skipped += _BLOCK
                if skipped > self._limits.resync_bytes:
                    raise MemberDamaged(f"no good header in {skipped} bytes behind a damaged one") from error
                reader.offset = max(reader.offset + _BLOCK, self._stream.tell())

    def _is_end(self, error: Exception, reader: Any, skipped: int) -> bool:
        name = type(error).__name__
        if name == "EmptyHeaderError":
            self.problems.append("the archive has no end mark: it may be cut short")
            return True
        # Behind a damaged header a block of zeros may be a file's content; look on.
        return name == "EOFHeaderError" and skipped == 0

    def _checked(self, info: tarfile.TarInfo, reader: Any) -> tarfile.TarInfo:
        if info.size < 0 or reader.offset < self._stream.tell():
            raise MemberDamaged(f"the header of {printable(info.name)} points backwards")
        if len(reader.pax_headers) > _GLOBAL_HEADERS:
            raise MemberDamaged("it has too many global headers")
        return info

    def readinto(self, view: memoryview) -> int:
        if self._left == 0:
            return 0
        count = self._stream.readinto(view[: self._left])
        if count == 0:
            missing, self._left = self._left, 0
            raise MemberDamaged(f"the archive ends {missing} bytes before the member does")
        self._left -= count
        return count

    def consumed(self) -> int:
        return self._stream.consumed()

    def close(self) -> None:
        self._stream.close()

    def _drain_tail(self) -> None:
        scratch = memoryview(bytearray(_SCRATCH))
        try:
            for _ in range(self._limits.resync_bytes // _SCRATCH):
                if self._stream.readinto(scratch) == 0:
                    return
        except MemberDamaged as error:
            self.problems.append(f"behind the last member: {error}")


def _member(info: tarfile.TarInfo) -> Member:
    try:
        modified = datetime.fromtimestamp(info.mtime, UTC)
    except (ValueError, OverflowError, OSError):
        modified = None
    return Member(name=info.name, size=info.size, kind=_kind(info), modified=modified, detail=info.linkname)


def _kind(info: tarfile.TarInfo) -> MemberKind:
    if info.issparse() or any(key.startswith("GNU.sparse") for key in info.pax_headers):
        return MemberKind.SPARSE
    if info.isreg():
        return MemberKind.FILE
    if info.isdir():
        return MemberKind.FOLDER
    return MemberKind.LINK if info.issym() or info.islnk() else MemberKind.DEVICE


class _HeaderReader:
    """The few attributes of TarFile that parsing a header touches."""

    encoding = "utf-8"
    errors = "surrogateescape"

    def __init__(self, stream: "_Forward") -> None:
        self.fileobj = stream
        self.tarinfo = tarfile.TarInfo
        self.offset = 0
        self.pax_headers: dict[str, str] = {}


class _Plain:
    def __init__(self, path: Path) -> None:
        self._file = path.open("rb", buffering=0)

    def readinto(self, view: memoryview) -> int:
        return self._file.readinto(view) or 0

    def consumed(self) -> int:
        return self._file.tell()

    def close(self) -> None:
        self._file.close()


class _Forward:
    """A stream that only goes forward, and in headers only by small steps: no header can make us loop or hoard."""

    def __init__(self, source: _Bytes, limits: Limits) -> None:
        self._source = source
        self._limits = limits
        self._scratch = memoryview(bytearray(_SCRATCH))
        self._at = 0
        self._header_left = 0

    def tell(self) -> int:
        return self._at

    def start_header(self) -> None:
        self._header_left = self._limits.header_bytes

    def read(self, size: int) -> bytes:
        self._header_left -= size
        if size < 0 or self._header_left < 0:
            raise MemberDamaged(f"a header is longer than {self._limits.header_bytes} bytes")
        wanted = memoryview(bytearray(size))
        done = 0
        while done < size and (count := self.readinto(wanted[done:])):
            done += count
        return bytes(wanted[:done])

    def seek(self, position: int) -> None:
        if position < self._at:
            raise MemberDamaged("a header points backwards")
        if position - self._at > self._limits.passed_over:
            raise MemberDamaged(f"the next member is {position - self._at} bytes away")
        while position > self._at:
            if self.readinto(self._scratch[: position - self._at]) == 0:
                raise MemberDamaged("the archive ends inside a member")

    def readinto(self, view: memoryview) -> int:
        count = self._source.readinto(view)
        self._at += count
        return count

    def consumed(self) -> int:
        return self._source.consumed()

    def close(self) -> None:
        self._source.close()
