"""Making, revoking and showing links to one incident."""

from http import HTTPStatus

import anyio.to_thread
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from affidavit.entrypoints.console.guarded_page_requests import Section, Visit, error_page, refuse_other_hosts
from affidavit.entrypoints.console.rendering import render
from affidavit.entrypoints.console.services import ConsoleServices
from affidavit.errors import AffidavitError, NotFound
from affidavit.incidents.incident import IncidentId
from affidavit.incidents.reading.incident_view import hidden_view, view_of
from affidavit.redaction.redact import Redactor


def make_share(visit: Visit) -> Response:
    incident_id = visit.desk.incident(visit.named("id")).state.incident_id
    token = visit.desk.shares.make(incident_id, visit.person.name, visit.field("span"))
    visit.note("shared", f"{incident_id} for {visit.field('span')}")
    link = f"{visit.request.url.scheme}://{visit.request.headers['host']}/s/{token}"
    return visit.page(
        "shared_link.html",
        title="Link made",
        section=Section.INCIDENTS,
        link=link,
        incident_id=incident_id,
        span=visit.field("span"),
    )


def revoke_share(visit: Visit) -> Response:
    incident_id = IncidentId(visit.named("id"))
    if not visit.desk.shares.revoke(incident_id, visit.field("handle")):
        raise NotFound("there is no such link of this incident", hint="it may have ended by itself")
    visit.note("revoked a link", incident_id)
    return RedirectResponse(f"/incidents/{incident_id}#shares", HTTPStatus.SEE_OTHER)


async def shared_page(request: Request, desk: ConsoleServices) -> Response:
    """Without a session. What ended, was revoked or never was looks the same."""
    refuse_other_hosts(request, desk)
    return await anyio.to_thread.run_sync(_shared, str(request.path_params["token"]), desk)


def _shared(token: str, desk: ConsoleServices) -> Response:
    share = desk.shares.find(token)
    try:
        found = desk.incident(share.incident_id) if share is not None else None
    except AffidavitError:
        found = None
    if share is None or found is None:
        return error_page(HTTPStatus.NOT_FOUND, "this link shows nothing", "it has ended, was revoked, or is mistyped")
    desk.actions.note(f"link of {share.by}", "was opened", share.incident_id)
    view = hidden_view(view_of(found.state, found.context), _without_people)
    values = {
        "title": view.about,
        "view": view,
        "shown": view.conclusion or view.rules_prove,
        "reread": found.reread,
        "share": share,
        "now": desk.app.clock.now(),
        "hide": _without_people,
    }
    return HTMLResponse(render("shared.html", values))


def _without_people(text: str) -> str:
    return Redactor(hides_personal=True).known(text).text
