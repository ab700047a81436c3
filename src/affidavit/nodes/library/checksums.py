"""Compare stored files with what the manifest says of them, by computing their digests again."""

import hashlib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path

from affidavit.bundle.manifest import FileStatus, ManifestFile
from affidavit.ports.object_store import ObjectMissing, ObjectStore
from affidavit.progress import Waiting, who_waits

# Digests are computed outside the interpreter's lock.
_READERS = 2
# A few milliseconds of work.
_PIECE = 4 << 20


class Standing(StrEnum):
    VERIFIED = "verified"
    MISSING = "missing"
    CORRUPTED = "corrupted"
    UNCHECKED = "unchecked"


@dataclass(frozen=True, kw_only=True, slots=True)
class Compared:
    """`actual_md5` is worked out for a corrupted file only."""

    file: ManifestFile
    standing: Standing
    actual_size: int = 0
    actual_md5: str = ""


def compare_files(files: Sequence[ManifestFile], objects: ObjectStore) -> list[Compared]:
    """Raises Abandoned when nobody waits for it any more."""
    waiting, total, done, compared = (
        who_waits().next_stage(),
        sum(file.size_bytes for file in files),
        0,
        list[Compared](),
    )
    with ThreadPoolExecutor(_READERS) as readers:
        for each in readers.map(partial(_compare, objects, waiting), files):
            compared.append(each)
            done += each.file.size_bytes
            waiting.tell(done, total, "bytes compared")
    return compared


def _compare(objects: ObjectStore, waiting: Waiting, file: ManifestFile) -> Compared:
    waiting.check()
    if file.status is not FileStatus.EXTRACTED:
        return Compared(file=file, standing=Standing.MISSING)
    try:
        location = objects.local_copy(file.key)
    except ObjectMissing:
        return Compared(file=file, standing=Standing.MISSING)
    size = location.stat().st_size
    expected = file.sha256 or file.md5
    if size == file.size_bytes:
        if expected is None:
            return Compared(file=file, standing=Standing.UNCHECKED, actual_size=size)
        if _digest(location, "sha256" if file.sha256 else "md5", waiting) == expected:
            return Compared(file=file, standing=Standing.VERIFIED, actual_size=size)
    actual_md5 = _digest(location, "md5", waiting)
    return Compared(file=file, standing=Standing.CORRUPTED, actual_size=size, actual_md5=actual_md5)


def _digest(location: Path, algorithm: str, waiting: Waiting) -> str:
    digest = hashlib.new(algorithm)
    with location.open("rb", buffering=0) as file:
        while piece := file.read(_PIECE):
            waiting.check()
            digest.update(piece)
    return digest.hexdigest()
