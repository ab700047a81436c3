"""Logging in and out. Every login makes a new session; whatever session the browser had before ends."""

import getpass
from http import HTTPStatus

import anyio.to_thread
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from affidavit.entrypoints.console.access.person import Person, PersonRole
from affidavit.entrypoints.console.access.same_origin import local_path
from affidavit.entrypoints.console.access.sessions import LIFETIME
from affidavit.entrypoints.console.guarded_page_requests import (
    ConsolePage,
    Visit,
    cookie_name,
    error_page,
    refuse_other_hosts,
    session_id_of,
)
from affidavit.entrypoints.console.rendering import render
from affidavit.entrypoints.console.services import ConsoleServices


def laptop_link(desk: ConsoleServices, base: str) -> str:
    """An address that logs in whoever opens it first, within ten minutes."""
    return f"{base}/login?token={desk.laptop_links.issue({'name': getpass.getuser()})}"


async def login_page(request: Request, desk: ConsoleServices) -> Response:
    refuse_other_hosts(request, desk)
    token = request.query_params.get("token", "")
    wanted = local_path(request.query_params.get("next", "/"))
    if not token or not desk.takes_links:
        values = {"title": "Log in", "next": wanted, "has_oidc": desk.oidc is not None}
        return HTMLResponse(render("login.html", values))
    note = await anyio.to_thread.run_sync(desk.laptop_links.redeem, token)
    if note is None:
        return error_page(
            HTTPStatus.FORBIDDEN,
            "this link was used before, or is too old",
            "a link works once; start `affidavit console` again for a new one",
        )
    person = Person(name=str(note["name"]), roles=frozenset(PersonRole))
    return await anyio.to_thread.run_sync(logged_in, request, desk, person, wanted)


def logged_in(request: Request, desk: ConsoleServices, person: Person, wanted: str) -> Response:
    """Goes to `wanted`, a path of this console, with a session of the person."""
    if session_id_of(request):
        desk.sessions.end(session_id_of(request))
    session_id = desk.sessions.start(person)
    desk.actions.note(person.name, "logged in")
    answer = RedirectResponse(local_path(wanted), HTTPStatus.SEE_OTHER)
    answer.set_cookie(
        cookie_name(request),
        session_id,
        max_age=int(LIFETIME.total_seconds()),
        path="/",
        secure=request.url.scheme == "https",
        httponly=True,
        samesite="lax",
    )
    return answer


def _log_out(visit: Visit) -> Response:
    visit.desk.sessions.end(session_id_of(visit.request))
    visit.note("logged out")
    answer = RedirectResponse("/login", HTTPStatus.SEE_OTHER)
    answer.delete_cookie(
        cookie_name(visit.request), path="/", secure=visit.request.url.scheme == "https", httponly=True
    )
    return answer


LOGOUT = ConsolePage(path="/logout", view=_log_out, methods=("POST",))
