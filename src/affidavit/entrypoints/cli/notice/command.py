"""`affidavit notice`: list the channels through which people are told, and try them."""

from typing import Annotated

import typer

NOTICE_EXITS = """Exit codes: 0 every channel took the test notice, or the list was printed · 1 a channel did not
take it · 2 a setting is wrong, or no channel is set up · 4 an error of Affidavit's own · 130 interrupted"""

app = typer.Typer(
    name="notice",
    help="The channels through which people are told how incidents end: list them, send a test.",
    epilog=NOTICE_EXITS,
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.command("channels", epilog=NOTICE_EXITS)
def list_channels() -> None:
    """List the channels that are set up, and which notices each one gets.

    Example: affidavit notice channels
    """
    from affidavit.entrypoints.cli.notice.subcommand_runs import run_channels

    raise typer.Exit(run_channels())


@app.command(epilog=NOTICE_EXITS)
def test(
    channel: Annotated[
        str | None, typer.Option(metavar="NAME", help="Only this channel, as `channels` names it (default: all).")
    ] = None,
) -> None:
    """Send a test notice and say which channels took it. NOTICE_FLOOR and NOTICE_STATES do not hold it back.

    PagerDuty has no incident to write a test on: there only the key is tried.

    Example: affidavit notice test --channel slack
    """
    from affidavit.entrypoints.cli.notice.subcommand_runs import run_test

    raise typer.Exit(run_test(channel))
