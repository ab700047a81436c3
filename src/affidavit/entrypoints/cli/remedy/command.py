"""`affidavit remedy`: repairs that are sealed, approved by people, proven and undone."""

from typing import Annotated

import typer

REMEDY_EXITS = """Exit codes: 0 done · 1 nothing to repair, the Critic refused, or the repair is not proven · 2 the
input was refused, or the plan is in another state · 3 AWS or the stores could not be reached · 4 an error of
Affidavit's own · 130 interrupted"""

app = typer.Typer(
    name="remedy",
    help="Repairs: propose from a diagnosis, show, approve, run, undo. Off unless REMEDIATION=on.",
    epilog=REMEDY_EXITS,
    no_args_is_help=True,
    rich_markup_mode=None,
)

PlanArgument = Annotated[str, typer.Argument(metavar="PLAN", help="A plan's id, as `propose` or `list` shows it.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would happen, and change nothing.")]
Why = Annotated[str, typer.Option("--why", help="The reason, for the record.")]


@app.command(epilog=REMEDY_EXITS)
def propose(
    incident: Annotated[str, typer.Argument(metavar="INCIDENT", help="A diagnosed incident's id.")],
    dry_run: DryRun = False,
) -> None:
    """Make a plan from an incident's diagnosis. Every value comes from a source; without one a step stays advice.

    Example: affidavit remedy propose inc-4f2a91c07b3e
    """
    from affidavit.entrypoints.cli.remedy.subcommand_runs import run_propose

    raise typer.Exit(run_propose(incident, is_dry=dry_run))


@app.command(epilog=REMEDY_EXITS)
def show(plan: PlanArgument, dry_run: DryRun = False) -> None:
    """The exact calls, a diff of every document, the blast radius, the undo, the seal, and the record.

    Example: affidavit remedy show plan-4f2a91c07b3e
    """
    from affidavit.entrypoints.cli.remedy.subcommand_runs import run_show

    raise typer.Exit(run_show(plan))


@app.command(epilog=REMEDY_EXITS)
def approve(
    plan: PlanArgument,
    seal: Annotated[
        str | None,
        typer.Option("--seal", metavar="END", help="The last characters of the seal, instead of typing them."),
    ] = None,
    only: Annotated[
        bool,
        typer.Option("--only", help="Approve and leave the start to `run`; else the last approval starts the plan."),
    ] = False,
    dry_run: DryRun = False,
) -> None:
    """Approve a plan as who your AWS credentials say you are, by typing the last characters of its seal.

    Who proposed it cannot approve it; a high risk needs two people. REMEDIATION_PEOPLE names who may.

    Example: affidavit remedy approve plan-4f2a91c07b3e
    """
    from affidavit.entrypoints.cli.remedy.subcommand_runs import run_approve

    raise typer.Exit(run_approve(plan, typed=seal, is_starting=not only, is_dry=dry_run))


@app.command(epilog=REMEDY_EXITS)
def narrow(
    plan: PlanArgument,
    drop: Annotated[list[int], typer.Option("--drop", metavar="N", help="The number of an action; may come twice.")],
    dry_run: DryRun = False,
) -> None:
    """Take actions out of a plan that waits: it is rejected, and what is left becomes a new plan for others to approve.

    Example: affidavit remedy narrow plan-4f2a91c07b3e --drop 2
    """
    from affidavit.entrypoints.cli.remedy.subcommand_runs import run_narrow

    raise typer.Exit(run_narrow(plan, drop, is_dry=dry_run))


@app.command(epilog=REMEDY_EXITS)
def reject(plan: PlanArgument, why: Why = "rejected", dry_run: DryRun = False) -> None:
    """Refuse a plan that waits for approval. Its incident is DIAGNOSED again.

    Example: affidavit remedy reject plan-4f2a91c07b3e --why "the limit is wanted"
    """
    from affidavit.entrypoints.cli.remedy.subcommand_runs import run_end

    raise typer.Exit(run_end(plan, why=why, is_revoking=False, is_dry=dry_run))


@app.command(epilog=REMEDY_EXITS)
def revoke(plan: PlanArgument, why: Why = "revoked", dry_run: DryRun = False) -> None:
    """Take back a plan that waits or is approved and has not started.

    Example: affidavit remedy revoke plan-4f2a91c07b3e
    """
    from affidavit.entrypoints.cli.remedy.subcommand_runs import run_end

    raise typer.Exit(run_end(plan, why=why, is_revoking=True, is_dry=dry_run))


@app.command(epilog=REMEDY_EXITS)
def run(plan: PlanArgument, dry_run: DryRun = False) -> None:
    """Carry out an approved plan, once. If an earlier run died midway, find out from AWS what it did.

    Example: affidavit remedy run plan-4f2a91c07b3e --dry-run
    """
    from affidavit.entrypoints.cli.remedy.subcommand_runs import run_run

    raise typer.Exit(run_run(plan, is_dry=dry_run))


@app.command(epilog=REMEDY_EXITS)
def undo(plan: PlanArgument, dry_run: DryRun = False) -> None:
    """Put back what was there before, in reverse order. Refused where somebody else changed it since.

    Example: affidavit remedy undo plan-4f2a91c07b3e
    """
    from affidavit.entrypoints.cli.remedy.subcommand_runs import run_undo

    raise typer.Exit(run_undo(plan, is_dry=dry_run))


@app.command("list", epilog=REMEDY_EXITS)
def list_plans(dry_run: DryRun = False) -> None:
    """The plans of the last week, newest first.

    Example: affidavit remedy list
    """
    from affidavit.entrypoints.cli.remedy.subcommand_runs import run_list

    raise typer.Exit(run_list())


@app.command(epilog=REMEDY_EXITS)
def freeze(dry_run: DryRun = False) -> None:
    """Stop all repairs now: nobody approves or starts one, and what runs stops at its next step.

    Example: affidavit remedy freeze
    """
    from affidavit.entrypoints.cli.remedy.subcommand_runs import run_freeze

    raise typer.Exit(run_freeze(is_thawing=False, is_dry=dry_run))


@app.command(epilog=REMEDY_EXITS)
def thaw(dry_run: DryRun = False) -> None:
    """End a freeze, as one of those who may approve.

    Example: affidavit remedy thaw
    """
    from affidavit.entrypoints.cli.remedy.subcommand_runs import run_freeze

    raise typer.Exit(run_freeze(is_thawing=True, is_dry=dry_run))
