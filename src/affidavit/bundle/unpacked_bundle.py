"""An unpacked bundle: its instance id, its files, and their bytes by bundle path."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path

from affidavit.bundle.byte_range_reader import head_of, span_of, unreadable
from affidavit.bundle.file_recognition import RecognisedBy
from affidavit.bundle.file_roles import FileKind
from affidavit.bundle.line_index import LineIndex, build_line_index, newlines_before
from affidavit.bundle.manifest import MANIFEST_VERSION, FileType, Manifest, ManifestFile, summarize_types
from affidavit.bundle.sources.compression import TAR_NAMES
from affidavit.bundle.sources.opening import no_logs
from affidavit.bundle.unpack import Unpacked, UnpackedFile
from affidavit.errors import EvidenceUnavailable, InputRefused
from affidavit.evidence.finding import ByteRange, Evidence

UNKNOWN_INSTANCE = "unknown"
_INSTANCE = re.compile(r"(?<![0-9a-z])i-[0-9a-f]{8,17}(?![0-9a-f])")
_TYPES = {
    FileKind.LOG: FileType.LOG,
    FileKind.OUTPUT: FileType.LOG,
    FileKind.CONFIG: FileType.CONFIG,
    FileKind.BINARY: FileType.BINARY,
}
_SHOWN = 5
_NOTE = "system/instance-id.txt"


@dataclass(frozen=True, kw_only=True)
class StoredBundle:
    name: str
    files: tuple[UnpackedFile, ...]
    problems: tuple[str, ...]
    modified: datetime | None
    _line_indexes: dict[str, LineIndex] = field(default_factory=dict[str, LineIndex])

    @cached_property
    def instance_id(self) -> str:
        """From the collector's own note, else from the bundle's name."""
        if (noted := next(_noted_ids(self.locations), None)) is not None:
            return noted
        found = _INSTANCE.search(self.name)
        return found[0] if found is not None else UNKNOWN_INSTANCE

    @cached_property
    def locations(self) -> Mapping[str, Path]:
        return {file.path: file.location for file in self.files if file.location is not None}

    @property
    def prefix(self) -> str:
        return f"eks_{self.instance_id}"

    def key_of(self, file: UnpackedFile) -> str:
        return f"{self.prefix}/extracted/{file.stored_as}"

    def read(self, evidence: Evidence, span: ByteRange) -> bytes:
        return span_of(self._location(evidence), span.start, span.end)

    def newlines_before(self, evidence: Evidence, offset: int) -> int:
        path = evidence.source_file
        location = self._location(evidence)
        try:
            if path not in self._line_indexes:
                self._line_indexes[path] = build_line_index(location)
            return newlines_before(location, self._line_indexes[path], offset)
        except OSError as error:
            raise unreadable(location, error) from error

    def _location(self, evidence: Evidence) -> Path:
        location = self.locations.get(evidence.source_file)
        if location is None:
            raise EvidenceUnavailable(f"the bundle has no {evidence.source_file}")
        return location


def stored_bundle(name: str, unpacked: Unpacked) -> StoredBundle:
    """Raises InputRefused when nothing can be analyzed (it would look healthy) or the bundle holds several nodes."""
    if not any(file.location is not None and file.role.is_read for file in unpacked.files):
        raise _nothing_to_analyze(name, unpacked)
    bundle = StoredBundle(name=name, files=unpacked.files, problems=unpacked.problems, modified=unpacked.modified)
    _refuse_several(bundle)
    return bundle


def manifest_of(
    bundle: StoredBundle, *, archive: Path | None, digests: tuple[str, str] | None, seconds: float
) -> Manifest:
    files = tuple(_manifest_file(bundle, file) for file in bundle.files)
    return Manifest(
        version=MANIFEST_VERSION,
        instance_id=bundle.instance_id,
        created_at=datetime.now(UTC),
        source_archive=bundle.name,
        source_archive_size_bytes=archive.stat().st_size if archive is not None else 0,
        source_archive_md5=digests[0] if digests is not None else None,
        source_archive_sha256=digests[1] if digests is not None else None,
        extraction_duration_ms=round(seconds * 1000),
        expected_files=files,
        total_files=len(files),
        total_size_bytes=sum(file.size_bytes for file in files),
        file_type_summary=summarize_types(files),
        problems=bundle.problems,
    )


def _manifest_file(bundle: StoredBundle, file: UnpackedFile) -> ManifestFile:
    return ManifestFile(
        key=bundle.key_of(file),
        relative_path=file.path,
        size_bytes=file.size,
        md5=file.digests.md5 if file.digests is not None else None,
        sha256=file.digests.sha256 if file.digests is not None else None,
        status=file.status,
        file_type=_TYPES.get(file.role.kind, FileType.UNKNOWN),
        reason=file.reason,
        recognised_by=file.recognised_by,
        recognised_as=file.read_as if file.recognised_by is RecognisedBy.CONTENT else None,
    )


def _refuse_several(bundle: StoredBundle) -> None:
    """A bundle may hold archives, but not those of two nodes, nor two collections of one.

    Names are held against names and notes against notes: a folder may be called after whatever its owner likes.
    """
    tops = {file.stored_as.split("/", 1)[0] for file in bundle.files if "/" in file.stored_as}
    named = {top: found[0] for top in sorted(tops) if (found := _INSTANCE.search(top)) is not None}
    nodes = max({*named.values()}, {*_noted_ids(bundle.locations)}, key=len)
    archives = [top for top in named if top.endswith(TAR_NAMES)]
    if len(nodes) > 1 or len(archives) > 1:
        listed = sorted(nodes) if len(nodes) > 1 else archives
        more = f" and {len(listed) - _SHOWN} more" if len(listed) > _SHOWN else ""
        what = f"bundles of {len(nodes)} nodes" if len(nodes) > 1 else f"{len(archives)} bundles of one node"
        raise InputRefused(
            f"{bundle.name} holds {what}: {', '.join(listed[:_SHOWN])}{more}",
            hint="analyze them one by one, or ask over all of them with `affidavit fleet add DIR`",
        )


def _noted_ids(locations: Mapping[str, Path]) -> Iterator[str]:
    """Instance ids that collectors noted inside the bundle."""
    for path, location in locations.items():
        if path.endswith(_NOTE):
            text = head_of(location, 4096).decode("utf-8", "replace")
            if (found := _INSTANCE.search(text)) is not None:
                yield found[0]


def _nothing_to_analyze(name: str, unpacked: Unpacked) -> InputRefused:
    troubles = [f"{file.path}: {file.reason}" for file in unpacked.files if file.reason is not None]
    troubles.extend(unpacked.problems)
    if not troubles:
        return no_logs(name, len(unpacked.files))
    more = f" (and {len(troubles) - _SHOWN} more)" if len(troubles) > _SHOWN else ""
    return InputRefused(
        f"nothing in {name} can be analyzed: {'; '.join(troubles[:_SHOWN])}{more}",
        hint="collect the bundle again; this one is damaged or was tampered with",
    )
