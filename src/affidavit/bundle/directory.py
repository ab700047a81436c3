"""A directory that somebody unpacked, read in place. Links are not followed."""

import os
import stat
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from affidavit.bundle.source import Member, MemberDamaged, MemberKind


class DirectorySource:
    def __init__(self, root: Path) -> None:
        self._root = root
        self._file: int | None = None
        self._current: Path | None = None
        self._read = 0
        self.problems: list[str] = []

    def members(self) -> Iterator[Member]:
        for path in self._walk(self._root):
            self._close_member()
            self._current = path
            yield self._member(path)
        self._close_member()

    def readinto(self, view: memoryview) -> int:
        if self._current is None:
            return 0
        try:
            if self._file is None:
                self._file = os.open(self._current, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            count = os.readv(self._file, [view])
        except OSError as error:
            raise MemberDamaged(f"it cannot be read: {error.strerror}") from error
        self._read += count
        return count

    def consumed(self) -> int:
        return self._read

    def close(self) -> None:
        self._close_member()

    def _walk(self, folder: Path) -> Iterator[Path]:
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError as error:
            self.problems.append(f"{folder.relative_to(self._root)}/ cannot be listed: {error.strerror}")
            return
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                yield from self._walk(Path(entry.path))
            else:
                yield Path(entry.path)

    def _member(self, path: Path) -> Member:
        name = str(path.relative_to(self._root))
        try:
            status = path.lstat()
        except OSError as error:
            return Member(name=name, size=0, kind=MemberKind.UNREADABLE, detail=error.strerror or "")
        return Member(
            name=name,
            size=status.st_size if stat.S_ISREG(status.st_mode) else 0,
            kind=_kind(status.st_mode),
            modified=datetime.fromtimestamp(status.st_mtime, UTC),
            location=path,
        )

    def _close_member(self) -> None:
        if self._file is not None:
            os.close(self._file)
        self._file = self._current = None


def _kind(mode: int) -> MemberKind:
    if stat.S_ISREG(mode):
        return MemberKind.FILE
    return MemberKind.LINK if stat.S_ISLNK(mode) else MemberKind.DEVICE
