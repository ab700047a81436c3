"""`affidavit eval`: its arguments and help."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from affidavit.entrypoints.cli.arguments.shared import NoColor, OwnRules, PlainFormat, Quiet


class EvalPart(StrEnum):
    NODES = "nodes"
    INCIDENTS = "incidents"
    ADVERSARIAL = "adversarial"
    ALL = "all"


def evaluate(
    part: Annotated[EvalPart, typer.Argument(help="What to evaluate.")] = EvalPart.NODES,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write evaluation.json and evaluation.html to this folder.")
    ] = None,
    baseline: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Compare with this earlier evaluation.json (default: the shipped one)."),
    ] = None,
    history: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Append this run to FILE as a line of JSON, and draw the trend on the page."),
    ] = None,
    gate: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Gates of your own instead of the built-in ones (YAML).")
    ] = None,
    scenarios: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Scenarios of your own instead of the built-in ones.")
    ] = None,
    rules: OwnRules = None,
    mutations: Annotated[
        bool, typer.Option("--mutations", help="Also take every rule away once and see that a scenario notices.")
    ] = False,
    accept: Annotated[
        bool, typer.Option("--accept", help="Keep the answers of this run as the right ones (in a source checkout).")
    ] = False,
    provider: Annotated[
        str,
        typer.Option(
            help="Incidents: chat provider (offline, bedrock, or a LangChain name); CHAT_MODEL_ID sets the model."
        ),
    ] = "offline",
    k: Annotated[int, typer.Option(min=1, max=20, help="Incidents: how often each scenario is run.")] = 3,
    seeds: Annotated[int, typer.Option(min=1, max=1000, help="Adversarial: how often each attack is varied.")] = 20,
    form: Annotated[PlainFormat, typer.Option("--format", help="How to print the result.")] = PlainFormat.TEXT,
    workers: Annotated[
        int | None, typer.Option(min=1, max=64, help="How many scenarios at a time (default: one a core).")
    ] = None,
    no_color: NoColor = False,
    quiet: Quiet = False,
) -> None:
    """Measure findings against scenarios whose truth is known: precision, recall, citations, severity, latency.

    Needs no AWS account and no network.

    Example: affidavit eval nodes --out build/eval
    """
    from affidavit.entrypoints.cli.eval.command import EvalOptions, run_eval

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
