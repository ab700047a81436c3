"""Options that several commands share."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

NoColor = Annotated[bool, typer.Option("--no-color", help="Plain text (also: the NO_COLOR variable).")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress; report only findings and failures.")]
OwnRules = Annotated[
    Path | None, typer.Option(metavar="DIR", help="Rules of your own, added to the built-in ones; same id replaces.")
]


class PlainFormat(StrEnum):
    TEXT = "text"
    JSON = "json"
