"""`list_bundle_files`: every file of a bundle, and whether the index looked at it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from affidavit.bundle.file_roles import FileKind, role_of
from affidavit.bundle.manifest import FileStatus, FileType, Manifest, ManifestFile
from affidavit.errors import NotFound
from affidavit.evidence.coverage import Coverage, SkipReason
from affidavit.nodes.library.indexed_bundles import IndexMarker, Library
from affidavit.nodes.library.object_keys import EXTRACTED
from affidavit.nodes.wire.files import BundleFile, ListBundleFilesAnswer, ListBundleFilesRequest
from affidavit.wire.byte_budget import fit
from affidavit.wire.records import again, cut

_TOPS = 30
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
    if request.under and not asked:
        raise _nothing_under(request.under, files)
    judge = _Scanned.of(files, shelf.index.coverage, is_manifest=manifest is not None)
    shown = [_listed(file, judge) for file in asked[request.offset :]]

    def with_files(most: int) -> ListBundleFilesAnswer:
        end = request.offset + most
        following = again("list_bundle_files", request, offset=end, index_id=shelf.index.index_id)
        info = cut(len(asked), most, f"ask again with offset {end}", following) if end < len(asked) else None
        return ListBundleFilesAnswer(
            instance_id=request.instance_id,
            index_id=shelf.index.index_id,
            origin=shelf.marker.origin,
            manifest_version=manifest.version if manifest is not None else None,
            files=shown[:most],
            total_files=len(asked),
            total_size_bytes=sum(file.size_bytes for file in asked),
            coverage_report=shelf.index.coverage,
            truncated=info is not None,
            truncation_info=info,
        )

    return fit(with_files, len(shown), request.max_bytes, least=min(1, len(shown)))


def _nothing_under(under: str, files: Sequence[ManifestFile]) -> NotFound:
    """An empty list would read as if the bundle had been asked for something and held none of it."""
    tops = sorted({file.relative_path.partition("/")[0] for file in files})
    more = f" and {len(tops) - _TOPS} more" if len(tops) > _TOPS else ""
    return NotFound(
        f"no path of the bundle begins with {under!a}",
        hint=f"paths begin with {', '.join(tops[:_TOPS])}{more}" if tops else "the bundle holds no file",
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
    kinds = {FileKind.CONFIG: FileType.CONFIG, FileKind.BINARY: FileType.BINARY, FileKind.UNKNOWN: FileType.UNKNOWN}
    return kinds.get(role_of(path).kind, FileType.LOG)


@dataclass(frozen=True, kw_only=True)
class _Scanned:
    """Which files the index looked at. It lists only some of those it skipped; of others the kind of file tells."""

    skipped: Mapping[str, SkipReason]
    is_all: bool
    """Every file that was skipped is known to be: any other was scanned."""

    @classmethod
    def of(cls, files: Sequence[ManifestFile], coverage: Coverage, *, is_manifest: bool) -> "_Scanned":
        listed = {skip.file: skip.reason for skip in coverage.skipped_files}
        tells = any(file.recognised_by is not None for file in files)
        reasons = {file.relative_path: _reason(file, listed, tells_recognition=tells) for file in files}
        found = {path: reason for path, reason in reasons.items() if reason is not None}
        return cls(skipped=found, is_all=is_manifest and len({**found, **listed}) >= coverage.skipped_total)

    def look(self, path: str) -> bool | None:
        return False if path in self.skipped else (True if self.is_all else None)


def _reason(file: ManifestFile, listed: Mapping[str, SkipReason], *, tells_recognition: bool) -> SkipReason | None:
    found = listed.get(file.relative_path) or _NOT_SCANNED.get(file.file_type)
    if found is not None or file.status is not FileStatus.EXTRACTED:
        return found or SkipReason.UNREADABLE
    # A manifest that tells how files were recognised tells it of every log that was.
    is_unknown = tells_recognition and file.recognised_by is None and file.size_bytes > 0
    return SkipReason.NOT_RECOGNISED if is_unknown else None


def _listed(file: ManifestFile, judge: _Scanned) -> BundleFile:
    return BundleFile(
        path=file.relative_path,
        key=file.key,
        size_bytes=file.size_bytes,
        type=file.file_type,
        status=file.status,
        scanned=judge.look(file.relative_path),
        reason=file.reason,
        skip_reason=judge.skipped.get(file.relative_path),
    )
