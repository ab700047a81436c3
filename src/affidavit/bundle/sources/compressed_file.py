"""Reads one compressed file, such as a rotated log, as a source with one member."""

from collections.abc import Iterator
from pathlib import Path

from affidavit.bundle.sources.compression import Compression, decompressed
from affidavit.bundle.sources.source import Member, MemberKind


class CompressedFileSource:
    def __init__(self, path: Path, *, name: str, compression: Compression) -> None:
        self._stream = decompressed(path, compression)
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
