"""An analysis for the report of a stored index: its files are read where the library keeps them."""

from dataclasses import dataclass
from pathlib import Path

from affidavit.bundle.file_roles import role_of
from affidavit.bundle.manifest import FileStatus, Manifest, ManifestFile
from affidavit.bundle.unpack import UnpackedFile
from affidavit.bundle.unpacked_bundle import StoredBundle
from affidavit.errors import EvidenceUnavailable
from affidavit.evidence.finding import ByteRange, Evidence
from affidavit.investigation import Analysis
from affidavit.nodes.library.indexed_bundles import Library, Shelf
from affidavit.nodes.library.stored_lines import StoredLines


@dataclass(frozen=True, kw_only=True)
class LibraryBundle(StoredBundle):
    """A bundle in the library: lines are read by the key that evidence names."""

    lines: StoredLines

    def read(self, evidence: Evidence, span: ByteRange) -> bytes:
        return self.lines.read(evidence, span)

    def newlines_before(self, evidence: Evidence, offset: int) -> int:
        return self.lines.newlines_before(evidence, offset)


def library_analysis(library: Library, shelf: Shelf) -> Analysis:
    """Raises EvidenceUnavailable when the bundle has no manifest."""
    manifest = library.manifest(shelf.marker)
    if manifest is None:
        raise EvidenceUnavailable(f"the bundle of {shelf.marker.instance_id} has no manifest", hint="ingest it again")
    files = tuple(_file(entry) for entry in manifest.expected_files)
    bundle = LibraryBundle(
        name=manifest.source_archive, files=files, problems=manifest.problems, modified=None, lines=shelf.lines
    )
    return Analysis(manifest=manifest, index=shelf.index, bundle=bundle, read=_read(manifest, shelf))


def _read(manifest: Manifest, shelf: Shelf) -> frozenset[str]:
    """Files that were scanned. An index lists some of the others; their kinds tell the rest."""
    skipped = {skipped.file for skipped in shelf.index.coverage.skipped_files}
    return frozenset(
        entry.relative_path
        for entry in manifest.expected_files
        if entry.status is FileStatus.EXTRACTED
        and entry.relative_path not in skipped
        and role_of(entry.read_as).is_read
    )


def _file(entry: ManifestFile) -> UnpackedFile:
    return UnpackedFile(
        path=entry.relative_path,
        stored_as=entry.relative_path,
        location=Path(entry.relative_path) if entry.status is FileStatus.EXTRACTED else None,
        size=entry.size_bytes,
        role=role_of(entry.read_as),
        status=entry.status,
        digests=None,
        reason=entry.reason,
        read_as=entry.read_as,
    )
