"""The help of every command shows how it is called."""

import shlex
from collections.abc import Iterator
from typing import Any

import pytest
import typer

from affidavit.entrypoints.cli.main import app

Command = Any  # of the click that Typer carries inside


def commands(command: Command, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Command]]:
    inner = getattr(command, "commands", None)
    if inner is None:
        yield path, command
        return
    for name, each in inner.items():
        yield from commands(each, (*path, name))


COMMANDS = dict(commands(typer.main.get_command(app)))


def example_of(command: Command) -> str:
    """What stands behind `Example:`, without the shell's own part around it."""
    said = " ".join((command.help or "").partition("Example: ")[2].split("\n\n")[0].split())
    evaluated = 'eval "$('
    return said.removeprefix(evaluated).removesuffix(')"') if said.startswith(evaluated) else said


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_the_help_of_a_command_ends_with_an_example_that_its_own_options_take(path: tuple[str, ...]) -> None:
    words = shlex.split(example_of(COMMANDS[path]))
    assert words[: 1 + len(path)] == ["affidavit", *path]
    # Parsing refuses options that are not there, values that are not allowed, and what is missing.
    COMMANDS[path].make_context(path[-1], words[1 + len(path) :]).close()
