"""The bytes of stored files, by key and by line: what evidence is checked against and lines are read from."""

import os
from pathlib import Path

from affidavit.bundle.line_index import LineIndex, build_line_index, newlines_before, read_lines
from affidavit.errors import EvidenceUnavailable, InputRefused
from affidavit.evidence.finding import ByteRange, Evidence
from affidavit.nodes.library.lru import LruCache
from affidavit.nodes.library.object_keys import bundle_key
from affidavit.ports.object_store import ObjectMissing, ObjectStore
from affidavit.progress import who_waits

# A few bytes per 64 KiB of file each.
_INDEXES_KEPT = 4096


class LineIndexes:
    """Line indexes of local files; made again when a file was replaced."""

    def __init__(self) -> None:
        self._kept: LruCache[tuple[str, int, int], LineIndex] = LruCache(_INDEXES_KEPT)

    def of(self, location: Path) -> LineIndex:
        status = location.stat()
        return self._kept.get((str(location), status.st_size, status.st_mtime_ns), lambda: build_line_index(location))


class StoredLines:
    """A ByteSource over the files of one instance. What evidence names elsewhere is unavailable to it."""

    def __init__(self, instance_id: str, objects: ObjectStore, indexes: LineIndexes) -> None:
        self._instance_id = instance_id
        self._objects = objects
        self._indexes = indexes

    def location(self, key: str) -> Path:
        """Raises EvidenceUnavailable."""
        try:
            if bundle_key(key).instance_id != self._instance_id:
                raise EvidenceUnavailable(f"{key} is a file of another node than {self._instance_id}")
            return self._objects.local_copy(key)
        except InputRefused as error:
            raise EvidenceUnavailable(str(error), hint=error.hint) from error
        except ObjectMissing as error:
            raise EvidenceUnavailable(
                f"{key} is not stored any more", hint="call validate to see what else is missing"
            ) from error

    def read(self, evidence: Evidence, span: ByteRange) -> bytes:
        who_waits().check()
        with self.location(evidence.full_key).open("rb", buffering=0) as file:
            return os.pread(file.fileno(), span.end - span.start, span.start)

    def newlines_before(self, evidence: Evidence, offset: int) -> int:
        location = self.location(evidence.full_key)
        return newlines_before(location, self._indexes.of(location), offset)

    def lines(self, key: str, first: int, count: int) -> bytes:
        location = self.location(key)
        return read_lines(location, self._indexes.of(location), first, count)
