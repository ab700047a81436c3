"""What a bundle held and nobody could read. It stands first in every report: findings speak of the rest alone."""

from collections.abc import Iterator

from affidavit.bundle.manifest import FileStatus, Manifest, ManifestFile
from affidavit.bundle.source import MemberKind
from affidavit.evidence.coverage import Coverage
from affidavit.index.assemble import REST_OF_ARCHIVE

# A link or a device has no content of its own: refusing it loses nothing.
_EMPTY = tuple(f"refused: it is a {kind.value}" for kind in (MemberKind.LINK, MemberKind.DEVICE))


def is_cut_off(coverage: Coverage) -> bool:
    """More may have been in the archive than anybody can count."""
    return any(skipped.file == REST_OF_ARCHIVE for skipped in coverage.lost_files)


def losses(manifest: Manifest, coverage: Coverage) -> list[str]:
    """Each once, troubles of the archive before those of a file."""
    members = [_reason(file) for file in manifest.expected_files if _is_lost(file)]
    own = (problem for problem in manifest.problems if problem not in members)
    return list(dict.fromkeys([*own, *members, *_lost_in_the_scan(manifest, coverage)]))


def loss_line(manifest: Manifest, coverage: Coverage) -> str:
    """Empty when everything was read."""
    lost = losses(manifest, coverage)
    if not lost:
        return ""
    more = f" (and {len(lost) - 1} more, under Gaps)" if len(lost) > 1 else ""
    return f"INCOMPLETE: {lost[0]}{more}. What it held is not in this report."


def _is_lost(file: ManifestFile) -> bool:
    return file.status is not FileStatus.EXTRACTED and not (file.reason or "").startswith(_EMPTY)


def _reason(file: ManifestFile) -> str:
    return f"{file.relative_path}: {file.reason}"


def _lost_in_the_scan(manifest: Manifest, coverage: Coverage) -> Iterator[str]:
    """Files that were unpacked and could not be read then. Coverage lists the worst, which is enough to say so."""
    unpacked = {file.relative_path for file in manifest.expected_files if file.status is FileStatus.EXTRACTED}
    yield from (f"{lost.file}: {lost.reason.value}" for lost in coverage.lost_files if lost.file in unpacked)
