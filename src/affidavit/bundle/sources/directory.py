"""A directory that somebody unpacked, read in place. Links are not followed."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from affidavit.bundle.paths import shown
from affidavit.bundle.source import Member, MemberDamaged, MemberKind, believable_time


class DirectorySource:
    def __init__(self, root: Path) -> None:
        self._root = root
        self._file: int | None = None
        self._current: Path | None = None
        self._read = 0
        self.problems: list[str] = []

    def members(self) -> Iterator[Member]:
        for path in self._walk():
            self._close_member()
            self._current = path
            yield self._member(path)
        self._close_member()

    def names(self) -> Iterator[str]:
        """What `members` will list, without looking at any file."""
        return (str(path.relative_to(self._root)) for path in DirectorySource(self._root)._walk())

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

    def _walk(self) -> Iterator[Path]:
        """Folder by folder, not one inside the other: a tree may be deeper than we could follow by calls."""
        waiting = [self._root]
        while waiting:
            folder = waiting.pop()
            try:
                folders, files = _listed(folder)
            except OSError as error:
                name = shown(str(folder.relative_to(self._root)))
                self.problems.append(f"{name}/ cannot be listed: {error.strerror}")
                continue
            yield from files
            waiting.extend(reversed(folders))

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
            modified=believable_time(status.st_mtime),
            location=path,
        )

    def _close_member(self) -> None:
        if self._file is not None:
            os.close(self._file)
        self._file = self._current = None


def _listed(folder: Path) -> tuple[list[Path], list[Path]]:
    """Its folders and its other entries."""
    folders: list[Path] = []
    files: list[Path] = []
    with os.scandir(folder) as entries:
        for entry in sorted(entries, key=lambda entry: entry.name):
            (folders if entry.is_dir(follow_symlinks=False) else files).append(Path(entry.path))
    return folders, files


def _kind(mode: int) -> MemberKind:
    if stat.S_ISREG(mode):
        return MemberKind.FILE
    return MemberKind.LINK if stat.S_ISLNK(mode) else MemberKind.DEVICE
