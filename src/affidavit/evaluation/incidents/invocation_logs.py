"""Log lines as Lambda writes them: START, what the program says, END and REPORT around every run."""

import hashlib
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from affidavit.ports.workload_inspector import LogLine

UNITS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000}


def _milliseconds(value: object) -> object:
    if not isinstance(value, str):
        return value
    digits = value.rstrip("msh")
    return round(float(digits) * UNITS[value[len(digits) :]])


Span = Annotated[int, BeforeValidator(_milliseconds), Field(ge=0)]
"""Written `250ms`, `45s`, `12m` or `3h`."""


class LoggedRun(BaseModel):
    """One run of the function. `{id}`, `{time}` and `{stamp}` in a line become its request id and the moment."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    lines: list[str] = Field(default_factory=list[str])
    duration: float = 184.2
    memory: int = 92
    init: float | None = None
    status: Literal["ok", "timeout", "error"] = "ok"
    """As REPORT says it. A handler that throws has none: only failed starts, crashes and timeouts do."""
    error_type: str | None = None
    """Lambda's name for the failure, which newer REPORT lines end with."""


class Logged(BaseModel):
    """A bare `line`, several `lines` that share an id, or a whole `run`, `ago` before now.

    It is repeated `times` with `apart` between, going back. `lines` are oldest first, `step` apart or each `at` its
    time after the first.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    ago: Span
    line: str | None = None
    lines: list[str] | None = None
    step: Span = 10
    at: list[Span] | None = None
    run: LoggedRun | None = None
    times: int = Field(1, ge=1)
    apart: Span = 60_000


def log_lines(entries: list[Logged], *, seed: str, now: datetime, memory_size: int, timeout: int) -> list[LogLine]:
    """Oldest first. The same seed gives the same request ids."""
    lines = [
        line
        for number, entry in enumerate(entries)
        for turn in range(entry.times)
        for line in _entry(entry, f"{seed}/{number}/{turn}", _at(now, entry, turn), memory_size, timeout)
    ]
    return sorted(lines, key=lambda line: line.at)


def _at(now: datetime, entry: Logged, turn: int) -> datetime:
    return now - timedelta(milliseconds=entry.ago + turn * entry.apart)


def _entry(entry: Logged, seed: str, at: datetime, memory_size: int, timeout: int) -> Iterator[LogLine]:
    request = _request_id(seed)
    if entry.line is not None:
        yield _said(entry.line, at, request)
    for number, line in enumerate(entry.lines or ()):
        after = entry.at[number] if entry.at else number * entry.step
        yield _said(line, at + timedelta(milliseconds=after), request)
    if entry.run is not None:
        yield from _run(entry.run, at, request, memory_size, timeout)


def _run(run: LoggedRun, at: datetime, request: str, memory_size: int, timeout: int) -> Iterator[LogLine]:
    duration = timeout * 1000.0 if run.status == "timeout" else run.duration
    ended = at + timedelta(milliseconds=duration)
    yield _said("START RequestId: {id} Version: $LATEST", at, request)
    for number, line in enumerate(run.lines):
        yield _said(line, at + timedelta(milliseconds=(number + 1) * duration / (len(run.lines) + 1)), request)
    if run.status == "timeout":
        yield _said(f"{{time}} {{id}} Task timed out after {timeout:.2f} seconds", ended, request)
    yield _said("END RequestId: {id}", ended, request)
    yield _said(_report(run, duration, memory_size), ended, request)


def _report(run: LoggedRun, duration: float, memory_size: int) -> str:
    fields = [
        "REPORT RequestId: {id}",
        f"Duration: {duration:.2f} ms",
        f"Billed Duration: {int(-(-duration // 1))} ms",
        f"Memory Size: {memory_size} MB",
        f"Max Memory Used: {run.memory} MB",
    ]
    fields += [f"Init Duration: {run.init:.2f} ms"] if run.init is not None else []
    fields += [f"Status: {run.status}"] if run.status != "ok" else []
    fields += [f"Error Type: {run.error_type}"] if run.error_type else []
    return "\t".join(fields) + "\t"


def _said(text: str, at: datetime, request: str) -> LogLine:
    moment = at.astimezone(UTC)
    words = {
        "{id}": request,
        "{time}": moment.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "{stamp}": moment.strftime("%Y/%m/%d"),
    }
    for mark, value in words.items():
        text = text.replace(mark, value)
    return LogLine(at=int(moment.timestamp() * 1000), message=text)


def _request_id(seed: str) -> str:
    return str(uuid.UUID(bytes=hashlib.sha256(seed.encode()).digest()[:16], version=4))
