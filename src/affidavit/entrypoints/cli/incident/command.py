"""`affidavit incident`: submit an alert, and see the incident that it opened."""

from pathlib import Path
from typing import Annotated

import typer

INCIDENT_EXITS = """Exit codes: 0 there is a verified diagnosis, or the list was printed · 1 it ended without one, or is
not finished · 2 the input was refused, or there is no such incident · 3 AWS, the stores or the evidence could not be
reached · 4 an error of Affidavit's own · 130 interrupted"""

app = typer.Typer(
    name="incident",
    help="From an alert to a diagnosis that can be checked: hand one over, list, show, watch, run again.",
    epilog=INCIDENT_EXITS,
    no_args_is_help=True,
    rich_markup_mode=None,
)

IncidentArgument = Annotated[str, typer.Argument(metavar="INCIDENT", help="An incident's id, as `list` shows it.")]
Json = Annotated[bool, typer.Option("--json", help="Everything, as JSON.")]
NoColor = Annotated[bool, typer.Option("--no-color", help="Plain text (also: the NO_COLOR variable).")]
Minutes = Annotated[int, typer.Option(min=2, max=60, help="How long the investigation may take.")]
Offline = Annotated[
    bool, typer.Option("--offline", help="Ask no chat model: rules alone conclude (as CHAT_PROVIDER=offline).")
]
Scenario = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Investigate a made-up account instead of AWS: a built-in scenario's name (one that does not exist lists "
        "them), or a YAML file.",
    ),
]


@app.command(epilog=INCIDENT_EXITS)
def submit(
    alert: Annotated[
        str | None,
        typer.Argument(
            metavar="ALERT",
            help="A JSON file with an alert (SNS event, CloudWatch alarm, EventBridge event, failure report); - reads "
            "standard input. Not needed with --scenario, which brings its own, nor with --node.",
        ),
    ] = None,
    node: Annotated[
        str | None,
        typer.Option(
            metavar="INSTANCE",
            help="Ask about a node instead of an alert, by its instance id. Its evidence is --bundle; else a fresh "
            "bundle that is stored; else one is collected now, where ENABLE_COLLECTION and ALLOWED_CLUSTERS let it.",
        ),
    ] = None,
    bundle: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="With --node: a bundle of that node, archive or folder. You vouch for it."),
    ] = None,
    scenario: Scenario = None,
    offline: Offline = False,
    minutes: Minutes = 5,
    as_json: Json = False,
    no_color: NoColor = False,
) -> None:
    """Hand over an alert, or name a node, wait for the diagnosis and print it.

    State lies in AFFIDAVIT_DATA, or in AWS when LOGS_BUCKET is set. The same alert twice is one incident, and so is the
    same bundle. With --json an event of several records gives a list, of one record an object.

    Example: affidavit incident submit alert.json --offline

    Example: affidavit incident submit --node i-0f3a9c1d7e5b24680 --bundle bundle.tar.gz --offline
    """
    from affidavit.entrypoints.cli.incident.subcommand_runs import Submission, run_submit

    wish = Submission(alert=alert, scenario=scenario, is_offline=offline, minutes=minutes, node=node, bundle=bundle)
    raise typer.Exit(run_submit(wish, as_json=as_json, no_color=no_color))


@app.command("list", epilog=INCIDENT_EXITS)
def list_incidents(
    days: Annotated[int, typer.Option(min=1, max=30, help="How many days back.")] = 7,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="At most so many.")] = 50,
    as_json: Json = False,
    no_color: NoColor = False,
) -> None:
    """The latest incidents, newest first, with their state and cause.

    Example: affidavit incident list --days 7
    """
    from affidavit.entrypoints.cli.incident.subcommand_runs import run_list

    raise typer.Exit(run_list(days=days, limit=limit, as_json=as_json, no_color=no_color))


@app.command(epilog=INCIDENT_EXITS)
def show(incident: IncidentArgument, as_json: Json = False, no_color: NoColor = False) -> None:
    """Cause, evidence with quotes and where they stand, plan, and what stayed unknown.

    Example: affidavit incident show inc-4f2a91c07b3e
    """
    from affidavit.entrypoints.cli.incident.subcommand_runs import run_show

    raise typer.Exit(run_show(incident, as_json=as_json, no_color=no_color))


@app.command(epilog=INCIDENT_EXITS)
def watch(
    incident: IncidentArgument,
    minutes: Annotated[int, typer.Option(min=1, max=60, help="Give up watching after so long.")] = 15,
    no_color: NoColor = False,
) -> None:
    """Follow an incident until it ends, then show it.

    Example: affidavit incident watch inc-4f2a91c07b3e
    """
    from affidavit.entrypoints.cli.incident.subcommand_runs import run_watch

    raise typer.Exit(run_watch(incident, minutes=minutes, no_color=no_color))


@app.command(epilog=INCIDENT_EXITS)
def redrive(
    incident: IncidentArgument,
    scenario: Scenario = None,
    offline: Offline = False,
    minutes: Minutes = 5,
    no_color: NoColor = False,
) -> None:
    """Run an incident again that ended without a diagnosis, whether or not its next attempt is due.

    Example: affidavit incident redrive inc-4f2a91c07b3e --offline
    """
    from affidavit.entrypoints.cli.incident.subcommand_runs import Submission, run_redrive

    wish = Submission(alert=None, scenario=scenario, is_offline=offline, minutes=minutes)
    raise typer.Exit(run_redrive(incident, wish, no_color=no_color))


@app.command(epilog=INCIDENT_EXITS)
def export(
    incident: IncidentArgument,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Write to this file instead of standard output.")] = (
        None
    ),
    sign: Annotated[
        str | None,
        typer.Option(
            metavar="KEY",
            help="With --out: sign it with this Ed25519 key (a PEM file, or awskms:KEY) into FILE.statement.json.",
        ),
    ] = None,
) -> None:
    """Everything an incident was diagnosed from, redacted, as one file that `replay` investigates again.

    Example: affidavit incident export inc-4f2a91c07b3e --out incident.json
    """
    from affidavit.entrypoints.cli.incident.export import run_export

    raise typer.Exit(run_export(incident, out=out, sign=sign))


@app.command(epilog=INCIDENT_EXITS)
def replay(
    cassette: Annotated[Path, typer.Argument(metavar="FILE", help="A file that `export` wrote.")],
    key: Annotated[
        Path | None,
        typer.Option(metavar="PUB", help="FILE.statement.json must be signed by this public key (PEM)."),
    ] = None,
    no_color: NoColor = False,
) -> None:
    """Investigate a recorded incident again, with what tools and chat model said then, and compare the diagnoses.

    Needs no AWS account and no chat model; nothing is stored.

    Example: affidavit incident replay incident.json
    """
    from affidavit.entrypoints.cli.incident.replay import run_replay

    raise typer.Exit(run_replay(cassette, no_color=no_color, key=key))
