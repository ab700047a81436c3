"""The console as an ASGI application, to be served alone or mounted beside `/mcp`."""

from collections.abc import Awaitable, Callable, Sequence
from http import HTTPStatus
from typing import Final

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Mount, Route

from affidavit import __version__
from affidavit.entrypoints.console.access.login import login_page
from affidavit.entrypoints.console.access.oidc import CALLBACK
from affidavit.entrypoints.console.access.oidc_pages import begin_page, callback_page
from affidavit.entrypoints.console.access.security_headers import SafeHeaders
from affidavit.entrypoints.console.guarded_page_requests import answered, error_page
from affidavit.entrypoints.console.pages.share import shared_page
from affidavit.entrypoints.console.rendering import static_files
from affidavit.entrypoints.console.routes import pages
from affidavit.entrypoints.console.services import ConsoleServices

_A_YEAR: Final = "public, max-age=31536000, immutable"


def console_app(desk: ConsoleServices, *, hooks: Sequence[BaseRoute] = ()) -> Starlette:
    """`hooks` are routes under `/hooks` that machines call: they bring their own authentication, and no session."""
    app = Starlette(
        routes=[
            Route("/health", _health),
            Route("/static/{name}", _static),
            Route("/login", _with(login_page, desk)),
            Route("/login/start", _with(begin_page, desk)),
            Route(CALLBACK, _with(callback_page, desk)),
            Route("/s/{token}", _with(shared_page, desk)),
            *(Route(page.path, answered(page, desk), methods=list(page.methods)) for page in pages(desk.app.settings)),
            *([Mount("/hooks", routes=list(hooks))] if hooks else []),
        ],
        middleware=[Middleware(SafeHeaders)],
        exception_handlers={HTTPException: _refused},
    )
    # It would send a browser to whatever name the request's Host has.
    app.router.redirect_slashes = False
    return app


def _with(
    view: Callable[[Request, ConsoleServices], Awaitable[Response]], desk: ConsoleServices
) -> Callable[[Request], Awaitable[Response]]:
    async def answer(request: Request) -> Response:
        return await view(request, desk)

    return answer


async def _health(_request: Request) -> Response:
    return JSONResponse({"status": "ok", "version": __version__})


async def _static(request: Request) -> Response:
    found = static_files().get(request.path_params["name"])
    if found is None:
        raise HTTPException(HTTPStatus.NOT_FOUND)
    kept = _A_YEAR if request.query_params.get("v") == found.digest else "no-cache"
    return Response(found.content, media_type=found.media_type, headers={"Cache-Control": kept})


async def _refused(_request: Request, error: Exception) -> Response:
    status = HTTPStatus(error.status_code) if isinstance(error, HTTPException) else HTTPStatus.INTERNAL_SERVER_ERROR
    message = error.detail if isinstance(error, HTTPException) else "the console failed"
    hints = {HTTPStatus.NOT_FOUND: "the first page lists the incidents"}
    return error_page(status, message, hints.get(status, ""))
