"""`validate`: compute the checksums of a bundle's files again and compare them with the manifest."""

from collections.abc import Sequence

from affidavit.bundle.manifest import Manifest
from affidavit.errors import EvidenceUnavailable, NotFound
from affidavit.evidence.coverage import SkippedFile, SkipReason, cover
from affidavit.nodes.answers.validate import CorruptedFile, ValidateAnswer, ValidateRequest
from affidavit.nodes.answers.wire import CoverageReport, cut
from affidavit.nodes.checksums import Compared, Standing, compare_files
from affidavit.nodes.library import IndexMarker, Library
from affidavit.ports import Key

LISTED = 500


def validate(library: Library, request: ValidateRequest) -> ValidateAnswer:
    marker = library.find(_instance(library, request), request.index_id)
    try:
        manifest = library.manifest(marker)
    except EvidenceUnavailable as error:
        return _unverified(marker, str(error))
    if manifest is None:
        return _unverified(marker, f"there is no {marker.manifest_key}: nothing tells which files there should be")
    return _verified(marker, manifest, compare_files(manifest.expected_files, library.objects))


def _instance(library: Library, request: ValidateRequest) -> str:
    if request.instance_id is not None:
        return request.instance_id
    item = library.state.get(Key(pk=f"EXEC#{request.execution_id}", sk="REGION"))
    if item is None or not item.get("instance_id"):
        raise NotFound(
            f"execution {request.execution_id!a} is not known, or was made more than 48 hours ago",
            hint="give instanceId instead; history lists what is known",
        )
    return str(item["instance_id"])


def _unverified(marker: IndexMarker, gap: str) -> ValidateAnswer:
    return ValidateAnswer(
        instance_id=marker.instance_id,
        index_id=marker.index_id,
        manifest_version=None,
        complete=False,
        verified_files=0,
        total_expected=0,
        missing_files=[],
        corrupted_files=[],
        missing_total=0,
        corrupted_total=0,
        total_size_bytes=0,
        gaps=[gap],
        coverage_report=CoverageReport.of(cover(scanned_sizes=(), skipped=())),
    )


def _verified(marker: IndexMarker, manifest: Manifest, compared: Sequence[Compared]) -> ValidateAnswer:
    missing = [_missing(each) for each in compared if each.standing is Standing.MISSING]
    corrupted = [_corrupted(each) for each in compared if each.standing is Standing.CORRUPTED]
    verified = [each for each in compared if each.standing is Standing.VERIFIED]
    gaps = [*manifest.problems, *(_gap(each) for each in compared if each.standing is Standing.UNCHECKED)]
    info = cut(
        len(missing) + len(corrupted),
        len(missing[:LISTED]) + len(corrupted[:LISTED]),
        "call list_bundle_files for the state of every file; collecting the node again is what helps",
    )
    return ValidateAnswer(
        instance_id=marker.instance_id,
        index_id=marker.index_id,
        manifest_version=manifest.version,
        complete=len(verified) == len(manifest.expected_files) > 0 and not gaps,
        verified_files=len(verified),
        total_expected=len(manifest.expected_files),
        missing_files=missing[:LISTED],
        corrupted_files=corrupted[:LISTED],
        missing_total=len(missing),
        corrupted_total=len(corrupted),
        total_size_bytes=manifest.total_size_bytes,
        gaps=gaps,
        coverage_report=_coverage(compared),
        truncated=info is not None,
        truncation_info=info,
    )


def _coverage(compared: Sequence[Compared]) -> CoverageReport:
    """A file that is there and differs was read; one that is missing was not."""
    read = [each.actual_size for each in compared if each.standing in (Standing.VERIFIED, Standing.CORRUPTED)]
    skipped = [
        SkippedFile(file=each.file.relative_path, reason=SkipReason.UNREADABLE, size_bytes=each.file.size_bytes)
        for each in compared
        if each.standing in (Standing.MISSING, Standing.UNCHECKED)
    ]
    return CoverageReport.of(cover(scanned_sizes=read, skipped=skipped))


def _missing(each: Compared) -> str:
    return each.file.relative_path


def _corrupted(each: Compared) -> CorruptedFile:
    return CorruptedFile(
        file=each.file.relative_path,
        expected_size=each.file.size_bytes,
        actual_size=each.actual_size,
        expected_md5=each.file.md5,
        actual_md5=each.actual_md5,
    )


def _gap(each: Compared) -> str:
    return f"{each.file.relative_path}: the manifest has no checksum of it"
