"""`affidavit doctor model`: tries the configured chat model with one tool call."""

import typer

DOCTOR_EXITS = """Exit codes: 0 it works · 1 something must be corrected · 2 a setting is wrong, a package or key is
missing · 4 an error of Affidavit's own"""


def model() -> None:
    """Try the configured chat model with one real tool call, and explain what is wrong.

    Costs a few hundred tokens. Nothing of an incident is sent.

    Example: affidavit doctor model
    """
    from affidavit.agent.chat.trial import try_chat_model
    from affidavit.entrypoints.cli.exit_codes import Exit
    from affidavit.entrypoints.report.terminal_escapes_and_colours import harmless
    from affidavit.settings import Settings

    trial = try_chat_model(Settings.from_environment())
    typer.echo(f"{'✓' if trial.is_good else '✗'} {harmless(trial.said)}")
    if trial.advice:
        typer.echo(f"  → {harmless(trial.advice)}")
    raise typer.Exit(Exit.DONE if trial.is_good else Exit.FOUND)
