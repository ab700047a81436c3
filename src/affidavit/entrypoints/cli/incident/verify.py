"""`affidavit verify INCIDENT`: prove a stored diagnosis again, with no chat model and no cloud."""

from pathlib import Path

from affidavit.bootstrap import build_app
from affidavit.entrypoints.cli.exits import Exit
from affidavit.entrypoints.report.screen import make_console, text
from affidavit.entrypoints.supervision import NodeLines
from affidavit.errors import EvidenceUnavailable, InputRefused
from affidavit.incidents.context import IncidentContexts
from affidavit.incidents.incident import IncidentId
from affidavit.incidents.records import Records
from affidavit.incidents.state import not_known
from affidavit.incidents.states import IncidentStates
from affidavit.settings import Settings
from affidavit.verification.verify import Verdict, verify


def run_verify_incident(name: str, *, no_color: bool, is_quiet: bool) -> Exit:
    if Path(name).exists():
        raise InputRefused(f"{name} is a file, and its bundle is missing", hint="affidavit verify INDEX BUNDLE")
    app = build_app(Settings.from_environment())
    records = Records(app.objects)
    contexts = IncidentContexts(
        app.incident_context, records, app.clock, max_tokens=app.settings.max_tokens_per_incident
    )
    context = contexts.get_context(IncidentId(name))
    if context is None and IncidentStates(app.incident_state, app.clock).get_state(IncidentId(name)) is None:
        raise not_known(IncidentId(name))
    if context is None or context.diagnosis is None:
        raise EvidenceUnavailable(
            f"incident {name} has no diagnosis to verify", hint=f"`affidavit incident show {name}` says why"
        )
    verdict = verify(context.diagnosis, records.entries(context.ledger), NodeLines(app.objects))
    return _present(verdict, name, no_color=no_color, is_quiet=is_quiet)


def _present(verdict: Verdict, name: str, *, no_color: bool, is_quiet: bool) -> Exit:
    console = make_console(no_color=no_color)
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
    return Exit.DONE if verdict.holds else Exit.FOUND
