"""`affidavit diff`: its arguments and help."""

from pathlib import Path
from typing import Annotated

import typer

from affidavit.entrypoints.cli.arguments.shared import NoColor, OwnRules, PlainFormat, Quiet
from affidavit.evidence.severity import Severity


def diff(
    before: Annotated[Path, typer.Argument(metavar="BEFORE", help="A bundle: of an earlier time, or of a good node.")],
    after: Annotated[Path, typer.Argument(metavar="AFTER", help="A bundle: of a later time, or of a bad node.")],
    severity: Annotated[Severity, typer.Option(help="Show findings of this severity and above.")] = Severity.LOW,
    same: Annotated[bool, typer.Option("--same", help="Show also what did not change.")] = False,
    report_format: Annotated[PlainFormat, typer.Option("--format", help="How to print it.")] = PlainFormat.TEXT,
    rules: OwnRules = None,
    fail_on: Annotated[
        Severity | None,
        typer.Option(
            help="Exit with 1 when a finding this severe or worse is new or more often; with 3 when none is, "
            "but part of a bundle could not be read."
        ),
    ] = None,
    no_color: NoColor = False,
    quiet: Quiet = False,
) -> None:
    """Compare two bundles: findings that are new, gone, more or less often, and settings that changed.

    Example: affidavit diff good-node.tar.gz bad-node.tar.gz
    """
    from affidavit.entrypoints.cli.diff import DiffOptions, run_diff

    options = DiffOptions(
        before=before,
        after=after,
        least=severity,
        rules=rules,
        fail_on=fail_on,
        shows_same=same,
        is_json=report_format is PlainFormat.JSON,
        no_color=no_color,
        is_quiet=quiet,
    )
    raise typer.Exit(run_diff(options))
