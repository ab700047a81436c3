"""A member's bytes to disk, or read where they lie: hashed on the way, and announced as they become available."""

import contextlib
import errno
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from affidavit.bundle.bounds import Bound, Budget, TooMuch
from affidavit.bundle.digests import BLOCK, Digests, SideHasher
from affidavit.bundle.gunzip import GZIP_MAGIC
from affidavit.bundle.layout import Kind, role_of
from affidavit.bundle.source import Member, MemberDamaged, Source
from affidavit.errors import EvidenceUnavailable
from affidavit.evidence.wide import is_wide

_SNIFFED = 8192
_NUL_SHARE = 0.3
_RESERVED_AT_MOST = 1 << 30
# For more at once Linux looks for as much memory in one piece. Where a hypervisor has taken back what was free, as on
# small cloud machines, getting that costs several times what the write itself does.
_WRITTEN_AT_ONCE = 64 << 10
_BINARY_MAGIC = (b"\x7fELF", b"\x89PNG", GZIP_MAGIC, b"PK\x03\x04", b"ElfFile\0", b"\xff\xd8\xff")


class Watcher(Protocol):
    """Told about every readable file as its bytes become available."""

    def grown(self, path: str, location: Path, size: int) -> None: ...
    def finished(self, path: str, location: Path, size: int) -> None: ...


class Progress(Protocol):
    def unpacked(self, path: str, consumed: int, stored: int) -> None: ...


@dataclass(frozen=True, kw_only=True)
class Copied:
    """`failure` came behind the bytes that were stored; after TooMuch nothing is."""

    location: Path
    size: int
    digests: Digests
    failure: MemberDamaged | None
    is_text: bool


class Storage:
    """Files below a private folder of ours. Digests are final once it is closed."""

    def __init__(self, root: Path, budget: Budget, watcher: Watcher, progress: Progress) -> None:
        self._root = root
        self._budget = budget
        self._watcher = watcher
        self._progress = progress
        self._hasher = SideHasher()
        self._folders: set[Path] = set()

    def close(self) -> None:
        self._hasher.close()

    def scratch(self, name: str) -> Path:
        """A place beside the stored files."""
        return self._root.parent / name

    def store(self, member: Member, source: Source, bound: Bound, *, path: str, at: str, is_read: bool) -> Copied:
        """`path` is what the file is called, `at` where it lies. Raises EvidenceUnavailable on a full disk."""
        location = member.location or self._root / at
        sink = None if member.location is not None else self._new_file(location, path, claimed=member.size)
        try:
            copied = self._copy(source, bound, path=path, location=location, sink=sink, is_read=is_read)
        finally:
            if sink is not None:
                sink.close()
        if isinstance(copied.failure, TooMuch):
            if sink is not None:
                location.unlink()
            return copied
        # Of what failed at its first byte there is nothing to look at.
        if is_read and copied.is_text and (copied.size or copied.failure is None):
            self._watcher.finished(path, location, copied.size)
        self._budget.stored += copied.size
        self._progress.unpacked(path, source.consumed(), self._budget.stored)
        return copied

    def _new_file(self, location: Path, path: str, *, claimed: int) -> "_NewFile":
        if location.parent not in self._folders:
            try:
                location.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            except OSError as error:
                raise _no_room(error, path) from error
            self._folders.add(location.parent)
        return _NewFile(location, path, claimed=claimed)

    def spool(self, source: Source, to: Path, bound: Bound) -> MemberDamaged | None:
        """Keep an archive's bytes while it is read; its size is bounded like any member's. Returns what ended it."""
        file = _open_for_writing(to, os.O_TRUNC)
        buffer = self._hasher.take()
        size = 0
        failure = None
        try:
            while failure is None:
                length, failure = _fill(source, buffer)
                if length == 0:
                    break
                size += length
                failure = _excess(bound, size) or failure
                _write(file, memoryview(buffer)[:length], to.name)
        finally:
            self._hasher.give(buffer)
            os.close(file)
        return failure

    def _copy(
        self, source: Source, bound: Bound, *, path: str, location: Path, sink: "_NewFile | None", is_read: bool
    ) -> Copied:
        digests = Digests()
        size = 0
        is_text = True
        failure = None
        while failure is None:
            buffer = self._hasher.take()
            length, failure = _fill(source, buffer)
            if length == 0:
                self._hasher.give(buffer)
                break
            view = memoryview(buffer)[:length]
            if size == 0:
                is_text = _is_text(path, bytes(view[:_SNIFFED]))
            if sink is not None:
                sink.write(view)
            size += length
            digests.add(buffer, length, self._hasher)
            failure = _excess(bound, size) or failure
            if is_read and is_text and failure is None:
                self._watcher.grown(path, location, size)
                self._progress.unpacked(path, source.consumed(), self._budget.stored + size)
        return Copied(location=location, size=size, digests=digests, failure=failure, is_text=is_text)


class _NewFile:
    def __init__(self, location: Path, path: str, *, claimed: int) -> None:
        self._file = _open_for_writing(location, os.O_EXCL)
        self._path = path
        self._claimed = claimed
        self._written = 0
        self._reserved = 0

    def write(self, view: memoryview) -> None:
        if self._written == 0 and len(view) == BLOCK:
            self._reserve()
        _write(self._file, view, self._path)
        self._written += len(view)

    def close(self) -> None:
        if self._reserved > self._written:
            os.ftruncate(self._file, self._written)
        os.close(self._file)

    def _reserve(self) -> None:
        """Makes writing faster. The size is only claimed: a first block must have come, and failing means nothing."""
        if BLOCK < self._claimed <= _RESERVED_AT_MOST and hasattr(os, "posix_fallocate"):
            with contextlib.suppress(OSError):
                self._reserved = self._claimed
                os.posix_fallocate(self._file, 0, self._claimed)


class SpooledSource:
    """Bytes kept on disk, ending in the failure met while keeping them."""

    def __init__(self, path: Path, failure: MemberDamaged | None) -> None:
        self._file = path.open("rb", buffering=0)
        self._failure = failure
        self.problems: list[str] = []

    def members(self) -> Iterator[Member]:
        return iter(())

    def readinto(self, view: memoryview) -> int:
        count = self._file.readinto(view) or 0
        if count == 0 and self._failure is not None:
            raise self._failure
        return count

    def consumed(self) -> int:
        return self._file.tell()

    def close(self) -> None:
        self._file.close()


def _open_for_writing(location: Path, flags: int) -> int:
    try:
        return os.open(location, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | flags, 0o600)
    except OSError as error:
        raise _no_room(error, location.name) from error


def _fill(source: Source, buffer: bytearray) -> tuple[int, MemberDamaged | None]:
    """As many bytes as fit, and the damage met behind them."""
    view = memoryview(buffer)
    done = 0
    try:
        while done < len(view) and (count := source.readinto(view[done:])):
            done += count
    except MemberDamaged as error:
        return done, error
    return done, None


def _excess(bound: Bound, size: int) -> TooMuch | None:
    try:
        bound.check(size)
    except TooMuch as error:
        return error
    return None


def _write(file: int, view: memoryview, path: str) -> None:
    try:
        while view:
            view = view[os.write(file, view[:_WRITTEN_AT_ONCE]) :]
    except OSError as error:
        raise _no_room(error, path) from error


def _no_room(error: OSError, path: str) -> EvidenceUnavailable:
    hint = "free some space, or point TMPDIR (with --extract: --out) at a larger disk"
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return EvidenceUnavailable(f"the disk is full: {path} could not be written", hint=hint)
    return EvidenceUnavailable(f"{path} could not be written: {error.strerror}", hint=hint)


def _is_text(path: str, head: bytes) -> bool:
    """Output of commands may be UTF-16: checks read it. A log in UTF-16 is not: rules would find nothing in it."""
    return role_of(path).kind is Kind.OUTPUT if is_wide(head) else not _looks_binary(head)


def _looks_binary(head: bytes) -> bool:
    """A few NULs are normal in logs after a crash; a known magic number or a third of NULs is not."""
    return head.startswith(_BINARY_MAGIC) or head.count(0) > _NUL_SHARE * len(head)
