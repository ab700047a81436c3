"""Keeps past runs, one line of JSON each, to draw a trend from. Lines are only ever added."""

import json
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from affidavit.errors import EvidenceUnavailable, InputRefused
from affidavit.evaluation.incidents.result import Numbers
from affidavit.evaluation.run_result import EvaluationResult, measured


@dataclass(frozen=True, kw_only=True)
class EvaluationRun:
    """`numbers` are those a gate can name; a part that was not run has none."""

    evaluated_at: datetime
    knowledge_version: str
    seconds: float
    passes: bool
    numbers: Numbers


_ADAPTER = TypeAdapter(EvaluationRun)


def past_run(result: EvaluationResult) -> EvaluationRun:
    return EvaluationRun(
        evaluated_at=result.evaluated_at,
        knowledge_version=result.knowledge_version,
        seconds=result.seconds,
        passes=result.passes,
        numbers=dict(measured(result)),
    )


def load_history(path: Path) -> tuple[EvaluationRun, ...]:
    """In the order they were written. A file that is not there yet is an empty history."""
    try:
        lines = path.read_text("utf-8").splitlines() if path.exists() else []
    except (OSError, UnicodeDecodeError) as error:
        raise InputRefused(f"{path} cannot be read: {error}", hint="give a file that --history wrote") from error
    return tuple(_line(path, number, line) for number, line in enumerate(lines, 1) if line.strip())


def append_run(path: Path, run: EvaluationRun) -> None:
    """Appends with one write, so that parallel runs do not mix their lines."""
    line = json.dumps(_ADAPTER.dump_python(run, mode="json"), separators=(",", ":"))
    try:
        with path.open("ab", buffering=0) as file:
            file.write(f"{line}\n".encode())
    except OSError as error:
        raise EvidenceUnavailable(
            f"{path} cannot be written: {error.strerror}", hint="the result of this run is not in the history"
        ) from error


def _line(path: Path, number: int, line: str) -> EvaluationRun:
    try:
        return _ADAPTER.validate_json(line)
    except ValidationError as error:
        raise InputRefused(
            f"{path}: line {number} is no run of an evaluation", hint="remove that line, or begin another file"
        ) from error
