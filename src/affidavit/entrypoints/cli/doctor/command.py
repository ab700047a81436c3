"""The command `affidavit doctor`."""

import json
from dataclasses import asdict
from typing import Annotated

import typer

from affidavit.entrypoints.cli.doctor.model_command import DOCTOR_EXITS, model
from affidavit.entrypoints.cli.exit_codes import Exit

EPILOG = """Exit codes: 0 what is needed works · 1 something must be corrected · 2 the input was refused ·
4 an error of Affidavit's own"""

app = typer.Typer(
    name="doctor",
    help="Say what is installed here, what works, and what each missing extra would give.",
    epilog=EPILOG,
    rich_markup_mode=None,
)


@app.callback(invoke_without_command=True, epilog=EPILOG)
def doctor(
    context: typer.Context,
    as_json: Annotated[bool, typer.Option("--json", help="Print it as JSON.")] = False,
) -> None:
    """Say what is installed here, what works, and what each missing extra would give.

    Asks nobody outside this machine.

    Example: affidavit doctor
    """
    if context.invoked_subcommand is not None:
        return
    from affidavit.entrypoints.doctor.installation import installation

    seen = list(installation())
    if as_json:
        typer.echo(json.dumps([asdict(one) for one in seen], indent=2))
    else:
        width = max(len(one.name) for one in seen)
        for one in seen:
            typer.echo(f"{'✓' if one.is_there else '✗' if one.is_needed else '–'} {one.name:{width}}  {one.said}")
            if one.advice:
                typer.echo(f"  {'':{width}}  → {one.advice}")
    if any(one.is_wrong for one in seen):
        raise typer.Exit(Exit.FOUND)


app.command("model", epilog=DOCTOR_EXITS)(model)
