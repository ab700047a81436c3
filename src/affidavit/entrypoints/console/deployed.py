"""The console beside `/mcp`: served where people can log in, so only with an issuer."""

from urllib.parse import urlsplit

from starlette.types import ASGIApp

from affidavit.bootstrap import build_app
from affidavit.entrypoints.console.access.oidc import oidc_login
from affidavit.entrypoints.console.app import console_app
from affidavit.entrypoints.console.services import ConsoleServices
from affidavit.settings import Settings


def deployed_console(settings: Settings, *, is_long_lived: bool) -> ASGIApp | None:
    """None without `CONSOLE_OIDC_ISSUER`. Sessions lie in the state table, so every instance knows them."""
    oidc = oidc_login(settings)
    if oidc is None:
        return None
    app = build_app(settings)
    return console_app(
        ConsoleServices(
            app=app, session_table=app.state, oidc=oidc, hosts=own_hosts(settings), is_long_lived=is_long_lived
        )
    )


def own_hosts(settings: Settings) -> tuple[str, ...]:
    """The name in `CONSOLE_URL`, by which browsers call it."""
    found = urlsplit(settings.console_url).netloc
    return (found,) if found else ()
