"""`/incidents/{id}`: answer, evidence, plan, what is not known, journal, record. And the two things to do there."""

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from http import HTTPStatus
from typing import Any
from urllib.parse import quote

from starlette.responses import RedirectResponse, Response

from affidavit.entrypoints.console.guarded_page_requests import Section, Visit
from affidavit.entrypoints.console.live_updates import address_of, is_awaited
from affidavit.entrypoints.console.plans.pages import open_plan
from affidavit.entrypoints.console.services import ReadIncident
from affidavit.errors import AffidavitError, Conflict
from affidavit.evidence.incident_subject import SubjectKind
from affidavit.incidents.incident import IncidentId
from affidavit.incidents.reading.incident_view import ClaimView, hidden_view, view_of
from affidavit.incidents.reading.investigation_journal import JournalStep, journal
from affidavit.incidents.store.state import Status
from affidavit.ports.json import JsonValue
from affidavit.settings import Switch

_MINUTES = timedelta(minutes=5)
_LINES = ("/excerpt", "/message")


def show_incident(visit: Visit) -> Response:
    found = visit.desk.incident(visit.named("id"))
    view = hidden_view(view_of(found.state, found.context), visit.desk.hide)
    steps = steps_of(visit, found)
    return visit.page(
        "incident.html",
        title=view.about,
        section=Section.INCIDENTS,
        view=view,
        shown=view.conclusion or view.rules_prove,
        first_proof=_first_proof(view.conclusion.claims) if view.conclusion is not None else None,
        reread=found.reread,
        steps=steps,
        alternatives=_alternatives(visit, found),
        shares=visit.desk.shares.of(found.state.incident_id),
        live=live_part(visit, found, steps) if is_followed(visit, found) else None,
        plan_row=open_plan(visit, found.state.plan_id),
        is_repairable=found.state.status is Status.DIAGNOSED and visit.desk.app.settings.remediation is Switch.ON,
        can_propose=visit.desk.lent is not None,
        may_redrive=not found.state.status.has_diagnosis and not found.state.is_leased(visit.desk.app.clock.now()),
    )


def _first_proof(claims: Sequence[ClaimView]) -> ClaimView | None:
    """A log line where there is one: a verdict's own words say less to somebody who wants to see for themselves."""
    return next((claim for claim in claims if claim.field.endswith(_LINES)), claims[0] if claims else None)


def steps_of(visit: Visit, found: ReadIncident, *, after: int = 0) -> list[JournalStep]:
    return journal(found.ledger, visit.desk.rereading.records, visit.desk.app.objects, after=after)


@dataclass(frozen=True, kw_only=True, slots=True)
class LivePart:
    """What grows on the page. `status` is None before a run that was asked for has begun; `address` tells more."""

    address: str
    status: Status | None
    number: int
    tool: str
    tokens: int
    updated_at: datetime


def is_followed(visit: Visit, found: ReadIncident) -> bool:
    """It is in work, or was asked to run again and has not begun."""
    return found.state.status.is_open or since_of(visit, found) is not None


def since_of(visit: Visit, found: ReadIncident) -> int | None:
    return found.state.epoch if is_awaited(visit, found.state.epoch) else None


def live_part(visit: Visit, found: ReadIncident, steps: Sequence[JournalStep], *, after: int = 0) -> LivePart:
    """`steps` are those behind `after`."""
    number = after + len(steps)
    newest = steps or steps_of(visit, found, after=max(0, number - 1))
    return LivePart(
        address=address_of(f"/incidents/{quote(found.state.incident_id)}/progress", number, since_of(visit, found)),
        status=found.state.status if found.state.status.is_open else None,
        number=number,
        tool=newest[-1].tool if newest else "",
        tokens=found.state.spent.total_tokens,
        updated_at=found.state.updated_at,
    )


def verify_now(visit: Visit) -> Response:
    incident_id = IncidentId(visit.named("id"))
    visit.desk.incident(incident_id)
    reread = visit.desk.rereading.reread(incident_id)
    visit.desk.rereads.keep(incident_id, reread)
    visit.note("verified", f"{incident_id}: {reread.held} of {reread.total} hold")
    back = visit.field("back")
    place = f"/evidence/{back}" if back.isdigit() else ""
    return RedirectResponse(f"/incidents/{incident_id}{place}#reread", HTTPStatus.SEE_OTHER)


def redrive(visit: Visit) -> Response:
    """Where the server lives on, the attempt runs here; elsewhere the watchdog takes the incident up."""
    incident_id = IncidentId(visit.named("id"))
    found = visit.desk.incident(incident_id)
    if found.state.status.has_diagnosis or found.state.is_leased(visit.desk.app.clock.now()):
        raise Conflict(
            f"incident {incident_id} is {found.state.status}",
            hint="one that has a diagnosis is kept; a running one ends or falls free by itself",
        )
    visit.note("ran again", incident_id)
    if visit.desk.is_long_lived:
        threading.Thread(target=_run_again, args=(visit, incident_id), daemon=True).start()
    else:
        visit.desk.rereading.states.reopen(found.state, deadline=visit.desk.app.clock.now())
    return RedirectResponse(f"/incidents/{incident_id}?since={found.state.epoch}", HTTPStatus.SEE_OTHER)


def _run_again(visit: Visit, incident_id: IncidentId) -> None:
    from affidavit.entrypoints.supervisor_wiring import build_supervisor
    from affidavit.incidents.telemetry import to_nowhere

    try:
        build_supervisor(visit.desk.app, emit=to_nowhere).redrive(incident_id, remaining=_MINUTES)
    except AffidavitError as error:
        visit.note("could not run again", f"{incident_id}: {error}")


def _alternatives(visit: Visit, found: ReadIncident) -> list[dict[str, str]]:
    """Of a node: what its verdict held less likely, or could not explain."""
    if found.state.incident.subject.kind is not SubjectKind.NODE:
        return []
    told = [
        entry
        for answer in _answers(visit, found)
        if isinstance(verdict := answer.get("verdict"), Mapping)
        for entry in _unexplained(verdict)
    ]
    return list({one["what"]: one for one in told}.values())


def _answers(visit: Visit, found: ReadIncident) -> list[Mapping[str, JsonValue]]:
    try:
        entries = visit.desk.rereading.records.entries(found.ledger)
    except AffidavitError:
        return []
    return [entry.answer for entry in entries if isinstance(entry.answer, Mapping)]


def _unexplained(verdict: Mapping[str, Any]) -> list[dict[str, str]]:
    listed = verdict.get("unexplained")
    if not isinstance(listed, Sequence):
        return []
    rows = [one for one in listed if isinstance(one, Mapping)]  # pyright: ignore[reportUnknownVariableType] any JSON
    return [
        {"what": str(one.get("what", "")), "could_be": ", ".join(map(str, one.get("could_be") or ()))}  # pyright: ignore[reportUnknownArgumentType, reportUnknownMemberType] any JSON
        for one in rows  # pyright: ignore[reportUnknownVariableType] any JSON
    ]
