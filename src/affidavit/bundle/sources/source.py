"""The protocol of bundle sources (tar, zip, directory): members are read forward, one at a time.

A source never writes and never follows a link. Damage to one member is raised as MemberDamaged when that member is
read; what a source could not even list goes to `problems`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from affidavit.errors import AffidavitError

_LATEST = datetime(2100, 1, 1, tzinfo=UTC).timestamp()


class MemberKind(StrEnum):
    FILE = "file"
    FOLDER = "folder"
    LINK = "link"
    DEVICE = "device, pipe or other special file"
    SPARSE = "sparse file"
    ENCRYPTED = "encrypted file"
    UNREADABLE = "unreadable file"


class MemberDamaged(AffidavitError):
    """The member's bytes end or break here; what was read before is as the archive holds it."""


LEADS_OUT = "it leads out of the bundle"


@dataclass(frozen=True, kw_only=True)
class Member:
    """`location` is set when the bytes already lie on disk and need not be copied.

    `detail` says more about a member that is no file: where a link leads, why one cannot be read.
    """

    name: str
    size: int
    kind: MemberKind
    modified: datetime | None = None
    location: Path | None = None
    detail: str = ""


class Source(Protocol):
    problems: list[str]

    def members(self) -> Iterator[Member]:
        """Each member once; its bytes can be read until the next is asked for."""
        ...

    def readinto(self, view: memoryview) -> int:
        """Bytes of the current member; 0 at its end. Raises MemberDamaged."""
        ...

    def consumed(self) -> int:
        """How many bytes of the container have been read: what a compression ratio is judged by."""
        ...

    def close(self) -> None: ...


def believable_time(seconds: float) -> datetime | None:
    """A modification time; None when no node's clock can have shown it."""
    return datetime.fromtimestamp(seconds, UTC) if 0 <= seconds < _LATEST else None
