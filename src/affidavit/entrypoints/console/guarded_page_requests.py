"""The one way to every page: host, session, role, origin, form token; then the page; then errors as pages."""

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import quote

import anyio.to_thread
from starlette.datastructures import FormData
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import Message, Receive

from affidavit.entrypoints.console.access.person import Person, PersonRole
from affidavit.entrypoints.console.access.same_origin import SAFE_METHODS, is_from_here, is_known_host
from affidavit.entrypoints.console.access.sessions import ConsoleSession
from affidavit.entrypoints.console.rendering import render
from affidavit.entrypoints.console.services import ConsoleServices
from affidavit.errors import (
    AffidavitError,
    Conflict,
    EvidenceUnavailable,
    InputRefused,
    InvariantBroken,
    NotFound,
    Throttled,
    UpstreamFailed,
)

FORM_BYTES: Final = 64 << 10
_LOG = logging.getLogger("affidavit.console")
_STATUSES: Final = (
    (Throttled, HTTPStatus.TOO_MANY_REQUESTS),
    (InputRefused, HTTPStatus.BAD_REQUEST),
    (NotFound, HTTPStatus.NOT_FOUND),
    (Conflict, HTTPStatus.CONFLICT),
    (EvidenceUnavailable, HTTPStatus.UNPROCESSABLE_ENTITY),
    (UpstreamFailed, HTTPStatus.BAD_GATEWAY),
    (InvariantBroken, HTTPStatus.INTERNAL_SERVER_ERROR),
)


class Section(StrEnum):
    """A part of the console; each is an entry of the navigation."""

    INCIDENTS = "incidents"
    NODES = "nodes"
    FLEET = "fleet"
    APPROVALS = "approvals"
    VERIFY = "verify"
    SETTINGS = "settings"


_NAVIGATION: Final = (
    (Section.INCIDENTS, "Incidents", "/"),
    (Section.NODES, "Nodes", "/nodes"),
    (Section.FLEET, "Fleet", "/fleet"),
    (Section.APPROVALS, "Approvals", "/approvals"),
    (Section.VERIFY, "Verify", "/verify"),
    (Section.SETTINGS, "Settings", "/settings"),
)


@dataclass(frozen=True, kw_only=True)
class Visit:
    """One request of a person who may make it."""

    request: Request
    desk: ConsoleServices
    session: ConsoleSession
    form: FormData

    @property
    def person(self) -> Person:
        return self.session.person

    @property
    def is_fragment(self) -> bool:
        """htmx asks for a part of a page."""
        return self.request.headers.get("hx-request") == "true"

    def named(self, name: str) -> str:
        """A part of the path."""
        return str(self.request.path_params[name])

    def asked(self, name: str) -> str:
        """A value of the address, empty when there is none."""
        return self.request.query_params.get(name, "")

    def field(self, name: str) -> str:
        """A field of the form, empty when there is none or it is a file."""
        value = self.form.get(name)
        return value if isinstance(value, str) else ""

    def page(self, template: str, *, title: str, section: Section, status: int = 200, **values: Any) -> Response:
        return HTMLResponse(render(template, {**self.around(title, section), **values}), status)

    def part(self, template: str, **values: Any) -> Response:
        return HTMLResponse(render(template, {"visit": self, "may": self.person.may, **values}))

    def around(self, title: str, section: Section) -> dict[str, Any]:
        return {
            "title": title,
            "section": section,
            "navigation": _NAVIGATION,
            "plans_waiting": self.desk.plans_waiting(),
            "visit": self,
            "may": self.person.may,
            "role": PersonRole,
            "now": self.desk.app.clock.now(),
            "place": _place(self.desk),
        }

    def note(self, what: str, of: str = "") -> None:
        self.desk.actions.note(self.person.name, what, of)


View = Callable[[Visit], Response]


@dataclass(frozen=True, kw_only=True)
class ConsolePage:
    """A row of the table of pages. `name` is for logs; unsafe methods need a role of their own."""

    path: str
    view: View
    methods: tuple[str, ...] = ("GET",)
    role: PersonRole = PersonRole.VIEWER
    most_bytes: int = FORM_BYTES


def answered(page: ConsolePage, desk: ConsoleServices) -> Callable[[Request], Awaitable[Response]]:
    """The page as an endpoint."""

    async def answer(request: Request) -> Response:
        try:
            return await _visited(page, desk, request)
        except AffidavitError as error:
            return error_page(status_of(error), str(error), error.hint)
        except HTTPException as error:
            return error_page(HTTPStatus(error.status_code), error.detail)
        except Exception:  # noqa: BLE001 - a fault of ours is a page, too; the log has it
            _LOG.exception("%s %s failed", request.method, page.path)
            return error_page(
                HTTPStatus.INTERNAL_SERVER_ERROR,
                "the console failed to show this page",
                "this is a fault of Affidavit's own; its server's log has the details",
            )

    return answer


async def _visited(page: ConsolePage, desk: ConsoleServices, request: Request) -> Response:
    refuse_other_hosts(request, desk)
    session = await anyio.to_thread.run_sync(desk.sessions.find, session_id_of(request))
    if session is None:
        return _to_login(request)
    if not session.person.may(page.role):
        raise HTTPException(HTTPStatus.FORBIDDEN, f"this needs the role {page.role}")
    is_unsafe = request.method not in SAFE_METHODS
    if is_unsafe and not is_from_here(request):
        raise HTTPException(HTTPStatus.FORBIDDEN, "this request came from another site")
    form = await bounded(request, page.most_bytes).form(max_files=1, max_fields=40) if is_unsafe else FormData()
    try:
        token = form.get("token")
        if is_unsafe and not (isinstance(token, str) and session.has_token(token)):
            raise HTTPException(HTTPStatus.FORBIDDEN, "the form is not one of this session; load the page again")
        visit = Visit(request=request, desk=desk, session=session, form=form)
        return await anyio.to_thread.run_sync(page.view, visit)
    finally:
        await form.close()


def refuse_other_hosts(request: Request, desk: ConsoleServices) -> None:
    if not is_known_host(request, desk.hosts):
        raise HTTPException(HTTPStatus.MISDIRECTED_REQUEST, "this server does not answer to that name")


def bounded(request: Request, most: int) -> Request:
    """The request with a body that ends in a refusal once it is longer than `most`; nothing is held in memory."""
    declared = request.headers.get("content-length", "")
    if declared.isdigit() and int(declared) > most:
        raise HTTPException(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"more than {most} bytes cannot be sent here")
    return Request(request.scope, _counted(request.receive, most))


def _counted(receive: Receive, most: int) -> Receive:
    seen = 0

    async def counted() -> Message:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        if seen > most:
            raise HTTPException(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"more than {most} bytes cannot be sent here")
        return message

    return counted


def status_of(error: AffidavitError) -> HTTPStatus:
    return next((status for kind, status in _STATUSES if isinstance(error, kind)), HTTPStatus.INTERNAL_SERVER_ERROR)


def error_page(status: HTTPStatus, message: str, hint: str = "") -> Response:
    values: Mapping[str, Any] = {"status": status, "message": message, "hint": hint, "title": status.phrase}
    return HTMLResponse(render("error.html", values), status)


def cookie_name(request: Request) -> str:
    """Browsers keep a `__Host-` cookie to this host alone and send it only encrypted. On a laptop there is no
    encryption, and ports share cookies, so the port is part of the name."""
    if request.url.scheme == "https":
        return "__Host-affidavit"
    return f"affidavit-{request.url.port or 80}"


def session_id_of(request: Request) -> str:
    return request.cookies.get(cookie_name(request), "")


def _to_login(request: Request) -> Response:
    if request.headers.get("hx-request") == "true":
        return Response(status_code=HTTPStatus.UNAUTHORIZED, headers={"HX-Refresh": "true"})
    if request.method not in SAFE_METHODS:
        raise HTTPException(HTTPStatus.UNAUTHORIZED, "you are not logged in")
    query = f"?{request.url.query}" if request.url.query else ""
    return RedirectResponse(f"/login?next={quote(f'{request.url.path}{query}')}", HTTPStatus.SEE_OTHER)


def _place(desk: ConsoleServices) -> str:
    settings = desk.app.settings
    return (
        f"local store {settings.data_dir.name}" if settings.is_local else f"{settings.logs_bucket} · {settings.region}"
    )
