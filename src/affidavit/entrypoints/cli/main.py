"""The `affidavit` command: parse, call, present. Heavy modules are imported by the command that needs them."""

import gc
import os
import signal
import sys
import traceback
from enum import StrEnum
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from affidavit.entrypoints.cli import chaos as chaos_command
from affidavit.entrypoints.cli import deploy as deploy_command
from affidavit.entrypoints.cli import fleet as fleet_command
from affidavit.entrypoints.cli import keys as keys_command
from affidavit.entrypoints.cli.arguments.console import console
from affidavit.entrypoints.cli.arguments.demo import demo
from affidavit.entrypoints.cli.arguments.diff import diff
from affidavit.entrypoints.cli.arguments.evaluate import evaluate
from affidavit.entrypoints.cli.arguments.mcp import mcp
from affidavit.entrypoints.cli.arguments.sample import sample
from affidavit.entrypoints.cli.arguments.shared import NoColor, OwnRules, Quiet
from affidavit.entrypoints.cli.arguments.shell_completion import answer_shells, completion
from affidavit.entrypoints.cli.baseline import command as baseline_command
from affidavit.entrypoints.cli.doctor import command as doctor_command
from affidavit.entrypoints.cli.exit_codes import (
    EVAL_EXIT_CODES,
    EXIT_CODES,
    Exit,
    exit_code_of,
    is_debugging,
    sentence_of,
)
from affidavit.entrypoints.cli.incident import command as incident_command
from affidavit.entrypoints.cli.locale_safe_output import print_anything
from affidavit.entrypoints.cli.notice import command as notice_command
from affidavit.entrypoints.cli.remedy import command as remedy_command
from affidavit.entrypoints.cli.rules import command as rules_command
from affidavit.entrypoints.cli.sandbox import command as sandbox_command
from affidavit.errors import AffidavitError
from affidavit.evidence.severity import Severity

app = typer.Typer(
    name="affidavit",
    help="Evidence-grounded incident response for AWS: every finding re-reads byte for byte.",
    epilog=EXIT_CODES,
    no_args_is_help=True,
    context_settings={"help_option_names": ["--help", "-h"]},
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
app.add_typer(rules_command.app)
app.add_typer(sandbox_command.app)
app.add_typer(incident_command.app)
app.add_typer(notice_command.app)
app.add_typer(remedy_command.app)
app.add_typer(chaos_command.app)
app.add_typer(baseline_command.app)
app.add_typer(deploy_command.app)
app.add_typer(fleet_command.app)
app.add_typer(keys_command.app)
app.add_typer(doctor_command.app)


# Modules, rules and an index are hundreds of thousands of objects that stay alive. Searching them for garbage takes a
# tenth of a command's start, and in a server longer than a call. Garbage of a call is still found while it is young.
_SELDOM = 20_000, 20, 100


class Interrupted(BaseException):
    """Ctrl-C or SIGTERM. It unwinds everything, so that working folders are deleted. Not KeyboardInterrupt, which the
    command library takes for itself."""


class ReportFormat(StrEnum):
    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"


BundleArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="BUNDLE...",
        help="A node log bundle (.tar.gz, .tgz, .tar, .zip or an unpacked directory), one or more logs such as "
        "kubelet.log or dmesg, compressed or not, or - for standard input.",
    ),
]


@app.callback(invoke_without_command=True)
def affidavit(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version.", is_eager=True)] = False,
) -> None:
    if version:
        from affidavit import __version__

        typer.echo(f"affidavit {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command(epilog=EXIT_CODES)
def analyze(
    bundle: BundleArgument,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Write manifest.json, findings_index.json and report.html to this folder."),
    ] = None,
    extract: Annotated[
        bool, typer.Option("--extract", help="With --out: keep the unpacked files in DIR/extracted too.")
    ] = False,
    report_format: Annotated[
        ReportFormat, typer.Option("--format", help="How to print the report.")
    ] = ReportFormat.TEXT,
    severity: Annotated[Severity, typer.Option(help="Show findings of this severity and above.")] = Severity.INFO,
    since: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Show findings seen at or after this: 2026-01-15T10:00, or 2h before the collection.",
        ),
    ] = None,
    until: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Show findings seen at or before this; same forms as --since."),
    ] = None,
    rules: OwnRules = None,
    fail_on: Annotated[
        Severity | None,
        typer.Option(
            help="Exit with 1 when a finding of the asked time is this severe or worse, shown or not; "
            "with 3 when none is, but part of the bundle could not be read."
        ),
    ] = None,
    sign: Annotated[
        str | None,
        typer.Option(
            metavar="KEY",
            help="With --out: sign the results with this Ed25519 key (a PEM file, or awskms:KEY) into statement.json.",
        ),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(min=1, max=64, help="How many cores to use (default: all); changes nothing but the time."),
    ] = None,
    full_lines: Annotated[
        bool, typer.Option("--full-lines", help="Quote whole lines (default: 300 characters around what was found).")
    ] = False,
    raw: Annotated[
        bool, typer.Option("--raw", help="Show and write secrets in log lines as they are (default: hidden).")
    ] = False,
    no_color: NoColor = False,
    quiet: Quiet = False,
) -> None:
    """Find what broke in a node log bundle or in single logs: findings by severity, each with the line that shows it.

    Needs no AWS account. Reads archives of the EKS log collector (Amazon Linux 2 and 2023, Ubuntu, Windows), of a
    NodeDiagnostic, and Bottlerocket's logdog; and logs on their own: journalctl -u kubelet | affidavit analyze -

    Example: affidavit analyze eks_i-0f3a9c1d7e5b24680.tar.gz --out results
    """
    from affidavit.entrypoints.cli.analyze import AnalyzeOptions, run_analyze

    options = AnalyzeOptions(
        bundles=tuple(bundle),
        out=out,
        is_extracting=extract,
        form=report_format.value,
        least=severity,
        since=since,
        until=until,
        rules=rules,
        fail_on=fail_on,
        sign=sign,
        is_raw=raw,
        has_full_lines=full_lines,
        workers=workers,
        no_color=no_color,
        is_quiet=quiet,
    )
    raise typer.Exit(run_analyze(options))


@app.command(epilog=EXIT_CODES)
def verify(
    subject: Annotated[
        str, typer.Argument(metavar="INDEX", help="A findings_index.json, an incident's id, or a plan's.")
    ],
    bundle: Annotated[
        str | None,
        typer.Argument(
            metavar="BUNDLE",
            help="With an index: the bundle it was made from. An incident needs none: its answers are stored with it.",
        ),
    ] = None,
    rules: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="With an index: the rules of your own that it was made with."),
    ] = None,
    key: Annotated[
        Path | None,
        typer.Option(metavar="PUB", help="With an index: its statement.json must be signed by this public key (PEM)."),
    ] = None,
    no_color: NoColor = False,
    quiet: Quiet = False,
) -> None:
    """Check an index against its bundle and name the claims that do not hold; or an incident's diagnosis.

    Every piece of evidence is re-read byte for byte: line number, byte range, sha256 and excerpt. Counts, severities,
    times, coverage and the index's id are derived again from the bundle; exit code 3 says that this was not possible,
    because the index was made with other rules or by another version. Uses no chat model; of a diagnosis, every value
    it cites must be what the tool answered.

    Example: affidavit verify results/findings_index.json eks_i-0f3a9c1d7e5b24680.tar.gz
    """
    if bundle is None and subject.startswith("plan-"):
        from affidavit.entrypoints.cli.verify.plan import run_verify_plan

        raise typer.Exit(run_verify_plan(subject, no_color=no_color))
    if bundle is None:
        from affidavit.entrypoints.cli.verify.incident import run_verify_incident

        raise typer.Exit(run_verify_incident(subject, no_color=no_color, is_quiet=quiet))
    from affidavit.entrypoints.cli.verify.index import VerifyOptions, run_verify

    options = VerifyOptions(index=Path(subject), bundle=bundle, rules=rules, key=key, no_color=no_color, is_quiet=quiet)
    raise typer.Exit(run_verify(options))


# In the order in which the help lists them.
for single in (diff, sample, mcp, console):
    app.command(epilog=EXIT_CODES)(single)
app.command("eval", epilog=EVAL_EXIT_CODES)(evaluate)
app.command(epilog=EXIT_CODES)(demo)
app.command(epilog=EXIT_CODES)(completion)


def run() -> None:
    """Runs the command. Every error becomes a sentence, a hint and an exit code."""
    gc.set_threshold(*_SELDOM)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _interrupt)
    print_anything()
    answer_shells()
    try:
        app()
    except AffidavitError as error:
        from affidavit.entrypoints.cli.sandbox.unreachable_aws_hint import hint_of

        _complain(str(error), hint_of(error))
        sys.exit(exit_code_of(error))
    except Interrupted:
        _complain("interrupted; nothing half-written was left")
        sys.exit(Exit.INTERRUPTED)
    except SystemExit as ending:
        # The two libraries that print exit with 1 on a closed pipe, but here 1 is a result.
        if isinstance(ending.__context__, BrokenPipeError):
            _leave_unread()
        raise
    except BrokenPipeError:
        _leave_unread()
    except Exception as error:  # noqa: BLE001 - the door: a crash must not leave with a code that means something else
        _trace(error)
        _complain(*sentence_of(error))
        sys.exit(exit_code_of(error))


def _leave_unread() -> NoReturn:
    """Ends when the reader of our output went away, as `head` does, before the result was printed."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(Exit.UNREAD)


def _trace(error: Exception) -> None:
    if is_debugging():
        traceback.print_exception(error)


def _interrupt(_signal: int, _frame: object) -> None:
    raise Interrupted


def _complain(message: str, hint: str = "") -> None:
    from affidavit.entrypoints.report.terminal_escapes_and_colours import harmless

    typer.echo(f"affidavit: {harmless(message)}", err=True)
    if hint:
        typer.echo(f"  {harmless(hint)}", err=True)
