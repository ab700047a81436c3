"""A single gzipped file, such as a rotated log: a source with one member."""

from collections.abc import Iterator
from pathlib import Path

from affidavit.bundle.gunzip import Gunzip
from affidavit.bundle.source import Member, MemberKind


class GzipSource:
    def __init__(self, path: Path, *, name: str) -> None:
        self._stream = Gunzip(path)
        self._name = name
        self.problems: list[str] = []

    def members(self) -> Iterator[Member]:
        yield Member(name=self._name, size=0, kind=MemberKind.FILE)

    def readinto(self, view: memoryview) -> int:
        return self._stream.readinto(view)

    def consumed(self) -> int:
        return self._stream.consumed()

    def close(self) -> None:
        self._stream.close()
