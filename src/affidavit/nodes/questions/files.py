"""`list_bundle_files`: every file of a bundle, and whether the index looked at it."""

from collections.abc import Sequence

from affidavit.bundle.layout import Kind, role_of
from affidavit.bundle.manifest import FileStatus, FileType, Manifest, ManifestFile
from affidavit.evidence.coverage import SkippedFile, SkipReason
from affidavit.nodes.answers.files import MOST_FILES, BundleFile, ListBundleFilesAnswer, ListBundleFilesRequest
from affidavit.nodes.answers.wire import CoverageReport, cut
from affidavit.nodes.keys import EXTRACTED
from affidavit.nodes.library import IndexMarker, Library

_NOT_SCANNED = {
    FileType.CONFIG: SkipReason.CONFIG_FILE,
    FileType.BINARY: SkipReason.BINARY,
    FileType.UNKNOWN: SkipReason.NOT_LOG,
}


def list_bundle_files(library: Library, request: ListBundleFilesRequest) -> ListBundleFilesAnswer:
    shelf = library.open(request.instance_id, request.index_id)
    manifest = library.manifest(shelf.marker)
    files = manifest.expected_files if manifest is not None else stored_files(library, shelf.marker)
    asked = [file for file in files if file.relative_path.startswith(request.under)]
    shown = asked[request.offset : request.offset + MOST_FILES]
    skipped = {skipped.file: skipped for skipped in shelf.index.coverage.skipped_files}
    left = len(asked) - request.offset - len(shown)
    info = cut(len(asked), len(shown), f"ask again with offset {request.offset + len(shown)}") if left > 0 else None
    return ListBundleFilesAnswer(
        index_id=shelf.index.index_id,
        manifest_version=manifest.version if manifest is not None else None,
        files=[_listed(file, skipped, is_known=manifest is not None) for file in shown],
        total_files=len(asked),
        total_size_bytes=sum(file.size_bytes for file in asked),
        coverage_report=CoverageReport.of(shelf.index.coverage),
        truncated=info is not None,
        truncation_info=info,
    )


def stored_files(library: Library, marker: IndexMarker) -> tuple[ManifestFile, ...]:
    """The files that lie there, when no manifest tells which there should be."""
    prefix = f"{marker.home}/{EXTRACTED}/"
    return tuple(
        ManifestFile(
            key=stored.key,
            relative_path=(path := stored.key.removeprefix(prefix)),
            size_bytes=stored.size,
            md5=None,
            sha256=None,
            status=FileStatus.EXTRACTED,
            file_type=_type_of(path),
        )
        for stored in library.objects.list(prefix)
    )


def files_of(library: Library, marker: IndexMarker) -> Sequence[ManifestFile]:
    manifest: Manifest | None = library.manifest(marker)
    return manifest.expected_files if manifest is not None else stored_files(library, marker)


def _type_of(path: str) -> FileType:
    kinds = {Kind.CONFIG: FileType.CONFIG, Kind.BINARY: FileType.BINARY, Kind.UNKNOWN: FileType.UNKNOWN}
    return kinds.get(role_of(path).kind, FileType.LOG)


def _listed(file: ManifestFile, skipped: dict[str, SkippedFile], *, is_known: bool) -> BundleFile:
    """The index lists only some of what it skipped; for the rest the kind of file tells."""
    skip = skipped[file.relative_path].reason if file.relative_path in skipped else _NOT_SCANNED.get(file.file_type)
    if file.status is not FileStatus.EXTRACTED:
        skip = skip or SkipReason.UNREADABLE
    return BundleFile(
        path=file.relative_path,
        key=file.key,
        size_bytes=file.size_bytes,
        type=file.file_type,
        status=file.status,
        scanned=skip is None if is_known else None,
        reason=file.reason,
        skip_reason=skip,
    )
