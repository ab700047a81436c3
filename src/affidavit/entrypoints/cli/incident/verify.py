"""`affidavit verify INCIDENT`: prove a stored diagnosis again, with no chat model and no cloud."""

from pathlib import Path

from rich.console import Console

from affidavit.bootstrap import build_app
from affidavit.entrypoints.cli.exits import Exit
from affidavit.entrypoints.report.screen import make_console, text
from affidavit.entrypoints.supervision import NodeLines
from affidavit.errors import EvidenceUnavailable, InputRefused
from affidavit.evidence.diagnosis import Diagnosis, Grade
from affidavit.incidents.attempt.about_incident import about_incident
from affidavit.incidents.incident import IncidentId
from affidavit.incidents.store.blobs import Records
from affidavit.incidents.store.context import IncidentContexts
from affidavit.incidents.store.incident_leases import IncidentStates
from affidavit.incidents.store.state import not_known
from affidavit.settings import Settings
from affidavit.verification.assess import Assessment, assess


def run_verify_incident(name: str, *, no_color: bool, is_quiet: bool) -> Exit:
    if Path(name).exists():
        raise InputRefused(f"{name} is a file, and its bundle is missing", hint="affidavit verify INDEX BUNDLE")
    app = build_app(Settings.from_environment())
    records = Records(app.objects)
    contexts = IncidentContexts(
        app.incident_context, records, app.clock, max_tokens=app.settings.max_tokens_per_incident
    )
    context = contexts.get_context(IncidentId(name))
    state = IncidentStates(app.incident_state, app.clock).get_state(IncidentId(name))
    if context is None and state is None:
        raise not_known(IncidentId(name))
    if context is None or context.diagnosis is None:
        raise EvidenceUnavailable(
            f"incident {name} has no diagnosis to verify", hint=f"`affidavit incident show {name}` says why"
        )
    about = about_incident(state.incident) if state is not None else None
    found = assess(context.diagnosis, records.entries(context.ledger), NodeLines(app.objects), about)
    if not records.is_as_recorded(IncidentId(name), context.diagnosis):
        changed = f"BROKEN The stored diagnosis of {name} is not the one that was recorded: it was changed since."
        make_console(no_color=no_color).print(text(changed, "bold red"))
        return Exit.FOUND
    return _present(found, context.diagnosis, name, no_color=no_color, is_quiet=is_quiet)


def _present(found: Assessment, diagnosis: Diagnosis, name: str, *, no_color: bool, is_quiet: bool) -> Exit:
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
        _present_grade(found, diagnosis, console)
    return Exit.DONE if verdict.holds else Exit.FOUND


def _present_grade(found: Assessment, diagnosis: Diagnosis, console: Console) -> None:
    """Prints the grade by today's obligations, and what was open when the diagnosis was stored."""
    opened = tuple(dict.fromkeys((*found.open_obligations, *diagnosis.open_obligations)))
    console.print(text(f"The conclusion is {Grade.SUPPORTED if opened else Grade.PROVEN}."))
    for one in opened:
        console.print(text(f"  open: {one}"))
