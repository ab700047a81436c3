"""Reads an unpacked bundle in place. Links are not followed, also not when a folder is swapped for one meanwhile."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from affidavit.bundle.safety.link_free_opening import open_folder, open_without_links
from affidavit.bundle.safety.paths import shown
from affidavit.bundle.sources.source import LEADS_OUT, Member, MemberDamaged, MemberKind, believable_time

_LIST = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class DirectorySource:
    def __init__(self, root: Path) -> None:
        # Links on the way to the root are the user's own; below it there are none.
        self._root = root.resolve()
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
        """The names that `members` will yield, without opening any file."""
        return (str(path.relative_to(self._root)) for path in DirectorySource(self._root)._walk())

    def readinto(self, view: memoryview) -> int:
        if self._current is None:
            return 0
        try:
            if self._file is None:
                self._file = open_without_links(self._current)
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
        """Walks with a list instead of recursion: a tree may be deeper than the call stack."""
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
            facts = _facts(path)
        except OSError as error:
            return Member(name=name, size=0, kind=MemberKind.UNREADABLE, detail=error.strerror or "")
        return Member(
            name=name,
            size=facts.st_size if stat.S_ISREG(facts.st_mode) else 0,
            kind=_kind(facts.st_mode),
            modified=believable_time(facts.st_mtime),
            location=path,
            detail=LEADS_OUT if stat.S_ISLNK(facts.st_mode) and self._leads_out(path) else "",
        )

    def _leads_out(self, link: Path) -> bool:
        """Whether a link names a file of this machine outside the bundle. That file is never opened.

        A link of the node itself, unpacked elsewhere, names nothing here.
        """
        target = Path(os.path.realpath(link))
        return target.is_file() and not target.is_relative_to(self._root)

    def _close_member(self) -> None:
        if self._file is not None:
            os.close(self._file)
        self._file = self._current = None


def _listed(folder: Path) -> tuple[list[Path], list[Path]]:
    """Its folders and its other entries, by a descriptor of the folder itself."""
    folders: list[Path] = []
    files: list[Path] = []
    above = open_folder(folder.parent)
    try:
        here = os.open(folder.name or "/", _LIST, dir_fd=above)
    finally:
        os.close(above)
    try:
        with os.scandir(here) as entries:
            for entry in sorted(entries, key=lambda entry: entry.name):
                (folders if entry.is_dir(follow_symlinks=False) else files).append(folder / entry.name)
    finally:
        os.close(here)
    return folders, files


def _facts(path: Path) -> os.stat_result:
    folder = open_folder(path.parent)
    try:
        return os.stat(path.name, dir_fd=folder, follow_symlinks=False)
    finally:
        os.close(folder)


def _kind(mode: int) -> MemberKind:
    if stat.S_ISREG(mode):
        return MemberKind.FILE
    return MemberKind.LINK if stat.S_ISLNK(mode) else MemberKind.DEVICE
