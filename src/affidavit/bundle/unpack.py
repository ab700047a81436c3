"""From a source to files on disk with digests, refusing what no honest collector writes.

Members are streamed into a private folder; links are never created, so nothing can lead outside it. A bad member is
recorded with its reason and the rest goes on. An archive inside the bundle becomes a folder of the same name.
"""

import contextlib
import errno
import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Protocol

from affidavit.bundle.digests import BLOCK, Digests, SideHasher
from affidavit.bundle.gzipped import GzipSource
from affidavit.bundle.layout import FileRole, Kind, role_of
from affidavit.bundle.limits import Limits
from affidavit.bundle.manifest import FileStatus
from affidavit.bundle.opening import GZIP_MAGIC, is_tar_header
from affidavit.bundle.paths import UnsafeName, collision_key, printable, safe_path
from affidavit.bundle.source import Member, MemberDamaged, MemberKind, Source
from affidavit.bundle.tar import TarSource
from affidavit.errors import EvidenceUnavailable
from affidavit.evidence.coverage import SkipReason

_SNIFFED = 8192
_NUL_SHARE = 0.3
_RESERVED_AT_MOST = 1 << 30
_BINARY_MAGIC = (b"\x7fELF", b"\x89PNG", GZIP_MAGIC, b"PK\x03\x04", b"ElfFile\0", b"\xff\xd8\xff")


class Watcher(Protocol):
    """Told about every readable file as its bytes become available."""

    def grown(self, path: str, location: Path, size: int) -> None: ...
    def finished(self, path: str, location: Path, size: int) -> None: ...


class Progress(Protocol):
    def unpacked(self, path: str, consumed: int, stored: int) -> None: ...


@dataclass(frozen=True, kw_only=True)
class UnpackedFile:
    """A member as it was taken or refused. `stored_as` is its path in the object layout."""

    path: str
    stored_as: str
    location: Path | None
    size: int
    role: FileRole
    status: FileStatus
    digests: Digests | None
    reason: str | None = None
    skip: SkipReason | None = None

    @property
    def is_scanned(self) -> bool:
        return self.skip is None


@dataclass(frozen=True, kw_only=True)
class Unpacked:
    files: tuple[UnpackedFile, ...]
    problems: tuple[str, ...]
    modified: datetime | None


def unpack(source: Source, *, into: Path, limits: Limits, watcher: Watcher, progress: Progress) -> Unpacked:
    """Files in order of their path, whatever the order of members. Raises EvidenceUnavailable on a full disk."""
    hasher = SideHasher()
    try:
        unpacker = _Unpacker(into, limits, watcher, progress, hasher)
        unpacker.take_all(source, _Place(prefix="", alias=None, depth=0))
    finally:
        hasher.close()
    files = sorted(unpacker.files, key=lambda file: (file.path, file.status))
    return Unpacked(files=tuple(files), problems=tuple(unpacker.problems), modified=unpacker.modified)


@dataclass(frozen=True, kw_only=True)
class _Place:
    """Where members of a source go. `alias`: a lone gzipped file is known by its container's name."""

    prefix: str
    alias: str | None
    depth: int


class _TooMuch(MemberDamaged):
    """A limit was reached: what was stored of the member is worthless and goes."""


@dataclass(frozen=True, kw_only=True)
class _Copied:
    size: int
    digests: Digests
    failure: MemberDamaged | None
    is_text: bool


class _Unpacker:
    def __init__(self, root: Path, limits: Limits, watcher: Watcher, progress: Progress, hasher: SideHasher) -> None:
        self.files: list[UnpackedFile] = []
        self.problems: list[str] = []
        self.modified: datetime | None = None
        self._root = root
        self._limits = limits
        self._watcher = watcher
        self._progress = progress
        self._hasher = hasher
        self._names = _Names(limits)
        self._members = 0
        self._total = 0

    def take_all(self, source: Source, place: _Place) -> None:
        stored = 0
        for member in source.members():
            self._members += 1
            if self._members > self._limits.members:
                self.problems.append(
                    f"the rest of the archive was not read: it has more than {self._limits.members} members"
                )
                break
            if member.kind is not MemberKind.FOLDER:
                stored += self._take(member, source, place, stored)
        within = f"{place.prefix.rstrip('/')}: " if place.prefix else ""
        self.problems.extend(within + problem for problem in source.problems)

    def _take(self, member: Member, source: Source, place: _Place, stored_before: int) -> int:
        """Returns how many bytes the member added to its source's output."""
        try:
            key_path = self._names.admit(member, place.prefix)
        except UnsafeName as refusal:
            self._refuse(place.prefix + printable(member.name), member, f"refused: {refusal}")
            return 0
        if member.kind is not MemberKind.FILE:
            self._refuse(key_path, member, _why_not(member))
            return 0
        if member.modified is not None and (self.modified is None or member.modified > self.modified):
            self.modified = member.modified
        bound = _Bound(self._limits, source, stored_before, self._total)
        container = _container_of(key_path)
        if container is not None and self._expand(member, source, key_path, container, place.depth, bound):
            return 0
        return self._store(member, source, place.alias or key_path, key_path, bound)

    def _expand(self, member: Member, source: Source, path: str, container: str, depth: int, bound: "_Bound") -> bool:
        """Unpack an archive inside the bundle; False when its bytes are no archive after all."""
        scratch = member.location or self._root.parent / f"nested-{depth}"
        failure = None
        if member.location is None:
            failure = self._spool(source, scratch, bound)
        try:
            head = _head_of(scratch)
            if not (head.startswith(GZIP_MAGIC) or (container == ".tar" and is_tar_header(head))):
                if member.location is not None:
                    return False
                self._store_spooled(path, scratch, failure)
            elif depth >= self._limits.depth:
                self._refuse(path, member, f"refused: archives nested more than {self._limits.depth} deep")
            else:
                self._names.becomes_folder(path)
                self._expand_into(path, scratch, container, depth, is_gzip=head.startswith(GZIP_MAGIC))
                if failure is not None:
                    self.problems.append(f"{path}: {failure}")
        finally:
            if member.location is None:
                scratch.unlink(missing_ok=True)
        return True

    def _expand_into(self, path: str, archive: Path, container: str, depth: int, *, is_gzip: bool) -> None:
        if container == ".gz":
            stem = path.rsplit("/", 1)[-1].removesuffix(".gz")
            source: Source = GzipSource(archive, name=stem)
            place = _Place(prefix=f"{path}/", alias=path, depth=depth + 1)
        else:
            source = TarSource(archive, limits=self._limits, is_gzip=is_gzip)
            place = _Place(prefix=f"{path}/", alias=None, depth=depth + 1)
        try:
            self.take_all(source, place)
        finally:
            source.close()

    def _spool(self, source: Source, to: Path, bound: "_Bound") -> MemberDamaged | None:
        """Keep an archive's bytes while it is read; its size is bounded like any member's."""
        file = os.open(to, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        buffer = self._hasher.take()
        size = 0
        try:
            while count := source.readinto(memoryview(buffer)):
                size += count
                bound.check(size)
                _write(file, memoryview(buffer)[:count], str(to.name))
        except MemberDamaged as error:
            return error
        finally:
            self._hasher.give(buffer)
            os.close(file)
        return None

    def _store_spooled(self, path: str, scratch: Path, failure: MemberDamaged | None) -> None:
        """A member that only looked like an archive by its name."""
        source = _FileSource(scratch, failure)
        try:
            member = Member(name=path, size=scratch.stat().st_size, kind=MemberKind.FILE)
            self._store(member, source, path, path, _Bound(self._limits, source, 0, self._total))
        finally:
            source.close()

    def _store(self, member: Member, source: Source, path: str, key_path: str, bound: "_Bound") -> int:
        """Copy the member's bytes to its place (or read them where they lie), hashing and announcing them."""
        role = role_of(path)
        location = member.location or self._root / key_path
        sink = None if member.location is not None else self._create(location, member.size)
        try:
            copied = self._copy(source, path, location, role, sink, bound)
            if sink is not None:
                os.ftruncate(sink, copied.size)
        finally:
            if sink is not None:
                os.close(sink)
        if isinstance(copied.failure, _TooMuch):
            location.unlink() if sink is not None else None
            self._refuse(path, member, f"refused: {copied.failure}")
            return 0
        if role.is_read and copied.is_text:
            self._watcher.finished(path, location, copied.size)
        self._total += copied.size
        self._record(path, key_path, location, role, copied)
        self._progress.unpacked(path, source.consumed(), self._total)
        return copied.size

    def _copy(
        self, source: Source, path: str, location: Path, role: FileRole, sink: int | None, bound: "_Bound"
    ) -> _Copied:
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
                is_text = not _looks_binary(bytes(view[:_SNIFFED]))
            if sink is not None:
                _write(sink, view, path)
            size += length
            digests.add(buffer, length, self._hasher)
            try:
                bound.check(size)
            except _TooMuch as error:
                failure = error
            if role.is_read and is_text and failure is None:
                self._watcher.grown(path, location, size)
                self._progress.unpacked(path, source.consumed(), self._total + size)
        return _Copied(size=size, digests=digests, failure=failure, is_text=is_text)

    def _create(self, location: Path, size: int) -> int:
        try:
            location.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            file = os.open(location, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        except OSError as error:
            raise _no_room(error, location.name) from error
        if BLOCK <= size <= _RESERVED_AT_MOST and hasattr(os, "posix_fallocate"):
            # Faster writes; the size is only claimed, so failing to reserve it means nothing yet.
            with contextlib.suppress(OSError):
                os.posix_fallocate(file, 0, size)
        return file

    def _record(self, path: str, key_path: str, location: Path, role: FileRole, copied: _Copied) -> None:
        failure = None if copied.failure is None else str(copied.failure)
        self.files.append(
            UnpackedFile(
                path=path,
                stored_as=key_path,
                location=location,
                size=copied.size,
                role=role,
                status=FileStatus.EXTRACTED if failure is None else FileStatus.FAILED,
                digests=copied.digests,
                reason=failure,
                skip=_skip_reason(role, is_text=copied.is_text, is_whole=failure is None),
            )
        )

    def _refuse(self, path: str, member: Member, reason: str) -> None:
        self.files.append(
            UnpackedFile(
                path=path,
                stored_as=path,
                location=None,
                size=0,
                role=role_of(path),
                status=FileStatus.SKIPPED,
                digests=None,
                reason=reason,
                skip=SkipReason.UNREADABLE,
            )
        )


class _Names:
    """Paths handed out so far: no two members may end up in one place on any file system."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._files: set[str] = set()
        self._folders: set[str] = set()

    def admit(self, member: Member, prefix: str) -> str:
        """The member's path in the bundle. Raises UnsafeName when its name is unsafe or taken."""
        path = prefix + safe_path(member.name, longest=self._limits.longest_path)
        key = collision_key(path)
        parents = {key[:index] for index, char in enumerate(key) if char == "/"}
        if member.kind is not MemberKind.FILE:
            return path
        if key in self._files or key in self._folders:
            raise UnsafeName("another member came before by that name, or one that differs only in case")
        if not self._files.isdisjoint(parents):
            raise UnsafeName("another member is a file where this one needs a folder")
        self._files.add(key)
        self._folders |= parents
        return path

    def becomes_folder(self, path: str) -> None:
        self._files.discard(collision_key(path))
        self._folders.add(collision_key(path))


class _Bound:
    """What one member may still add, given what its source and the whole bundle have already given."""

    def __init__(self, limits: Limits, source: Source, stored_before: int, total_before: int) -> None:
        self._limits = limits
        self._source = source
        self._stored_before = stored_before
        self._total_before = total_before
        self._consumed_before = source.consumed()

    def check(self, size: int) -> None:
        limits, consumed = self._limits, self._source.consumed()
        if self._total_before + size > limits.total_bytes:
            raise _TooMuch(f"the bundle unpacks to more than {limits.total_bytes} bytes")
        # The reader runs ahead of what it hands out, so the member is granted one block of input.
        by_member = size > limits.ratio * (consumed - self._consumed_before + BLOCK)
        by_source = self._stored_before + size > limits.ratio * max(consumed, 1)
        if (size > limits.ratio_floor and by_member) or (self._stored_before + size > limits.ratio_floor and by_source):
            raise _TooMuch(f"it unpacks to more than {limits.ratio} times its compressed size")


class _FileSource:
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


def _container_of(path: str) -> str | None:
    if path.endswith((".tar.gz", ".tgz", ".tar")):
        return ".tar"
    return ".gz" if path.endswith(".gz") else None


def _head_of(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(512)
    except OSError:
        return b""


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


def _write(file: int, view: memoryview, path: str) -> None:
    try:
        while view:
            view = view[os.write(file, view) :]
    except OSError as error:
        raise _no_room(error, path) from error


def _no_room(error: OSError, path: str) -> EvidenceUnavailable:
    hint = "free some space, or point TMPDIR (with --extract: --out) at a larger disk"
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return EvidenceUnavailable(f"the disk is full: {path} could not be written", hint=hint)
    return EvidenceUnavailable(f"{path} could not be written: {error.strerror}", hint=hint)


def _looks_binary(head: bytes) -> bool:
    """A few NULs are normal in logs after a crash; a known magic number or a third of NULs is not."""
    return head.startswith(_BINARY_MAGIC) or head.count(0) > _NUL_SHARE * len(head)


def _why_not(member: Member) -> str:
    detail = f" ({printable(member.detail)})" if member.detail else ""
    return (
        f"refused: it is a {member.kind.value}{detail}"
        if member.kind is not MemberKind.UNREADABLE
        else (f"it cannot be read{detail}")
    )


def _skip_reason(role: FileRole, *, is_text: bool, is_whole: bool) -> SkipReason | None:
    if not is_whole:
        return SkipReason.UNREADABLE
    if role.kind is Kind.BINARY or not is_text:
        return SkipReason.BINARY
    if role.kind is Kind.CONFIG:
        return SkipReason.CONFIG_FILE
    return None if role.is_read else SkipReason.NOT_LOG
