"""One run of a function, as its log shows it."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from affidavit.workloads.runs.error_type_and_message import ErrorText
from affidavit.workloads.runs.lines import Line, LogLevel

_LAST_WORDS = 3


class Ending(StrEnum):
    WELL = "well"
    FAILED = "failed"
    TIMED_OUT = "timed_out"
    KILLED = "killed"
    UNKNOWN = "unknown"
    """The log does not say: it still goes on, its end is not shown, or it complained and nobody says how it ended."""


@dataclass(frozen=True, kw_only=True)
class Statement:
    """One thing that a run said: a line and the lines that continue it."""

    lines: tuple[Line, ...]
    level: LogLevel | None
    text: str
    """All its lines, without prefixes; of JSON, the raw text."""
    error: ErrorText | None
    is_unhandled: bool
    """The runtime itself reports this error: nothing in the program caught it."""
    fields: Mapping[str, Any]
    """What it holds as JSON, if anything."""
    is_noise: bool
    """Printed at every start or by a monitoring agent; it says nothing about the run."""

    @property
    def place(self) -> int:
        return self.lines[0].place

    @property
    def is_complaint(self) -> bool:
        return not self.is_noise and (self.is_unhandled or self.level is LogLevel.ERROR)


@dataclass(frozen=True, kw_only=True)
class Run:
    """`places` are the positions of its events, oldest first; positions count from the newest event."""

    request_id: str | None
    """None for lines outside any run."""
    places: tuple[int, ...]
    ending: Ending
    statements: tuple[Statement, ...]
    """What its program said, oldest first."""
    platform: tuple[Line, ...]
    """What Lambda said about it, oldest first."""
    report: int | None
    """The position of its REPORT; None while it goes on, or when it was never written."""
    is_cut: bool
    """Its first lines are not shown."""
    status: str | None
    error_type: str | None
    """Lambda's own name for the failure, such as `Runtime.OutOfMemory`."""
    memory: tuple[int, int] | None
    has_failed_init: bool
    """It failed before the handler was called."""

    @property
    def is_outside(self) -> bool:
        return self.request_id is None

    @property
    def complaints(self) -> tuple[Statement, ...]:
        return tuple(one for one in self.statements if one.is_complaint)

    @property
    def last_words(self) -> tuple[Statement, ...]:
        """What it complained about. Of a run that failed and did not complain: the last that it said at all."""
        if self.complaints or not self.has_failed:
            return self.complaints
        return tuple(one for one in self.statements if not one.is_noise)[-_LAST_WORDS:]

    @property
    def has_failed(self) -> bool:
        return self.ending in (Ending.FAILED, Ending.TIMED_OUT, Ending.KILLED)
