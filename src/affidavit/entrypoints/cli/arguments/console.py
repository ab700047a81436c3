"""`affidavit console`: its arguments and help."""

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from affidavit.entrypoints.console.plans.repair_services import Repairs


def console(
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="Port to listen on; 0 takes a free one.", show_default="8322")
    ] = None,
) -> None:
    """Show incidents, their evidence and the lines that prove them in a browser, on this machine alone.

    Listens on 127.0.0.1 and prints an address that logs in whoever opens it first, once. State lies in AFFIDAVIT_DATA,
    or in AWS when LOGS_BUCKET is set.

    Example: affidavit console
    """
    from affidavit.entrypoints.console.laptop import run_console

    run_console(port=port, lent=_lent)


def _lent() -> "Repairs":
    from affidavit.entrypoints.cli.remedy.console_executor import lent_repairs

    return lent_repairs()
