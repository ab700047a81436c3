"""`affidavit chaos`: break the demo workload on purpose, and put it back. Heavy modules are imported on use."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from affidavit.chaos.injectable_faults import InjectedFault, NetworkMethod, RevokeTarget

if TYPE_CHECKING:
    from affidavit.changes.reversible import Change
    from affidavit.ports.clock import Clock
    from affidavit.ports.fault_target import FaultTarget
    from affidavit.ports.table import Table

EPILOG = """Exit codes: 0 done · 2 refused: account not in CHAOS_ACCOUNTS, tag missing, or not restored yet ·
3 AWS could not be asked · 4 an error of Affidavit's own · 130 interrupted"""

app = typer.Typer(
    name="chaos",
    help="Break the demo workload on purpose, and put back exactly what was there.",
    no_args_is_help=True,
    rich_markup_mode=None,
    epilog=EPILOG,
)
iam = typer.Typer(name="iam", help="Faults of permissions.", no_args_is_help=True, rich_markup_mode=None, epilog=EPILOG)
app.add_typer(iam)

Function = Annotated[str, typer.Option(metavar="NAME", help="The Lambda function to break.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only say what would change.")]
DEMO = "data-processor"


@dataclass(frozen=True, kw_only=True)
class _Bench:
    target: "FaultTarget"
    table: "Table"
    clock: "Clock"
    accounts: frozenset[str]


@iam.command("revoke", epilog=EPILOG)
def iam_revoke(
    target: Annotated[RevokeTarget, typer.Option(help="The service that the function's role loses access to.")],
    function: Function = DEMO,
    dry_run: DryRun = False,
) -> None:
    """Remove the role's permissions for S3, CloudWatch or both.

    Example: affidavit chaos iam revoke --target s3 --dry-run
    """
    from affidavit.chaos.fault_planning import plan_revoke

    _inject(InjectedFault.IAM, function, lambda bench: plan_revoke(bench.target, function, target), dry_run)


@app.command(epilog=EPILOG)
def throttle(
    to: Annotated[
        int, typer.Option(min=0, max=1, help="Reserved concurrency: 0 never runs, 1 runs one at a time.")
    ] = 0,
    function: Function = DEMO,
    dry_run: DryRun = False,
) -> None:
    """Cut the function's reserved concurrency down to 0 or 1.

    Example: affidavit chaos throttle --to 0 --dry-run
    """
    from affidavit.chaos.fault_planning import plan_throttle

    _inject(InjectedFault.THROTTLE, function, lambda bench: plan_throttle(bench.target, function, to), dry_run)


@app.command(epilog=EPILOG)
def network(
    method: Annotated[
        NetworkMethod, typer.Option(help="egress: remove the security groups' rules; nacl: add a deny rule first.")
    ] = NetworkMethod.EGRESS,
    function: Function = DEMO,
    dry_run: DryRun = False,
) -> None:
    """Block the function's way out of its VPC.

    Example: affidavit chaos network --method egress --dry-run
    """
    from affidavit.chaos.fault_planning import plan_network

    _inject(InjectedFault.NETWORK, function, lambda bench: plan_network(bench.target, function, method), dry_run)


@app.command(epilog=EPILOG)
def restore(
    fault: Annotated[
        InjectedFault | None, typer.Argument(help="The fault to restore (default: all saved ones).")
    ] = None,
    function: Function = DEMO,
) -> None:
    """Put back what was there, also after a crash in between.

    Example: affidavit chaos restore
    """
    from affidavit.chaos.inject_and_restore import restore, saved_experiments

    bench = _bench()
    saved = saved_experiments(bench.target, bench.table, function=function)
    chosen = [experiment.fault for experiment in saved if fault in (None, experiment.fault)]
    for kind in chosen:
        restored = restore(bench.target, bench.table, function=function, fault=kind)
        typer.echo(f"restored {kind}: {len(restored.changes)} change(s) undone and checked")
    if not chosen:
        typer.echo(f"nothing is saved for {function}: there is nothing to restore")


@app.command(epilog=EPILOG)
def status(function: Function = DEMO) -> None:
    """What is broken on purpose and not restored yet.

    Example: affidavit chaos status
    """
    from affidavit.chaos.inject_and_restore import saved_experiments

    bench = _bench()
    saved = saved_experiments(bench.target, bench.table, function=function)
    for experiment in saved:
        typer.echo(f"{experiment.fault} since {experiment.started_at:%Y-%m-%d %H:%M:%S} UTC in {experiment.account}")
        for change in experiment.changes:
            state = "not in force" if change.is_undone(bench.target) else "in force"
            typer.echo(f"  {change}: {state}")
    if not saved:
        typer.echo(f"no experiment on {function} is open")


def _inject(fault: InjectedFault, function: str, plan: "Callable[[_Bench], Sequence[Change]]", dry_run: bool) -> None:
    from affidavit.chaos.allowed_targets import check_allowed
    from affidavit.chaos.inject_and_restore import inject

    bench = _bench()
    changes = plan(bench)
    if dry_run:
        check_allowed(bench.target, function, changes, accounts=bench.accounts)
    else:
        inject(
            bench.target,
            bench.table,
            bench.clock,
            function=function,
            fault=fault,
            changes=changes,
            accounts=bench.accounts,
        )
    for change in changes:
        typer.echo(f"{'would be' if dry_run else 'done'}: {change}")
    if not dry_run:
        typer.echo(f"undo it with: affidavit chaos restore {fault}")


def _bench() -> _Bench:
    from affidavit.adapters.aws.clients import AwsClients
    from affidavit.adapters.aws.workload.fault_injection_calls import AwsFaultTarget
    from affidavit.bootstrap import build_app
    from affidavit.settings import Settings

    settings = Settings.from_environment()
    built = build_app(settings)
    return _Bench(
        target=AwsFaultTarget(AwsClients(settings.region)),
        table=built.state,
        clock=built.clock,
        accounts=frozenset(name for name in settings.chaos_accounts.split(",") if name),
    )
