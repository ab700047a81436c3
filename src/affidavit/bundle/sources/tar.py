"""Reads tar archives, compressed or not, as a stream, without the extraction code of tar libraries."""

import io
from collections.abc import Iterator
from pathlib import Path

from affidavit.bundle.safety.limits import UnpackLimits
from affidavit.bundle.safety.link_free_opening import file_opener
from affidavit.bundle.sources.compression import Compression, DecompressedBytes, decompressed
from affidavit.bundle.sources.source import Member, MemberDamaged
from affidavit.bundle.sources.tar_headers import (
    BLOCK,
    EndMarkMissing,
    HeaderDamaged,
    HeaderReader,
    may_be_header,
    padded,
    parse_block,
)

_SCRATCH = 1 << 18
_AHEAD = 1 << 16
# GNU tar fills the last record of an archive with zeros; records are 10 KiB, at most a few MiB.
_TAIL = 8 << 20


class TarSource:
    def __init__(self, path: Path, *, limits: UnpackLimits, compression: Compression | None = None) -> None:
        self.problems: list[str] = []
        self._stream = _Forward(_Plain(path) if compression is None else decompressed(path, compression), limits)
        self._headers = HeaderReader(self._stream, limits, self.problems)
        self._limits = limits
        self._left = 0
        self._padding = 0
        self._damaged_headers = 0
        self._resync_left = limits.resync_bytes

    def members(self) -> Iterator[Member]:
        try:
            while (member := self._next()) is not None:
                self._left, self._padding = member.size, padded(member.size) - member.size
                yield member
                self._stream.skip(self._left + self._padding)
            self._read_tail()
        except EndMarkMissing as error:
            self.problems.append(str(error))
        except MemberDamaged as error:
            self.problems.append(f"the rest of the archive was not read: {error}")

    def readinto(self, view: memoryview) -> int:
        if self._left == 0:
            return 0
        count = self._stream.readinto(view[: self._left])
        if count == 0:
            raise MemberDamaged(f"the archive ends {self._left} bytes before the member does")
        self._left -= count
        return count

    def consumed(self) -> int:
        return self._stream.consumed()

    def close(self) -> None:
        self._stream.close()

    def _next(self) -> Member | None:
        """The next member, behind damaged headers if need be; None at the end of the archive."""
        block = b""
        while True:
            at = self._stream.tell() - len(block)
            try:
                return self._headers.next_member(block)
            except HeaderDamaged as error:
                self.problems.append(f"the header at byte {at} is damaged: {error}")
                block = self._good_block()

    def _good_block(self) -> bytes:
        """The next block that is a header. Zeros are passed over too: here they may be a file's content."""
        self._damaged_headers += 1
        if self._damaged_headers > self._limits.damaged_headers:
            raise MemberDamaged(f"it has more than {self._limits.damaged_headers} damaged headers")
        while self._resync_left > 0:
            self._resync_left -= BLOCK
            block = self._stream.read(BLOCK)
            if len(block) < BLOCK:
                raise EndMarkMissing("no good header follows the damaged one")
            if may_be_header(block) and _is_good(block):
                return block
        raise MemberDamaged(f"no good header in {self._limits.resync_bytes} bytes behind damaged ones")

    def _read_tail(self) -> None:
        """To the end of the file: the checksum of a gzip stands there, and perhaps what another reader would see."""
        scratch = memoryview(bytearray(_SCRATCH))
        seen = 0
        while seen < _TAIL and (count := self._stream.readinto(scratch)):
            seen += count
            if bytes(scratch[:count]).strip(b"\0"):
                self.problems.append("something follows the end mark of the archive; it was not read")
                return


def _is_good(block: bytes) -> bool:
    try:
        parse_block(block)
    except HeaderDamaged:
        return False
    return True


class _Plain:
    def __init__(self, path: Path) -> None:
        self._file = io.FileIO(path, opener=file_opener)

    def readinto(self, view: memoryview) -> int:
        try:
            return self._file.readinto(view) or 0
        except OSError as error:
            raise MemberDamaged(f"it cannot be read: {error.strerror}") from error

    def consumed(self) -> int:
        return self._file.tell()

    def close(self) -> None:
        self._file.close()


class _Forward:
    """A stream that only goes forward, and passes over no more than it may."""

    def __init__(self, source: DecompressedBytes, limits: UnpackLimits) -> None:
        self._source = source
        self._scratch = memoryview(bytearray(_SCRATCH))
        self._ahead = memoryview(bytearray(_AHEAD))
        self._waiting = self._ahead[:0]
        self._at = 0
        self._may_pass = limits.passed_over

    def tell(self) -> int:
        return self._at

    def read(self, size: int) -> bytes:
        wanted = memoryview(bytearray(size))
        done = 0
        while done < size and (count := self.readinto(wanted[done:])):
            done += count
        return bytes(wanted[:done])

    def skip(self, size: int) -> None:
        if size > self._may_pass:
            raise MemberDamaged(f"the next member is {size} bytes away")
        self._may_pass -= size
        while size > 0:
            count = self.readinto(self._scratch[:size])
            if count == 0:
                raise MemberDamaged("the archive ends inside a member")
            size -= count

    def readinto(self, view: memoryview) -> int:
        """Headers and small members are served from what was read ahead; large views are filled directly."""
        if not self._waiting and len(view) >= _AHEAD:
            count = self._source.readinto(view)
        else:
            if not self._waiting:
                self._waiting = self._ahead[: self._source.readinto(self._ahead)]
            count = min(len(view), len(self._waiting))
            view[:count] = self._waiting[:count]
            self._waiting = self._waiting[count:]
        self._at += count
        return count

    def consumed(self) -> int:
        return self._source.consumed()

    def close(self) -> None:
        self._source.close()
