"""Writes the manual page `affidavit.1` out of the commands and their help."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from affidavit import __version__
from affidavit.entrypoints.cli.reference.commands_page import commands


def write_manual(folder: Path) -> Path:
    path = folder / "affidavit.1"
    path.write_text(manual(), "utf-8")
    return path


def manual() -> str:
    """The same text every time: it says nothing of when it was made."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    known = commands()
    main = known.pop("affidavit")
    yield f'.TH AFFIDAVIT 1 "" "affidavit {__version__}" "User Commands"'
    yield from (".SH NAME", f"affidavit \\- {_escaped(main.help)}")
    yield from (".SH SYNOPSIS", ".B affidavit", "COMMAND [ARGUMENTS]")
    yield from (".SH COMMANDS",)
    for name, command in known.items():
        if not getattr(command, "commands", None):
            yield from _command(name, command)
    yield from (".SH EXIT STATUS", _escaped(" ".join((main.epilog or "").split()).removeprefix("Exit codes: ")))
    yield from (".SH ENVIRONMENT", "Settings are environment variables; docs/reference/settings.md lists them.")


def _command(name: str, command: Any) -> Iterator[str]:
    context = typer.Context(command, info_name=name)
    yield f".SS {_escaped(' '.join((name, *command.collect_usage_pieces(context))))}"
    for paragraph in (command.help or "").split("\n\n"):
        yield from (_escaped(" ".join(paragraph.split())), ".PP")
    for record in filter(None, (each.get_help_record(context) for each in command.params)):
        yield from (".TP", f".B {_escaped(record[0])}", _escaped(" ".join(record[1].split())))


def _escaped(text: str) -> str:
    """So that no line is taken for a request, and no dash for a hyphen."""
    safe = text.replace("\\", "\\e").replace("-", "\\-").replace('"', "\\(dq")
    return f"\\&{safe}" if safe.startswith((".", "'")) else safe
