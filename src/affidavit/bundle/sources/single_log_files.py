"""Reads single log files, named one by one, as a source. Each is read in place."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from io import FileIO
from pathlib import Path

from affidavit.bundle.safety.link_free_opening import file_opener
from affidavit.bundle.sources.source import Member, MemberDamaged, MemberKind, believable_time


class LogFilesSource:
    def __init__(self, paths: Mapping[str, Path]) -> None:
        """`paths` by the names that the files have in the bundle."""
        self._paths = paths
        self._current: Path | None = None
        self._read = 0
        self._at = 0
        self.problems: list[str] = []

    def members(self) -> Iterator[Member]:
        for name, path in self._paths.items():
            self._current, self._at = path, 0
            yield _member(name, path)
        self._current = None

    def readinto(self, view: memoryview) -> int:
        if self._current is None:
            return 0
        try:
            with FileIO(self._current, opener=file_opener) as file:
                file.seek(self._at)
                count = file.readinto(view) or 0
        except OSError as error:
            raise MemberDamaged(f"it cannot be read: {error.strerror}") from error
        self._at += count
        self._read += count
        return count

    def consumed(self) -> int:
        return self._read

    def close(self) -> None:
        self._current = None


def member_names(paths: Sequence[Path]) -> dict[str, Path]:
    """Files by their own names; files of one name by their folder, too."""
    shared = Counter(path.name for path in paths)
    return {path.name if shared[path.name] == 1 else f"{path.parent.name or '_'}/{path.name}": path for path in paths}


def _member(name: str, path: Path) -> Member:
    try:
        facts = path.stat()
    except OSError as error:
        return Member(name=name, size=0, kind=MemberKind.UNREADABLE, detail=error.strerror or "")
    modified = believable_time(facts.st_mtime)
    return Member(name=name, size=facts.st_size, kind=MemberKind.FILE, modified=modified, location=path)
