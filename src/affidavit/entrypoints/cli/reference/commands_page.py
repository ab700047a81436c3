"""`docs/reference/commands.md`: every command and option, as `--help` tells them."""

import re
from collections.abc import Iterator
from typing import Any

import typer
import typer.main

from affidavit.entrypoints.cli.main import app
from affidavit.entrypoints.cli.reference.markup import cell, literal


def commands_page() -> Iterator[str]:
    yield from ("# Commands", "", "What `affidavit COMMAND --help` says, on one page.")
    for name, command in commands().items():
        context = typer.Context(command, info_name=name)
        usage = " ".join((name, *command.collect_usage_pieces(context)))
        yield from ("", f"## {name}", "", "```", usage, "```", "", literal(command.help or ""))
        records = [record for each in command.params if (record := each.get_help_record(context)) is not None]
        if records:
            yield from ("", "| argument or option | meaning |", "| --- | --- |")
            yield from (f"| `{cell(_without_type(flag))}` | {cell(meaning)} |" for flag, meaning in records)
    yield from ("", "## Exit codes", "", *_exit_codes())


def commands() -> dict[str, Any]:
    """Every command by its full name. Typer's own classes, which have no public types."""
    return dict(_commands("affidavit", typer.main.get_command(app)))


def _commands(name: str, command: Any) -> Iterator[tuple[str, Any]]:
    yield name, command
    for child, inner in getattr(command, "commands", {}).items():
        yield from _commands(f"{name} {child}", inner)


def _without_type(flag: str) -> str:
    """Drops the type where it adds nothing: `BUNDLE <str>`, but not `--seed <int>`."""
    return flag if flag.startswith("-") else re.sub(r" <.*>$", "", flag)


def _exit_codes() -> Iterator[str]:
    """The exit codes. Each text appears once, at the first command that has it."""
    seen: set[str] = set()
    for name, command in commands().items():
        if (epilog := " ".join((command.epilog or "").split())) and epilog not in seen:
            seen.add(epilog)
            yield f"- `{name}`: {literal(epilog.removeprefix('Exit codes: '))}"
