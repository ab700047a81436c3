"""`affidavit baseline`: keep the state of functions that are well, and compare with it. Heavy modules are imported on
use."""

import json
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from affidavit.entrypoints.cli.exit_codes import Exit

if TYPE_CHECKING:
    from affidavit.bootstrap import App
    from affidavit.known_good.capture import Captures
    from affidavit.known_good.store import KnownGood
    from affidavit.workloads.wire import BaselineDiffResponse, StateDifference

EPILOG = """Exit codes: 0 done, or nothing differs · 1 the live state differs · 2 refused: no such function or
state, or it is not well · 3 AWS could not be asked, or parts could not be compared · 4 an error of Affidavit's own ·
130 interrupted"""

app = typer.Typer(
    name="baseline",
    help="Keep the state of Lambda functions that are well, and compare what is live with it.",
    no_args_is_help=True,
    rich_markup_mode=None,
    epilog=EPILOG,
)


class DiffFormat(StrEnum):
    TEXT = "text"
    JSON = "json"


FunctionName = Annotated[str, typer.Argument(metavar="FUNCTION", help="Name or ARN of the Lambda function.")]


@app.command(epilog=EPILOG)
def capture(
    functions: Annotated[list[str], typer.Argument(metavar="FUNCTION...", help="Names of Lambda functions.")],
    anyway: Annotated[
        bool, typer.Option("--anyway", help="Also with failed runs or an open incident: you say that it is good.")
    ] = False,
) -> None:
    """Keep the live state of functions as known-good: settings, permissions, network, concurrency.

    Values of environment variables are kept as keyed digests only. A function with failed runs in the last 15 minutes,
    or with an incident of the last day that was not repaired, is refused.

    Example: affidavit baseline capture data-processor
    """
    from affidavit.entrypoints.known_good_function_captures import troubled_functions
    from affidavit.workloads.wire import function_name

    built, captures = _opened()
    troubled = troubled_functions(built)
    for name in map(function_name, functions):
        done = captures.capture(name, troubled=troubled, is_insisting=anyway)
        typer.echo(f"{name}: kept {_told(done.kept)}, {done.runs.invocations:.0f} run(s) in the last 15 minutes")
        for place, why in done.state.why_not_read.items():
            typer.echo(f"  not read: {place}: {why}", err=True)


@app.command("list", epilog=EPILOG)
def list_states(
    function: Annotated[
        str | None, typer.Argument(metavar="FUNCTION", help="Every state of this function; the latest of all without.")
    ] = None,
) -> None:
    """Which functions have a known-good state, since when, and who says so.

    Example: affidavit baseline list
    """
    from affidavit.workloads.wire import function_name

    store = _opened()[1].store
    if function is not None:
        found = store.history(store.arn_of(function_name(function)))
    else:
        found = [kept for arn in store.functions() if (kept := store.latest(arn)) is not None]
    for kept in found:
        typer.echo(f"{kept.function_arn}  {_told(kept)}")
    if not found:
        typer.echo("no known-good state is kept: `affidavit baseline capture FUNCTION` keeps one")


@app.command(epilog=EPILOG)
def show(
    function: FunctionName,
    sha256: Annotated[
        str, typer.Option("--sha256", metavar="DIGEST", help="Another than the latest state; its first characters do.")
    ] = "",
) -> None:
    """Print a known-good state as JSON, after checking it against its digest.

    Example: affidavit baseline show data-processor
    """
    from affidavit.errors import NotFound
    from affidavit.workloads.wire import function_name

    store = _opened()[1].store
    history = store.history(store.arn_of(function_name(function)))
    chosen = next((kept for kept in history if kept.sha256.startswith(sha256)), None)
    if chosen is None:
        raise NotFound(f"{function} has no state {sha256}", hint=f"`affidavit baseline list {function}` shows them")
    typer.echo(json.dumps(store.document(chosen), indent=2, sort_keys=True))


@app.command(epilog=EPILOG)
def diff(
    function: FunctionName,
    form: Annotated[
        DiffFormat, typer.Option("--format", help="text: for a person; json: as `get_baseline_diff` answers.")
    ] = DiffFormat.TEXT,
) -> None:
    """Compare the live function with its last known-good state.

    Example: affidavit baseline diff data-processor
    """
    from affidavit.errors import NotFound
    from affidavit.workloads.baseline_diff import baseline_diff
    from affidavit.workloads.wire import function_name

    captures = _opened()[1]
    answer = baseline_diff(captures, captures.inspector, function_name(function))
    if form is DiffFormat.JSON:
        typer.echo(answer.model_dump_json(exclude={"error", "hint"}, indent=2))
    elif not answer.has_baseline:
        raise NotFound(
            f"{function}: no known-good state of it is kept", hint="`affidavit baseline capture` keeps the live one"
        )
    else:
        _print(answer)
    raise typer.Exit(_ending(answer))


def _ending(answer: "BaselineDiffResponse") -> Exit:
    if answer.differences:
        return Exit.FOUND
    return Exit.UNAVAILABLE if answer.not_read else Exit.DONE


def _print(answer: "BaselineDiffResponse") -> None:
    from affidavit.entrypoints.report.terminal_escapes_and_colours import harmless

    since = f"the state {str(answer.baseline_sha256)[:12]}, good until {answer.seen_at}"
    typer.echo(f"{answer.lambda_name}: {len(answer.differences) or 'no'} difference(s) from {since}")
    for one in answer.differences:
        typer.echo(harmless(f"{one.kind} {one.path}"))
        for line in _sides(one):
            typer.echo(harmless(f"  {line}"))
    for part in answer.not_read:
        typer.echo(harmless(f"not compared: {part.what}: {part.why}"), err=True)


def _sides(one: "StateDifference") -> list[str]:
    was = [] if one.kind == "added" else [f"- {json.dumps(one.was, sort_keys=True)}"]
    now = [] if one.kind == "removed" else [f"+ {json.dumps(one.now, sort_keys=True)}"]
    return [*was, *now]


def _told(kept: "KnownGood") -> str:
    times = f"captured {kept.captured_at:%Y-%m-%d %H:%M:%S} UTC, seen {kept.seen_at:%Y-%m-%d %H:%M:%S} UTC"
    return f"{kept.sha256[:12]}, {times}, by {kept.vouched_by}"


def _opened() -> "tuple[App, Captures]":
    from affidavit.bootstrap import build_app
    from affidavit.entrypoints.known_good_function_captures import build_captures
    from affidavit.settings import Settings

    built = build_app(Settings.from_environment())
    return built, build_captures(built)
