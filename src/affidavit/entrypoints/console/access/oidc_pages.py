"""The two steps of a login by OpenID Connect: to the issuer, and back."""

import hmac
import secrets
from collections.abc import Callable
from datetime import timedelta
from http import HTTPStatus
from typing import Final

import anyio.to_thread
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from affidavit.entrypoints.console.access.login import logged_in
from affidavit.entrypoints.console.access.oidc import OidcLogin
from affidavit.entrypoints.console.access.same_origin import local_path
from affidavit.entrypoints.console.access.sessions import OneTime
from affidavit.entrypoints.console.guarded_page_requests import error_page, refuse_other_hosts, status_of
from affidavit.entrypoints.console.services import LOGIN_TIME, ConsoleServices
from affidavit.errors import AffidavitError

Step = Callable[[Request, ConsoleServices, OidcLogin], Response]
_SECONDS: Final = int(LOGIN_TIME / timedelta(seconds=1))


async def begin_page(request: Request, desk: ConsoleServices) -> Response:
    refuse_other_hosts(request, desk)
    return await _told(_begin, request, desk)


async def callback_page(request: Request, desk: ConsoleServices) -> Response:
    refuse_other_hosts(request, desk)
    return await _told(_finish, request, desk)


async def _told(step: Step, request: Request, desk: ConsoleServices) -> Response:
    if desk.oidc is None:
        raise HTTPException(HTTPStatus.NOT_FOUND)
    try:
        return await anyio.to_thread.run_sync(step, request, desk, desk.oidc)
    except AffidavitError as error:
        return error_page(status_of(error), str(error), error.hint)


def _begin(request: Request, desk: ConsoleServices, oidc: OidcLogin) -> Response:
    """The browser holds the state, so that nobody else can come back with it."""
    state, wanted = secrets.token_urlsafe(32), local_path(request.query_params.get("next", "/"))
    begun = oidc.begin(state)
    _pending(desk).keep(state, {"verifier": begun.verifier, "nonce": begun.nonce, "next": wanted})
    answer = RedirectResponse(begun.url, HTTPStatus.SEE_OTHER)
    is_secure = request.url.scheme == "https"
    answer.set_cookie(
        _cookie(request), state, max_age=_SECONDS, path="/", secure=is_secure, httponly=True, samesite="lax"
    )
    return answer


def _finish(request: Request, desk: ConsoleServices, oidc: OidcLogin) -> Response:
    state, code = request.query_params.get("state", ""), request.query_params.get("code", "")
    held = request.cookies.get(_cookie(request), "")
    if not state or not hmac.compare_digest(state.encode(), held.encode()):
        return error_page(HTTPStatus.FORBIDDEN, "this login was not begun in this browser", "log in again")
    note = _pending(desk).redeem(state)
    if note is None:
        return error_page(HTTPStatus.FORBIDDEN, "this login was used before, or took too long", "log in again")
    if not code:
        return error_page(HTTPStatus.FORBIDDEN, "the issuer did not let you in", "ask who manages its accounts")
    person = oidc.finish(code, verifier=str(note["verifier"]), nonce=str(note["nonce"]))
    if not person.roles:
        desk.actions.note(person.name, "was refused: no role")
        return error_page(
            HTTPStatus.FORBIDDEN,
            f"{person.name} has no role here",
            f"the claim {oidc.roles_claim} must list viewer, operator or approver",
        )
    answer = logged_in(request, desk, person, str(note["next"]))
    answer.delete_cookie(_cookie(request), path="/", secure=request.url.scheme == "https", httponly=True)
    return answer


def _pending(desk: ConsoleServices) -> OneTime:
    return OneTime(desk.session_table, desk.app.clock, use="login", lifetime=LOGIN_TIME)


def _cookie(request: Request) -> str:
    if request.url.scheme == "https":
        return "__Host-affidavit-login"
    return f"affidavit-login-{request.url.port or 80}"
