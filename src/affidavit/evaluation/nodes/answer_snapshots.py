"""Keeps every tool's answer on every bundle. A changed answer is shown, and somebody must accept it.

One small text file a scenario: the digest of the bundle, then for each tool the digest of its answer and the answer in
short, one line each, so that a change reads as a diff.
"""

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from affidavit.errors import InputRefused
from affidavit.evaluation.nodes.runs import ScenarioRun

STORED = "regression"


@dataclass(frozen=True, kw_only=True)
class AnswerChange:
    """`diff` is that of the short form; of the digests when only details changed that the short form leaves out."""

    scenario: str
    what: str
    diff: tuple[str, ...]


def stored_answers() -> Traversable:
    return files("affidavit.evaluation").joinpath(STORED)


def recorded(run: ScenarioRun) -> str:
    lines = [f"input {run.input_digest}"]
    for tool in run.tools:
        lines += [f"tool {tool.tool} {tool.digest}", *(f"  {line}" for line in tool.lines)]
    return "".join(f"{line}\n" for line in lines)


def changes(runs: Sequence[ScenarioRun], stored: Traversable) -> tuple[AnswerChange, ...]:
    return tuple(change for run in runs if (change := _change(run, stored)) is not None)


def accept(runs: Sequence[ScenarioRun], folder: Path) -> int:
    """Write what is new or changed; returns how many files that was."""
    if failed := [run.scenario.id for run in runs if run.failure]:
        raise InputRefused(
            f"{', '.join(failed)} could not be run", hint="correct them first: only a complete run can be accepted"
        )
    folder.mkdir(parents=True, exist_ok=True)
    fresh = changes(runs, folder)
    for run in runs:
        (folder / f"{run.scenario.id}.txt").write_text(recorded(run), "utf-8")
    for gone in set(folder.glob("*.txt")) - {folder / f"{run.scenario.id}.txt" for run in runs}:
        gone.unlink()
    return len(fresh)


def _change(run: ScenarioRun, stored: Traversable) -> AnswerChange | None:
    file = stored.joinpath(f"{run.scenario.id}.txt")
    now = recorded(run)
    if not file.is_file():
        return AnswerChange(scenario=run.scenario.id, what="never accepted", diff=())  # the diff would be all of it
    before = file.read_text("utf-8")
    if before == now:
        return None
    return AnswerChange(scenario=run.scenario.id, what=_what(before, now), diff=_diff(before, now))


def _what(before: str, now: str) -> str:
    heads = [[line for line in text.splitlines() if not line.startswith(" ")] for text in (before, now)]
    changed = sorted({line.rsplit(" ", 1)[0] for line in set(heads[0]) ^ set(heads[1])})
    return f"{', '.join(changed) or 'the short form'} changed"


def _diff(before: str, now: str) -> tuple[str, ...]:
    compared = difflib.unified_diff(before.splitlines(), now.splitlines(), n=0, lineterm="")
    changed = [line for line in compared if line[:1] in "+-" and not line.startswith(("+++", "---"))]
    return tuple(line for line in changed if line[1:].startswith(" ")) or tuple(changed)
