"""Runs commands as a person would type them, each a process of its own."""

import os
import shlex
import subprocess
import sys
from collections.abc import Mapping

from affidavit.entrypoints.cli.demo.step_printing import Story
from affidavit.entrypoints.cli.exit_codes import Exit
from affidavit.errors import UpstreamFailed


def run_typed(
    story: Story, line: str, *, expected: Exit = Exit.DONE, environment: Mapping[str, str] | None = None
) -> None:
    """Raises UpstreamFailed unless it ends as expected. `environment` is whose shell it is typed in."""
    await_typed(start_typed(story, line, environment=environment), line, expected=expected)


def start_typed(story: Story, line: str, *, environment: Mapping[str, str] | None = None) -> "subprocess.Popen[bytes]":
    """Without waiting for its end: `await_typed` does."""
    story.command(line)
    command = [sys.executable, "-m", "affidavit", *shlex.split(line)]
    return subprocess.Popen(command, env={**os.environ, **(environment or {})})


def await_typed(started: "subprocess.Popen[bytes]", line: str, *, expected: Exit = Exit.DONE) -> None:
    if (code := started.wait()) != expected:
        raise UpstreamFailed(
            f"`affidavit {line}` ended with {code} instead of {int(expected)}", hint="what it printed above says why"
        )
