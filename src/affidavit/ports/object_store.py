"""Stores bytes under keys."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Protocol

from affidavit.errors import NotFound


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredObject:
    key: str
    size: int
    modified: datetime


class ObjectStore(Protocol):
    """Bytes under keys such as `eks_i-0abc/extracted/system/x.log`. A write is seen whole or not at all.

    Every method that names a missing object raises ObjectMissing; an outage raises UpstreamFailed.
    """

    def get(self, key: str) -> bytes: ...

    def read(self, key: str, start: int, end: int) -> bytes:
        """The bytes from `start` to `end` (exclusive), fewer when the object ends early."""
        ...

    def head(self, key: str) -> StoredObject | None: ...

    def put(self, key: str, data: bytes, *, purpose: str) -> None:
        """`purpose` names the tool that writes; it goes into the encryption context."""
        ...

    def put_new(self, key: str, data: bytes, *, purpose: str) -> bool:
        """False, and nothing written, when the object was there already. Atomic: of many callers one gets True."""
        ...

    def put_file(self, key: str, path: Path, *, purpose: str) -> None: ...

    def list(self, prefix: str) -> Iterator[StoredObject]:
        """In key order."""
        ...

    def folders(self, prefix: str, *, after: str = "") -> Iterator[str]:
        """First segments of keys that begin with `prefix` and come after `after`, each once, in key order."""
        ...

    def local_copy(self, key: str) -> Path:
        """A file with the object's bytes: the object itself in a directory, a cached download elsewhere. Read only."""
        ...

    def link(self, key: str, *, seconds: int) -> str:
        """A presigned URL, or a local path."""
        ...


class UploadLinks(Protocol):
    """Lets somebody without rights of their own write one object."""

    def upload_link(self, key: str, *, seconds: int) -> str:
        """An address that takes one PUT request with the object's bytes, as long as it holds."""
        ...


class ObjectMissing(NotFound):
    pass
