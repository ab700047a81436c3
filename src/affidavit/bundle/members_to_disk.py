"""Writes members to disk (or reads them in place), hashes them, and tells a watcher as bytes become available."""

import contextlib
import errno
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from affidavit.bundle.binary_detection import Content, content_of
from affidavit.bundle.digests import BLOCK, Digests, SideHasher
from affidavit.bundle.file_recognition import HEAD, Recognition, changes_its_writer, recognise
from affidavit.bundle.safety.bombs import Budget, MemberBound, TooMuch
from affidavit.bundle.sources.source import Member, MemberDamaged, Source
from affidavit.errors import EvidenceUnavailable

_SNIFFED = 8192
_RESERVED_AT_MOST = 1 << 30
# Larger writes make Linux look for one large piece of page cache. On small cloud machines, where the hypervisor takes
# free memory back, that costs several times the write itself.
_WRITTEN_AT_ONCE = 64 << 10


class Watcher(Protocol):
    """Is told about every readable file as its bytes become available; `read_as` is the path whose rules read it."""

    def grown(self, path: str, location: Path, size: int, read_as: str) -> None: ...
    def finished(self, path: str, location: Path, size: int, read_as: str) -> None: ...


class UnpackProgress(Protocol):
    def unpacked(self, path: str, consumed: int, stored: int) -> None: ...


@dataclass(frozen=True, kw_only=True)
class Copied:
    """`failure` came after the stored bytes; after TooMuch nothing is stored."""

    location: Path
    size: int
    digests: Digests
    failure: MemberDamaged | None
    content: Content
    recognition: Recognition

    @property
    def is_read(self) -> bool:
        return self.recognition.role.is_read and self.content is Content.TEXT


class Storage:
    """Stores files below a private folder. Digests are final after `close`."""

    def __init__(self, root: Path, budget: Budget, watcher: Watcher, progress: UnpackProgress) -> None:
        self._root = root
        self._budget = budget
        self._watcher = watcher
        self._progress = progress
        self._hasher = SideHasher()
        self._folders: set[Path] = set()

    def close(self) -> None:
        self._hasher.close()

    def scratch(self, name: str) -> Path:
        """A path for a temporary file, outside the stored files."""
        return self._root.parent / name

    def store(self, member: Member, source: Source, bound: MemberBound, *, path: str, at: str) -> Copied:
        """`path` is what the file is called, `at` where it lies. Raises EvidenceUnavailable on a full disk."""
        location = member.location or self._root / at
        sink = None if member.location is not None else self._new_file(location, path, claimed=member.size)
        try:
            copied = self._copy(source, bound, path=path, location=location, sink=sink)
        finally:
            if sink is not None:
                sink.close()
        if isinstance(copied.failure, TooMuch):
            if sink is not None:
                location.unlink()
            return copied
        # A member that failed at its first byte has nothing to scan.
        if copied.is_read and (copied.size or copied.failure is None):
            self._watcher.finished(path, location, copied.size, copied.recognition.read_as)
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

    def spool(self, source: Source, to: Path, bound: MemberBound) -> MemberDamaged | None:
        """Copies an archive to `to`, bounded like any member. Returns the failure that ended the copy, if any."""
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
        self, source: Source, bound: MemberBound, *, path: str, location: Path, sink: "_NewFile | None"
    ) -> Copied:
        digests = Digests()
        size = 0
        content, recognition, is_told = Content.TEXT, recognise(path, b""), False
        is_mixed = False
        failure = None
        while failure is None:
            buffer = self._hasher.take()
            length, failure = _fill(source, buffer)
            if length == 0:
                self._hasher.give(buffer)
                break
            view = memoryview(buffer)[:length]
            if not is_told:
                head = _head(view)
                is_told = bool(head)
                content = content_of(head[:_SNIFFED])
                recognition = recognise(path, head)
            if sink is not None:
                sink.write(view)
            size += length
            digests.add(buffer, length, self._hasher)
            failure = _excess(bound, size) or failure
            is_mixed = is_mixed or (content is Content.TEXT and changes_its_writer(recognition, _tail(view)))
            if is_told and recognition.role.is_read and content is Content.TEXT and failure is None:
                self._watcher.grown(path, location, size, recognition.read_as)
                self._progress.unpacked(path, source.consumed(), self._budget.stored + size)
        return Copied(
            location=location,
            size=size,
            digests=digests,
            failure=failure,
            content=content,
            recognition=replace(recognition, by=None) if is_mixed else recognition,
        )


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
        """Reserves disk space to write faster. The size is only a claim, so a first block must have come. May fail."""
        if BLOCK < self._claimed <= _RESERVED_AT_MOST and hasattr(os, "posix_fallocate"):
            with contextlib.suppress(OSError):
                self._reserved = self._claimed
                os.posix_fallocate(self._file, 0, self._claimed)


class SpooledSource:
    """Reads a spooled file again and ends with the failure met while spooling it."""

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
    """Fills the buffer; returns how many bytes came and the damage met after them."""
    view = memoryview(buffer)
    done = 0
    try:
        while done < len(view) and (count := source.readinto(view[done:])):
            done += count
    except MemberDamaged as error:
        return done, error
    return done, None


def _excess(bound: MemberBound, size: int) -> TooMuch | None:
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


def _head(view: memoryview) -> bytes:
    """What a file is recognised by; nothing while it has only zeros, as a log emptied under its writer begins with."""
    head = bytes(view[:HEAD])
    return head if head.strip(b"\0") else bytes(view).lstrip(b"\0")[:HEAD]


def _tail(view: memoryview) -> bytes:
    return bytes(view[-HEAD:])
