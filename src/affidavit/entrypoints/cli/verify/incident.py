"""`affidavit verify INCIDENT`: prove a stored diagnosis again, with no chat model and no cloud."""

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from affidavit.bootstrap import build_app
from affidavit.entrypoints.cli.exit_codes import Exit
from affidavit.entrypoints.report.terminal_escapes_and_colours import make_console, text
from affidavit.entrypoints.reverification_wiring import rereading
from affidavit.errors import InputRefused
from affidavit.evidence.diagnosis import Grade
from affidavit.incidents.incident import IncidentId
from affidavit.settings import Settings
from affidavit.verification.assess import Assessment


def run_verify_incident(name: str, *, no_color: bool, is_quiet: bool) -> Exit:
    if Path(name).exists():
        raise InputRefused(f"{name} is a file, and its bundle is missing", hint="affidavit verify INDEX BUNDLE")
    app = build_app(Settings.from_environment())
    incident_id = IncidentId(name)
    proven = rereading(app).prove(incident_id)
    if not proven.is_as_recorded:
        changed = f"BROKEN The stored diagnosis of {name} is not the one that was recorded: it was changed since."
        make_console(no_color=no_color).print(text(changed, "bold red"))
        return Exit.FOUND
    return _present(proven.found, name, no_color=no_color, is_quiet=is_quiet, opened=proven.was_open)


def _present(found: Assessment, name: str, *, no_color: bool, is_quiet: bool, opened: tuple[str, ...]) -> Exit:
    console, verdict = make_console(no_color=no_color), found.verdict
    for one in verdict.pointers:
        if one.holds and is_quiet:
            continue
        mark = text("holds ", "green") if one.holds else text("BROKEN", "bold red")
        place = f" [{one.index}] {one.pointer.tool} {one.pointer.field}  {one.entry_id or ''}"
        console.print(mark, text(place), sep="")
        for problem in one.problems:
            console.print(text(f"         {problem}", "red"))
    for problem in verdict.problems:
        console.print(text(f"BROKEN {problem}", "bold red"))
    if not verdict.holds:
        console.print(text(f"The diagnosis of {name} does not hold.", "bold red"))
    elif not is_quiet:
        console.print(f"All {len(verdict.pointers)} pieces of evidence of {name} hold, as recorded.")
        _present_grade((*found.open_obligations, *opened), console)
    return Exit.DONE if verdict.holds else Exit.FOUND


def _present_grade(opened: Sequence[str], console: Console) -> None:
    """Prints the grade by today's obligations, and what was open when the diagnosis was stored."""
    console.print(text(f"The conclusion is {Grade.SUPPORTED if opened else Grade.PROVEN}."))
    for one in dict.fromkeys(opened):
        console.print(text(f"  open: {one}"))
