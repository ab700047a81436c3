"""Unpacks a bundle into a private folder, with digests, and refuses unsafe members.

Members are streamed. Links are never created, so no path can lead outside the folder. A refused member is recorded
with its reason and unpacking continues. An archive inside the bundle becomes a folder of the same name.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import count
from pathlib import Path

from affidavit.bundle.binary_detection import Content
from affidavit.bundle.byte_range_reader import head_of
from affidavit.bundle.digests import Digests
from affidavit.bundle.file_recognition import HEAD, RecognisedBy
from affidavit.bundle.file_roles import OTHER_LOG, FileKind, FileRole, role_of
from affidavit.bundle.manifest import FileStatus
from affidavit.bundle.members_to_disk import Copied, SpooledSource, Storage, UnpackProgress, Watcher
from affidavit.bundle.safety.bombs import Budget, MemberBound, TooMuch
from affidavit.bundle.safety.limits import UnpackLimits
from affidavit.bundle.safety.paths import UnsafeName, known_as, safe_path, shown
from affidavit.bundle.safety.used_paths import Names
from affidavit.bundle.sources.compressed_file import CompressedFileSource
from affidavit.bundle.sources.compression import COMPRESSED_NAMES, TAR_NAMES, compression_of
from affidavit.bundle.sources.opening import is_tar_header
from affidavit.bundle.sources.source import Member, MemberKind, Source
from affidavit.bundle.sources.tar import TarSource
from affidavit.evidence.coverage import SkipReason

_HEAD = 512


@dataclass(frozen=True, kw_only=True)
class UnpackedFile:
    """One member, stored or refused. `stored_as` is its path in the object layout.

    Rules read it as if it lay at `read_as`: its own path, or one that fits what its content shows.
    """

    path: str
    stored_as: str
    location: Path | None
    size: int
    role: FileRole
    status: FileStatus
    digests: Digests | None
    reason: str | None = None
    skip: SkipReason | None = None
    read_as: str = ""
    recognised_by: RecognisedBy | None = None

    @property
    def is_scanned(self) -> bool:
        return self.skip is None


@dataclass(frozen=True, kw_only=True)
class Unpacked:
    """No two files have the same path."""

    files: tuple[UnpackedFile, ...]
    problems: tuple[str, ...]
    modified: datetime | None


def unpack(source: Source, *, into: Path, limits: UnpackLimits, watcher: Watcher, progress: UnpackProgress) -> Unpacked:
    """Files in order of their path, whatever the order of members. Raises EvidenceUnavailable on a full disk."""
    budget = Budget(limits, source)
    storage = Storage(into, budget, watcher, progress)
    try:
        unpacker = _Unpacker(storage, budget)
        unpacker.take_all(source, _Place(prefix="", depth=0))
    finally:
        storage.close()
    files = sorted(_told_apart(unpacker.files), key=lambda file: file.path)
    return Unpacked(files=tuple(files), problems=tuple(unpacker.problems), modified=unpacker.modified)


@dataclass(frozen=True, kw_only=True)
class _Place:
    """Where to store the members of a source."""

    prefix: str
    depth: int


class _Unpacker:
    def __init__(self, storage: Storage, budget: Budget) -> None:
        self.files: list[UnpackedFile] = []
        self.problems: list[str] = []
        self.modified: datetime | None = None
        self._storage = storage
        self._budget = budget
        self._limits = budget.limits
        self._names = Names(budget.limits)
        self._members = 0
        self._dropped = 0

    def take_all(self, source: Source, place: _Place) -> None:
        given = 0
        for member in source.members():
            self._members += 1
            if limit := self._limit_reached():
                source.problems.append(f"the rest of the archive was not read: {limit}")
                break
            if member.kind is not MemberKind.FOLDER:
                given += self._take(member, source, place, MemberBound(self._budget, source, given))
        within = f"{place.prefix.rstrip('/')}: " if place.prefix else ""
        self.problems.extend(within + problem for problem in source.problems)

    def _limit_reached(self) -> str:
        if self._members > self._limits.members:
            return f"the bundle has more than {self._limits.members} members"
        if self._dropped > self._limits.dropped_bytes:
            return "too many of its members unpack to too much"
        return ""

    def _take(self, member: Member, source: Source, place: _Place, bound: MemberBound) -> int:
        """Returns how many bytes the source gave, less what was dropped again."""
        name = place.prefix + shown(member.name)
        try:
            key_path = name = safe_path(member.name, within=place.prefix, limits=self._limits)
            if member.kind is MemberKind.FILE:
                self._names.claim(key_path)
        except UnsafeName as refusal:
            self._refuse(name, f"refused: {refusal}")
            return 0
        if member.kind is not MemberKind.FILE:
            self._refuse(key_path, _why_not(member))
            return 0
        if member.modified is not None and (self.modified is None or member.modified > self.modified):
            self.modified = member.modified
        if key_path.endswith((*TAR_NAMES, *COMPRESSED_NAMES)):
            return self._take_archive(member, source, place, key_path, bound)
        return self._store(member, source, key_path, bound)

    def _take_archive(self, member: Member, source: Source, place: _Place, path: str, bound: MemberBound) -> int:
        """Expands a member named like an archive if its bytes are one. In a directory it is read in place."""
        if member.location is not None:
            if not _is_archive(member.location, path):
                return self._store(member, source, path, bound)
            self._budget.pay(member.size)
            self._expand(path, member.location, place.depth)
            return 0
        scratch = self._storage.scratch(f"nested-{place.depth}")
        try:
            return self._take_spooled(member, source, place, path, bound, scratch)
        finally:
            scratch.unlink(missing_ok=True)

    def _take_spooled(
        self, member: Member, source: Source, place: _Place, path: str, bound: MemberBound, scratch: Path
    ) -> int:
        failure = self._storage.spool(source, scratch, bound)
        size = scratch.stat().st_size
        if isinstance(failure, TooMuch):
            return self._drop(path, size, failure)
        if _is_archive(scratch, path):
            self._expand(path, scratch, place.depth)
            if failure is not None:
                self.problems.append(f"{path}: {failure}")
        else:
            spooled = SpooledSource(scratch, failure)
            try:
                self._store(replace(member, size=size), spooled, path, MemberBound(self._budget, spooled, 0))
            finally:
                spooled.close()
        return size

    def _expand(self, path: str, archive: Path, depth: int) -> None:
        if depth >= self._limits.depth:
            self._refuse(path, f"refused: archives nested more than {self._limits.depth} deep")
            return
        try:
            source = self._opened(path, archive)
        except OSError as error:
            self._refuse(path, f"it cannot be read: {error.strerror}")
            return
        self._names.becomes_folder(path)
        try:
            self.take_all(source, _Place(prefix=f"{path}/", depth=depth + 1))
        finally:
            source.close()

    def _opened(self, path: str, archive: Path) -> Source:
        compression = compression_of(head_of(archive, _HEAD))
        if path.endswith(TAR_NAMES) or compression is None:
            return TarSource(archive, limits=self._limits, compression=compression)
        return CompressedFileSource(archive, name=_stem_of(path), compression=compression)

    def _store(self, member: Member, source: Source, key_path: str, bound: MemberBound) -> int:
        path = known_as(key_path)
        copied = self._storage.store(member, source, bound, path=path, at=key_path)
        if isinstance(copied.failure, TooMuch):
            return self._drop(path, copied.size, copied.failure)
        self._record(path, key_path, copied)
        return copied.size

    def _drop(self, path: str, size: int, failure: TooMuch) -> int:
        self._dropped += size
        self._refuse(path, f"refused: {failure}")
        return 0

    def _record(self, path: str, key_path: str, copied: Copied) -> None:
        failure = None if copied.failure is None else str(copied.failure)
        self.files.append(
            UnpackedFile(
                path=path,
                stored_as=key_path,
                location=copied.location if copied.size or failure is None else None,
                size=copied.size,
                role=copied.recognition.role,
                status=FileStatus.EXTRACTED if failure is None else FileStatus.FAILED,
                digests=copied.digests,
                reason=failure,
                skip=_skip_reason(copied),
                read_as=copied.recognition.read_as,
                recognised_by=copied.recognition.by,
            )
        )

    def _refuse(self, path: str, reason: str) -> None:
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


def _told_apart(files: Iterable[UnpackedFile]) -> list[UnpackedFile]:
    """Numbers refused members that share a path with another member."""
    files = list(files)
    taken = {file.path for file in files if file.location is not None}
    numbers = {file.path: count(2) for file in files}
    return [file if file.location is not None else _relabeled(file, taken, numbers[file.path]) for file in files]


def _relabeled(file: UnpackedFile, taken: set[str], numbers: Iterable[int]) -> UnpackedFile:
    label = file.path
    if label in taken:
        label = next(label for number in numbers if (label := f"{file.path} ({number})") not in taken)
    taken.add(label)
    return replace(file, path=label, stored_as=label)


def _is_archive(archive: Path, path: str) -> bool:
    head = head_of(archive, _HEAD)
    return compression_of(head) is not None or (path.endswith(TAR_NAMES) and is_tar_header(head))


def _stem_of(path: str) -> str:
    name = path.rsplit("/", 1)[-1]
    stem = next((name.removesuffix(ending) for ending in COMPRESSED_NAMES if name.endswith(ending)), name)
    return stem if stem.strip(".") else "content"


def _why_not(member: Member) -> str:
    detail = f" ({shown(member.detail)})" if member.detail else ""
    if member.kind is MemberKind.UNREADABLE:
        return f"it cannot be read{detail}"
    return f"refused: it is a {member.kind.value}{detail}"


def _skip_reason(copied: Copied) -> SkipReason | None:
    """Why the file does not count as scanned. General rules still read a log that is not recognised."""
    role = copied.recognition.role
    if copied.failure is not None:
        return SkipReason.UNREADABLE
    if role.kind is FileKind.BINARY:
        return SkipReason.BINARY
    if copied.content is not Content.TEXT:
        return _not_text(copied, role)
    if role.kind is FileKind.CONFIG:
        return SkipReason.CONFIG_FILE
    if not role.is_read:
        # Only the beginning of a file that nobody knows was looked at: a log may follow it.
        return SkipReason.NOT_LOG if copied.size <= HEAD else SkipReason.NOT_RECOGNISED
    return SkipReason.NOT_RECOGNISED if copied.recognition.by is None and copied.size else None


def _not_text(copied: Copied, role: FileRole) -> SkipReason:
    if copied.content is Content.COMPRESSED:
        return SkipReason.COMPRESSION
    # What should be text and is not hides what it should have told.
    is_named_log = role != OTHER_LOG or ".log" in copied.location.name
    is_lost = copied.content is Content.JOURNAL or (role.is_read and is_named_log)
    return SkipReason.UNREADABLE if is_lost else SkipReason.BINARY
