"""Prints the script with which a shell completes `affidavit` commands and options."""

import os
from enum import StrEnum
from typing import Annotated

import typer

COMPLETE_VARIABLE = "_AFFIDAVIT_COMPLETE"


class Shell(StrEnum):
    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def completion(
    shell: Annotated[Shell, typer.Argument(metavar="SHELL", help="bash, zsh or fish.")],
) -> None:
    """Print the script that lets your shell complete commands and options.

    bash reads it as ~/.local/share/bash-completion/completions/affidavit, zsh as ~/.zfunc/_affidavit with ~/.zfunc in
    fpath, fish as ~/.config/fish/completions/affidavit.fish.

    Example: affidavit completion bash
    """
    from typer.completion import get_completion_script  # pyright: ignore[reportPrivateImportUsage] - typer names it nowhere else

    script = get_completion_script(prog_name="affidavit", complete_var=COMPLETE_VARIABLE, shell=shell.value)
    typer.echo(script)


def answer_shells() -> None:
    """Lets the command answer what a completion script asks; only asked for then, as it costs an import."""
    if COMPLETE_VARIABLE in os.environ:
        from typer.completion import completion_init  # pyright: ignore[reportPrivateImportUsage] - typer names it nowhere else

        completion_init()
