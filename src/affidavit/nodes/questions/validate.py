"""`validate`: compute the checksums of a bundle's files again and compare them with the manifest."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from affidavit.bundle.manifest import Manifest
from affidavit.errors import EvidenceUnavailable, NotFound
from affidavit.evidence.coverage import SkippedFile, SkipReason, cover
from affidavit.nodes.library.checksums import Compared, Standing, compare_files
from affidavit.nodes.library.indexed_bundles import IndexMarker, Library
from affidavit.nodes.wire.shared_fields import gaps_in_form
from affidavit.nodes.wire.validate import CheckedCoverage, CorruptedFile, ValidateAnswer, ValidateRequest
from affidavit.ports.table import Key
from affidavit.wire.byte_budget import fit, more_bytes
from affidavit.wire.records import TruncationInfo, again, cut

# Missing files named in coverage_report, where they are named beside the files that were skipped.
_MISSING = 20


def validate(library: Library, request: ValidateRequest) -> ValidateAnswer:
    marker = library.find(_instance(library, request), request.index_id)
    try:
        manifest = library.manifest(marker)
    except EvidenceUnavailable as error:
        return _unverified(marker, str(error))
    if manifest is None:
        return _unverified(marker, f"there is no {marker.manifest_key}: nothing tells which files there should be")
    compared = compare_files(manifest.expected_files, library.objects)
    answering = _Answering(request=request, marker=marker, manifest=manifest, compared=compared)
    most = len(answering.missing) + len(answering.corrupted)
    return fit(answering.with_files, most, request.max_bytes)


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
        coverage_report=_coverage(()),
    )


@dataclass(frozen=True, kw_only=True)
class _Answering:
    request: ValidateRequest
    marker: IndexMarker
    manifest: Manifest
    compared: Sequence[Compared]

    @property
    def missing(self) -> list[str]:
        return _missing(self.compared)

    @property
    def corrupted(self) -> list[CorruptedFile]:
        return [_corrupted(each) for each in self.compared if each.standing is Standing.CORRUPTED]

    def with_files(self, most: int) -> ValidateAnswer:
        """What changed comes before what is missing."""
        manifest, expected = self.manifest, self.manifest.expected_files
        verified = sum(each.standing is Standing.VERIFIED for each in self.compared)
        unchecked = [_gap(each) for each in self.compared if each.standing is Standing.UNCHECKED]
        gaps = [*manifest.problems, *unchecked]
        missing, corrupted = self.missing, self.corrupted
        info = self._cut(len(missing) + len(corrupted), most)
        return ValidateAnswer(
            instance_id=self.marker.instance_id,
            index_id=self.marker.index_id,
            manifest_version=manifest.version,
            complete=verified == len(expected) > 0 and not gaps,
            verified_files=verified,
            total_expected=len(expected),
            missing_files=missing[: max(0, most - len(corrupted))],
            corrupted_files=corrupted[:most],
            missing_total=len(missing),
            corrupted_total=len(corrupted),
            total_size_bytes=manifest.total_size_bytes,
            gaps=gaps_in_form(gaps),
            coverage_report=_coverage(self.compared),
            truncated=info is not None,
            truncation_info=info,
        )

    def _cut(self, total: int, returned: int) -> TruncationInfo | None:
        longer = again("validate", self.request, max_bytes=more_bytes(self.request.max_bytes))
        return cut(total, returned, "raise max_bytes; collecting the node again is what helps", longer)


def _coverage(compared: Sequence[Compared]) -> CheckedCoverage:
    """A file that is there and differs was read; one that is missing was not."""
    read = [each.actual_size for each in compared if each.standing in (Standing.VERIFIED, Standing.CORRUPTED)]
    skipped = [
        SkippedFile(file=each.file.relative_path, reason=SkipReason.UNREADABLE, size_bytes=each.file.size_bytes)
        for each in compared
        if each.standing in (Standing.MISSING, Standing.UNCHECKED)
    ]
    covered = asdict(cover(scanned_sizes=read, skipped=skipped))
    return CheckedCoverage.model_validate({**covered, "missing_files": _missing(compared)[:_MISSING]})


def _missing(compared: Sequence[Compared]) -> list[str]:
    return [each.file.relative_path for each in compared if each.standing is Standing.MISSING]


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
