"""`affidavit deploy`: bring Affidavit up on AWS, and take it down again. Heavy modules are imported on use."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from affidavit.entrypoints.cli.exit_codes import Exit
from affidavit.errors import InputRefused

if TYPE_CHECKING:
    from affidavit.adapters.aws.deploy.deployment import Deployment
    from affidavit.adapters.aws.deploy.stacks import ChangeSet

EPILOG = """Exit codes: 0 done · 1 doctor found something that must be corrected · 2 refused: no templates, no packages,
a parameter that is missing or unknown · 3 AWS could not be asked, or a stack failed · 4 an error of Affidavit's own"""

app = typer.Typer(
    name="deploy",
    help="Bring Affidavit up on AWS, and take it down again.",
    no_args_is_help=True,
    rich_markup_mode=None,
    epilog=EPILOG,
)

Templates = Annotated[Path, typer.Option(metavar="DIR", help="Where `make synth` put the templates.")]
Packages = Annotated[Path, typer.Option(metavar="DIR", help="Where `make package` put the packages.")]
Extras = Annotated[
    list[str] | None,
    typer.Option("--with", metavar="STACK", help="Also this: demo, agentcore, remediation, console; may be repeated."),
]
Parameters = Annotated[
    list[str] | None,
    typer.Option("--parameter", "-p", metavar="NAME=VALUE", help="A parameter of a stack; may be repeated."),
]
TEMPLATES = Path("infra/templates")
PACKAGES = Path("build/packages")


@app.command(epilog=EPILOG)
def plan(
    templates: Templates = TEMPLATES,
    packages: Packages = PACKAGES,
    extras: Extras = None,
    parameters: Parameters = None,
) -> None:
    """Say what apply would change. Nothing is left behind.

    Example: affidavit deploy plan
    """
    for change_set in _deployment(templates, packages, extras, parameters).plan():
        for line in _described(change_set):
            typer.echo(line)


@app.command(epilog=EPILOG)
def apply(
    templates: Templates = TEMPLATES,
    packages: Packages = PACKAGES,
    extras: Extras = None,
    parameters: Parameters = None,
) -> None:
    """Upload the packages, make the server's key if there is none, and bring every stack to its template.

    Example: affidavit deploy apply
    """
    outputs = _deployment(templates, packages, extras, parameters).apply(key_parameter=_key_parameter())
    for name in ("ServerUrl", "CollectorUrl", "GatewayUrl", "ConsoleAddress"):
        if name in outputs:
            typer.echo(f"{name}: {outputs[name]}")
    typer.echo("next: affidavit deploy doctor")


@app.command(epilog=EPILOG)
def destroy(
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    extras: Annotated[
        list[str] | None,
        typer.Option(
            "--only", metavar="STACK", help="Only this optional stack: demo, agentcore, remediation or console."
        ),
    ] = None,
) -> None:
    """Delete the stacks, the last first. Buckets, tables and keys stay unless the templates say otherwise.

    Example: affidavit deploy destroy --yes
    """
    if not yes:
        typer.confirm("delete the stacks of Affidavit in this account?", abort=True)
    deleted = _deployment(TEMPLATES, PACKAGES, extras, None).destroy(extras=_known(extras))
    typer.echo(f"deleted {len(deleted)} stack(s)" if deleted else "there is nothing to delete")


@app.command(epilog=EPILOG)
def doctor() -> None:
    """Check credentials, quotas, chat model, stacks, the key, notice channels and the dead-letter queue.

    Example: affidavit deploy doctor
    """
    from affidavit.adapters.aws.clients import AwsClients
    from affidavit.adapters.aws.deploy.doctor import CheckResult, Doctor
    from affidavit.settings import Settings

    settings = Settings.from_environment()
    examined = Doctor(
        clients=AwsClients(settings.region),
        key_parameter=settings.mcp_api_key_parameter,
        chat_provider=settings.chat_provider,
        chat_model_id=settings.chat_model_id,
    ).examine()
    worst = Exit.DONE
    for checkup in examined:
        typer.echo(f"{checkup.verdict:8}{checkup.subject}: {checkup.said}")
        if checkup.todo:
            typer.echo(f"        {checkup.todo}")
        # A check that could not be made counts as a failure.
        if checkup.verdict in (CheckResult.FAIL, CheckResult.UNKNOWN):
            worst = Exit.FOUND
    raise typer.Exit(worst)


def _deployment(
    templates: Path, packages: Path, extras: Sequence[str] | None, parameters: Sequence[str] | None
) -> "Deployment":
    from affidavit.adapters.aws.clients import AwsClients
    from affidavit.adapters.aws.deploy.deployment import Deployment, Wanted
    from affidavit.settings import Settings

    wanted = Wanted(
        templates=templates,
        packages=packages,
        parameters=dict(_pair(each) for each in parameters or ()),
        extras=frozenset(_known(extras)),
    )
    return Deployment(AwsClients(Settings.from_environment().region), wanted, typer.echo)


def _known(extras: Sequence[str] | None) -> list[str]:
    from affidavit.adapters.aws.deploy.deployment import OPTIONAL

    if unknown := sorted(set(extras or ()) - set(OPTIONAL)):
        raise InputRefused(f"there is no stack {', '.join(unknown)} to choose", hint=f"there are {', '.join(OPTIONAL)}")
    return list(extras or ())


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise InputRefused(f"{text!a} is no parameter", hint="write NAME=VALUE")
    return name, value


def _key_parameter() -> str:
    from affidavit.settings import Settings

    return Settings.from_environment().mcp_api_key_parameter


def _described(change_set: "ChangeSet") -> Sequence[str]:
    if change_set.is_new and not change_set.changes:
        return [f"{change_set.stack}: new; its changes are known once the stacks before it exist"]
    if not change_set.changes:
        return [f"{change_set.stack}: nothing to change"]
    head = f"{change_set.stack}: {'new, ' if change_set.is_new else ''}{len(change_set.changes)} change(s)"
    lines = [
        f"  {change.action.lower():8}{change.logical_id} ({change.kind}){', REPLACED' if change.is_replaced else ''}"
        for change in change_set.changes
    ]
    return [head, *lines]
