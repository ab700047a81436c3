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
from affidavit.entrypoints.cli import incident as incident_command
from affidavit.entrypoints.cli import rules as rules_command
from affidavit.entrypoints.cli import sandbox as sandbox_command
from affidavit.entrypoints.cli.exits import EVAL_EXIT_CODES, EXIT_CODES, Exit, exit_code_of, is_debugging, sentence_of
from affidavit.entrypoints.cli.output import print_anything
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
app.add_typer(chaos_command.app)
app.add_typer(deploy_command.app)
app.add_typer(fleet_command.app)


# Modules, rules and an index are hundreds of thousands of objects that live on: looking through them for garbage takes
# a tenth of a command's start, and in a server longer than a call. What a call leaves behind is still found young.
_SELDOM = 20_000, 20, 100


class Interrupted(BaseException):
    """Ctrl-C or a polite stop: unwinds everything, so that working folders go. Not KeyboardInterrupt, which the
    command library takes for itself."""


class ReportFormat(StrEnum):
    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"


BundleArgument = Annotated[
    str,
    typer.Argument(
        metavar="BUNDLE",
        help="A node log bundle: .tar.gz, .tgz, .tar, .zip, an unpacked directory, or - for standard input.",
    ),
]
NoColor = Annotated[bool, typer.Option("--no-color", help="Plain text (also: the NO_COLOR variable).")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress; report only findings and failures.")]


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
    rules: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Rules of your own, added to the built-in ones; same id replaces."),
    ] = None,
    fail_on: Annotated[
        Severity | None,
        typer.Option(
            help="Exit with 1 when a finding of the asked time is this severe or worse, shown or not; "
            "with 3 when none is, but part of the bundle could not be read."
        ),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(min=1, max=64, help="How many cores to use (default: all); changes nothing but the time."),
    ] = None,
    no_color: NoColor = False,
    quiet: Quiet = False,
) -> None:
    """Find what broke in a node log bundle: findings by severity, each with the line that shows it.

    Needs no AWS account. Reads archives of the EKS log collector (Amazon Linux 2 and 2023, Ubuntu, Windows), of a
    NodeDiagnostic, and Bottlerocket's logdog.
    """
    from affidavit.entrypoints.cli.analyze import AnalyzeOptions, run_analyze

    options = AnalyzeOptions(
        bundle=bundle,
        out=out,
        is_extracting=extract,
        form=report_format.value,
        least=severity,
        since=since,
        until=until,
        rules=rules,
        fail_on=fail_on,
        workers=workers,
        no_color=no_color,
        is_quiet=quiet,
    )
    raise typer.Exit(run_analyze(options))


@app.command(epilog=EXIT_CODES)
def verify(
    subject: Annotated[str, typer.Argument(metavar="INDEX", help="A findings_index.json, or an incident's id.")],
    bundle: Annotated[
        str | None,
        typer.Argument(
            metavar="BUNDLE",
            help="With an index: the bundle it was made from. An incident needs none: its answers are stored with it.",
        ),
    ] = None,
    no_color: NoColor = False,
    quiet: Quiet = False,
) -> None:
    """Re-read every finding's evidence from the bundle, byte for byte, and say which hold; or an incident's diagnosis.

    Uses neither rules nor a model: line number, byte range, sha256 and excerpt must all agree with the bytes, and every
    value a diagnosis cites with what the tool answered.
    """
    if bundle is None:
        from affidavit.entrypoints.cli.verify_incident import run_verify_incident

        raise typer.Exit(run_verify_incident(subject, no_color=no_color, is_quiet=quiet))
    from affidavit.entrypoints.cli.verify import run_verify

    raise typer.Exit(run_verify(Path(subject), bundle, no_color=no_color, is_quiet=quiet))


@app.command(epilog=EXIT_CODES)
def sample(
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where to write the bundle.")] = Path(),
    layout: Annotated[
        str,
        typer.Option(
            help="Whose bundle: al2, al2023, ubuntu, node_diagnostic, bottlerocket, bottlerocket_nested or windows."
        ),
    ] = "al2023",
    faults: Annotated[
        str,
        typer.Option(
            help="What is broken, separated by commas: bootstrap, cert_expiry, cni_failure, disk_pressure, dns, "
            "image_pull, kernel_hang, oom, probes, storage_io; or healthy."
        ),
    ] = "oom",
    form: Annotated[
        str | None,
        typer.Option("--form", help="tar.gz, tar, zip or directory (default: as that collector writes it)."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Another seed gives other noise.")] = 1,
    truth: Annotated[
        bool, typer.Option("--truth", help="Also write what is wrong in it, line by line, as a scenario for `eval`.")
    ] = False,
) -> None:
    """Write a made-up bundle of a broken node, to try the other commands on.

    The same options always give the same bytes.
    """
    from affidavit.entrypoints.cli.sample import run_sample

    raise typer.Exit(run_sample(out=out, layout=layout, faults=faults, form=form, seed=seed, with_truth=truth))


@app.command(epilog=EXIT_CODES)
def mcp(
    http: Annotated[bool, typer.Option("--http", help="Serve Streamable HTTP (and SSE) instead of stdio.")] = False,
    host: Annotated[
        str | None, typer.Option(help="With --http: address to listen on.", show_default="127.0.0.1")
    ] = None,
    port: Annotated[
        int | None, typer.Option(min=1, max=65535, help="With --http: port to listen on.", show_default="8321")
    ] = None,
    bundles: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Answer from the bundles in this folder, without AWS."),
    ] = None,
    toolsets: Annotated[
        str | None, typer.Option(help="Only these, separated by commas: nodes, collection, lambda.")
    ] = None,
    generate_key: Annotated[
        bool, typer.Option("--generate-key", help="With --http: make a key and print it once to standard error.")
    ] = False,
    allow_host: Annotated[
        str, typer.Option(help="With --http: Host headers to accept besides loopback (MCP_ALLOWED_HOSTS).")
    ] = "",
    allow_origin: Annotated[
        str, typer.Option(help="With --http: Origin headers to accept besides loopback (MCP_ALLOWED_ORIGINS).")
    ] = "",
    public_url: Annotated[
        str, typer.Option(help="With --http: the address clients use, for OAuth metadata (MCP_PUBLIC_URL).")
    ] = "",
    oauth_issuer: Annotated[str, typer.Option(help="Accept tokens that this issuer signed (MCP_OAUTH_ISSUER).")] = "",
    oauth_audience: Annotated[str, typer.Option(help="The audience such a token must name (MCP_OAUTH_AUDIENCE).")] = "",
    oauth_jwks: Annotated[
        str, typer.Option(help="Where the issuer's keys are, if not where it says itself (MCP_OAUTH_JWKS).")
    ] = "",
    stateless: Annotated[
        bool, typer.Option("--stateless", help="With --http: keep no sessions, answer in plain JSON.")
    ] = False,
) -> None:
    """Serve the tools to agents and editors (Model Context Protocol).

    Over stdio for a client that starts it; over HTTP with a key (MCP_API_KEY) or OAuth tokens.
    """
    from affidavit.entrypoints.cli.mcp import McpOptions, run_mcp

    options = McpOptions(
        is_http=http,
        host=host,
        port=port,
        bundles=bundles,
        toolsets=toolsets,
        generates_key=generate_key,
        hosts=allow_host,
        origins=allow_origin,
        public_url=public_url,
        oauth_issuer=oauth_issuer,
        oauth_audience=oauth_audience,
        oauth_jwks=oauth_jwks,
        is_stateless=stateless,
    )
    raise typer.Exit(run_mcp(options))


class EvalPart(StrEnum):
    NODES = "nodes"
    INCIDENTS = "incidents"
    ADVERSARIAL = "adversarial"
    ALL = "all"


class EvalFormat(StrEnum):
    TEXT = "text"
    JSON = "json"


@app.command("eval", epilog=EVAL_EXIT_CODES)
def evaluate(
    part: Annotated[EvalPart, typer.Argument(help="What to evaluate.")] = EvalPart.NODES,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write evaluation.json and evaluation.html to this folder.")
    ] = None,
    baseline: Annotated[
        Path | None, typer.Option(metavar="FILE", help="An evaluation.json of before, to compare with (default: ours).")
    ] = None,
    history: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Add this run to a file, one line of JSON, and draw all of it on the page."),
    ] = None,
    gate: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Gates of your own instead of the built-in ones (YAML).")
    ] = None,
    scenarios: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Scenarios of your own instead of the built-in ones.")
    ] = None,
    rules: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Rules of your own, added to the built-in ones; same id replaces."),
    ] = None,
    mutations: Annotated[
        bool, typer.Option("--mutations", help="Also take every rule away once and see that a scenario notices.")
    ] = False,
    accept: Annotated[
        bool, typer.Option("--accept", help="Keep the answers of this run as the right ones (in a source checkout).")
    ] = False,
    provider: Annotated[
        str, typer.Option(help="Incidents: whose chat model (offline, bedrock, or a LangChain name; CHAT_MODEL_ID).")
    ] = "offline",
    k: Annotated[int, typer.Option(min=1, max=20, help="Incidents: how often each scenario is run.")] = 3,
    seeds: Annotated[int, typer.Option(min=1, max=1000, help="Adversarial: how often each attack is varied.")] = 20,
    form: Annotated[EvalFormat, typer.Option("--format", help="How to print the result.")] = EvalFormat.TEXT,
    workers: Annotated[
        int | None, typer.Option(min=1, max=64, help="How many scenarios at a time (default: one a core).")
    ] = None,
    no_color: NoColor = False,
    quiet: Quiet = False,
) -> None:
    """Measure findings against scenarios whose truth is known: precision, recall, citations, severity, latency.

    Needs no AWS account and no network.
    """
    from affidavit.entrypoints.cli.eval import EvalOptions, run_eval

    options = EvalOptions(
        part=part.value,
        out=out,
        baseline=baseline,
        history=history,
        gate=gate,
        scenarios=scenarios,
        rules=rules,
        is_accepting=accept,
        with_mutations=mutations,
        provider=provider,
        k=k,
        seeds=seeds,
        form=form.value,
        workers=workers,
        no_color=no_color,
        is_quiet=quiet,
    )
    raise typer.Exit(run_eval(options))


@app.command(epilog=EXIT_CODES)
def demo(
    provider: Annotated[
        str, typer.Option(help="offline: rules conclude; bedrock: a chat model of your own account, for its price.")
    ] = "offline",
    model: Annotated[
        str, typer.Option(envvar="CHAT_MODEL_ID", help="With bedrock: a model id or inference profile.")
    ] = "",
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where to write the node's bundle and report.")] = Path(
        "affidavit-demo"
    ),
) -> None:
    """Tell the whole story on this machine: a fault, its alert, the investigation, a diagnosis that is proven.

    Needs no AWS account, takes under two minutes, and leaves nothing running.
    """
    from affidavit.entrypoints.cli.demo import DemoOptions, run_demo

    raise typer.Exit(run_demo(DemoOptions(provider=provider, model=model, out=out)))


def run() -> None:
    """The door: every error leaves as a sentence, a hint and an exit code."""
    gc.set_threshold(*_SELDOM)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _interrupt)
    print_anything()
    try:
        app()
    except AffidavitError as error:
        from affidavit.entrypoints.cli.sandbox_hint import hint_of

        _complain(str(error), hint_of(error))
        sys.exit(exit_code_of(error))
    except Interrupted:
        _complain("interrupted; nothing half-written was left")
        sys.exit(Exit.INTERRUPTED)
    except SystemExit as ending:
        # Both libraries that print for us answer a closed pipe with 1, which here says what the evidence does.
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
    """The reader of our output went away, as `head` does: how it would have ended was not said."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(Exit.UNREAD)


def _trace(error: Exception) -> None:
    if is_debugging():
        traceback.print_exception(error)


def _interrupt(_signal: int, _frame: object) -> None:
    raise Interrupted


def _complain(message: str, hint: str = "") -> None:
    from affidavit.entrypoints.report.screen import harmless

    typer.echo(f"affidavit: {harmless(message)}", err=True)
    if hint:
        typer.echo(f"  {harmless(hint)}", err=True)
