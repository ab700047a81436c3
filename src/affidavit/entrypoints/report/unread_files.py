"""Lists what a bundle held and could not be read. Every report starts with it, because findings cover only the rest."""

from collections.abc import Iterator

from affidavit.bundle.manifest import FileStatus, FileType, Manifest, ManifestFile
from affidavit.bundle.sources.source import LEADS_OUT, MemberKind
from affidavit.evidence.coverage import Coverage
from affidavit.index.assemble import REST_OF_ARCHIVE

# A link or a device has no content of its own: refusing it loses nothing, unless it names a log that lies elsewhere.
_EMPTY = tuple(f"refused: it is a {kind.value}" for kind in (MemberKind.LINK, MemberKind.DEVICE))


def is_cut_off(coverage: Coverage) -> bool:
    """Whether the end of the archive is missing, so that nobody knows what else it held."""
    return any(skipped.file == REST_OF_ARCHIVE for skipped in coverage.lost_files)


def losses(manifest: Manifest, coverage: Coverage) -> list[str]:
    """Each loss once: those of the archive, then those of single files."""
    members = [_reason(file) for file in manifest.expected_files if _is_lost(file)]
    own = (problem for problem in manifest.problems if problem not in members)
    return list(dict.fromkeys([*own, *members, *_lost_in_the_scan(manifest, coverage)]))


def loss_line(manifest: Manifest, coverage: Coverage) -> str:
    """The first line of a report; empty when everything was read."""
    lost = losses(manifest, coverage)
    if not lost:
        return ""
    more = f" (and {len(lost) - 1} more, under Gaps)" if len(lost) > 1 else ""
    return f"INCOMPLETE: {lost[0]}{more}. What it held is not in this report."


def _is_lost(file: ManifestFile) -> bool:
    reason = file.reason or ""
    is_empty = reason.startswith(_EMPTY) and not (file.file_type is FileType.LOG and reason.endswith(f"({LEADS_OUT})"))
    return file.status is not FileStatus.EXTRACTED and not is_empty


def _reason(file: ManifestFile) -> str:
    return f"{file.relative_path}: {file.reason}"


def _lost_in_the_scan(manifest: Manifest, coverage: Coverage) -> Iterator[str]:
    """Files that were unpacked but could not be scanned. Coverage lists only the worst, which is enough here."""
    unpacked = {file.relative_path for file in manifest.expected_files if file.status is FileStatus.EXTRACTED}
    yield from (f"{lost.file}: {lost.reason.value}" for lost in coverage.lost_files if lost.file in unpacked)
