"""The manifest: every file of a bundle with its digests. Written after unpacking and before indexing."""

from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Annotated

from pydantic import Field, TypeAdapter

from affidavit.bundle.file_recognition import RecognisedBy

MANIFEST_VERSION = "2.0"


class FileStatus(StrEnum):
    EXTRACTED = "extracted"
    FAILED = "failed"
    SKIPPED = "skipped"


class FileType(StrEnum):
    LOG = "log"
    CONFIG = "config"
    BINARY = "binary"
    UNKNOWN = "unknown"


@dataclass(frozen=True, kw_only=True, slots=True)
class ManifestFile:
    """Digests are of the bytes that are stored; null when nothing is."""

    key: str
    relative_path: str
    size_bytes: int
    md5: str | None
    sha256: str | None
    status: FileStatus
    file_type: FileType
    reason: Annotated[str | None, Field(exclude_if=lambda value: value is None)] = None
    recognised_by: Annotated[RecognisedBy | None, Field(exclude_if=lambda value: value is None)] = None
    recognised_as: Annotated[str | None, Field(exclude_if=lambda value: value is None)] = None
    """A path of the usual layout whose rules read this file, where its own path is unknown."""

    @property
    def read_as(self) -> str:
        return self.recognised_as or self.relative_path


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """`problems` are damage to the archive itself. With any, the archive may have held more files than are listed."""

    version: str
    instance_id: Annotated[str, Field(alias="instanceId")]
    created_at: Annotated[datetime, Field(alias="createdAt")]
    source_archive: str
    source_archive_size_bytes: int
    source_archive_md5: str | None
    source_archive_sha256: str | None
    extraction_duration_ms: int
    expected_files: tuple[ManifestFile, ...]
    total_files: int
    total_size_bytes: int
    file_type_summary: dict[str, int]
    problems: tuple[str, ...]


def summarize_types(files: tuple[ManifestFile, ...]) -> dict[str, int]:
    counts = Counter(file.file_type.value for file in files)
    return {kind.value: counts[kind.value] for kind in FileType}


_ADAPTER = TypeAdapter(Manifest)


def manifest_to_json(manifest: Manifest) -> bytes:
    return _ADAPTER.dump_json(manifest, by_alias=True, indent=1)


def manifest_from_json(text: bytes) -> Manifest:
    """Raises pydantic.ValidationError."""
    return _ADAPTER.validate_json(text)
