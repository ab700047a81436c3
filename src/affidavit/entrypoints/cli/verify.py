"""`affidavit verify`."""

from pathlib import Path

from affidavit.bundle.workspace import workspace
from affidavit.entrypoints.cli.exits import Exit
from affidavit.entrypoints.cli.progress import progress_line
from affidavit.entrypoints.report.screen import make_console, text
from affidavit.errors import InputRefused
from affidavit.evidence.finding import Finding
from affidavit.index.record import index_from_json
from affidavit.investigation import VerifiedFinding, verify


def run_verify(index_path: Path, bundle: str, *, no_color: bool, is_quiet: bool) -> Exit:
    try:
        index = index_from_json(index_path.read_bytes(), name=str(index_path))
    except OSError as error:
        raise InputRefused(
            f"{index_path} cannot be read: {error.strerror}",
            hint="give it the findings_index.json that --out wrote",
        ) from error
    if bundle == "-":
        raise InputRefused("verify reads a bundle from disk", hint="give the path of the archive or directory")
    with workspace() as folder, progress_line(Path(bundle), is_quiet=is_quiet) as progress:
        verified = verify(index, Path(bundle), workspace=folder, progress=progress)
    return _present(verified, index.index_id, no_color=no_color, is_quiet=is_quiet)


def _present(verified: list[VerifiedFinding], index_id: str, *, no_color: bool, is_quiet: bool) -> Exit:
    console = make_console(no_color=no_color)
    broken = [entry for entry in verified if not entry.check.holds]
    for entry in broken if is_quiet else verified:
        evidence = entry.finding.evidence
        line = evidence.line_range.start if evidence.line_range is not None else "?"
        mark = text("holds ", "green") if entry.check.holds else text("BROKEN", "bold red")
        console.print(mark, text(f" {_label(entry)}  {evidence.source_file}:{line}"), sep="")
        for problem in entry.check.problems:
            console.print(text(f"         {problem}", "red"))
    if not verified:
        console.print(f"{index_id} has no findings: there is nothing to verify, which is not the same as healthy.")
    elif broken:
        console.print(text(f"{len(broken)} of {len(verified)} pieces of evidence do not hold.", "bold red"))
    elif not is_quiet:
        console.print(f"All {len(verified)} pieces of evidence of {index_id} hold, byte for byte.")
    return Exit.FOUND if broken else Exit.DONE


def _label(entry: VerifiedFinding) -> str:
    finding = entry.finding
    return (
        f"{finding.finding_id} {finding.pattern}" if isinstance(finding, Finding) else f"suppressed {finding.pattern}"
    )
