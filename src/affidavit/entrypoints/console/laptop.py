"""Serves the console on this machine and prints an address that logs in once (`affidavit console`)."""

import logging
import socket
import sys
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from affidavit.adapters.local.table import SqliteTable
from affidavit.bootstrap import build_app
from affidavit.entrypoints.http.listening_socket import listener
from affidavit.errors import InputRefused, InvariantBroken
from affidavit.settings import Settings

if TYPE_CHECKING:
    from affidavit.entrypoints.console.plans.repair_services import Lent

HOST: Final = "127.0.0.1"
PORT: Final = 8322
SESSIONS: Final = "console.sqlite"


def run_console(*, port: int | None, lent: "Lent | None" = None) -> None:
    """`lent` brings what carries approved plans out; without it they wait for `affidavit remedy run`."""
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="affidavit: %(message)s", force=True)
    logging.getLogger("affidavit.console").setLevel(logging.INFO)
    settings = Settings.from_environment()
    with listener(HOST, PORT if port is None else port) as taken:
        _serve(settings, taken.getsockname()[1], taken, lent)


def _serve(settings: Settings, port: int, taken: socket.socket, lent: "Lent | None") -> None:
    try:
        import uvicorn

        from affidavit.entrypoints.console.access.login import laptop_link
        from affidavit.entrypoints.console.access.oidc import oidc_login
        from affidavit.entrypoints.console.app import console_app
        from affidavit.entrypoints.console.deployed import own_hosts
        from affidavit.entrypoints.console.services import ConsoleServices
    except ModuleNotFoundError as error:
        raise InputRefused(
            f"the console needs {error.name}, which is not installed", hint="pip install 'affidavit[console]'"
        ) from error
    app = build_app(settings)
    own = SqliteTable(settings.data_dir / SESSIONS, "console", app.clock)
    oidc = oidc_login(settings)
    desk = ConsoleServices(
        app=app, session_table=own, takes_links=oidc is None, oidc=oidc, hosts=own_hosts(settings), lent=lent
    )
    # It takes a second or two: by the time somebody has opened the address it is done.
    threading.Thread(target=desk.prepare, daemon=True).start()
    if oidc is not None:
        print(f"affidavit: console on http://{HOST}:{port}; people log in at {oidc.issuer}", file=sys.stderr)
    else:
        print(f"affidavit: console on http://{HOST}:{port}; open this address, it works once:", file=sys.stderr)
        print(laptop_link(desk, f"http://{HOST}:{port}"), flush=True)
    config = uvicorn.Config(console_app(desk), ws="none", log_level="warning", access_log=False)
    serving = uvicorn.Server(config)
    with suppress(KeyboardInterrupt):
        serving.run([taken])
    if not serving.started:
        raise InvariantBroken("the console did not start", hint="the lines before this one say why")
