"""Findings and their evidence, exactly as they stand in an index.

Attribute names are the names on the wire. A field that is absent on the wire when it does not apply (and not
null) says so.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Annotated

from pydantic import Field

from affidavit.evidence.severity import Severity
from affidavit.evidence.wide import text_of

ABSENT_WHEN_NONE = Field(exclude_if=lambda value: value is None)

EXCERPT_CHARACTERS = 500


@dataclass(frozen=True, kw_only=True, slots=True)
class LineRange:
    """1-based, both ends included."""

    start: int
    end: int


@dataclass(frozen=True, kw_only=True, slots=True)
class ByteRange:
    """End exclusive; covers a line without its line end."""

    start: int
    end: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Evidence:
    """One line of one file. Ranges and digest are null only in evidence lifted from a version 1 index."""

    source_file: str
    full_key: str
    excerpt: str
    line_range: LineRange | None
    byte_offset: ByteRange | None
    timestamp: datetime | None
    sha256: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Occurrence:
    line: int
    byte_offset: ByteRange | None
    timestamp: datetime | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Confirmation:
    """`sources` are components (kernel, kubelet, …), never files: dmesg and its syslog copy are one source."""

    signals: int
    confirmed: bool
    sources: tuple[str, ...]


class State(StrEnum):
    """Whether a fault is over. A finding without a state is one whose end no line would tell."""

    OPEN = "open"
    RECOVERED = "recovered"
    STARTUP = "start-up"
    PLANNED = "planned"


@dataclass(frozen=True, kw_only=True, slots=True)
class Episode:
    """One span of a fault; `cleared_at` is when a line said it was over."""

    start: datetime
    end: datetime
    count: int
    cleared_at: datetime | None


# Occurrences that an index lists beside the evidence; the count is exact however many there are.
LISTED = 100


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    finding_id: str
    rule: str
    severity: Severity
    pattern: str
    description: str
    component: str
    signal: str
    count: int
    first_seen: datetime | None
    last_seen: datetime | None
    evidence: Evidence
    additional_occurrences: tuple[Occurrence, ...] = ()
    occurrences_listed: Annotated[int | None, ABSENT_WHEN_NONE] = None
    occurrences_total: Annotated[int | None, ABSENT_WHEN_NONE] = None
    confirmation: Annotated[Confirmation | None, ABSENT_WHEN_NONE] = None
    severity_note: Annotated[str | None, ABSENT_WHEN_NONE] = None
    detail: Annotated[str | None, ABSENT_WHEN_NONE] = None
    state: Annotated[State | None, ABSENT_WHEN_NONE] = None
    episodes: Annotated[tuple[Episode, ...] | None, ABSENT_WHEN_NONE] = None
    episodes_total: Annotated[int | None, ABSENT_WHEN_NONE] = None
    """Only there when the list holds the last ones alone."""
    is_baseline: Annotated[bool | None, ABSENT_WHEN_NONE] = None
    baseline_note: Annotated[str | None, ABSENT_WHEN_NONE] = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Suppressed:
    """Hits of one rule in one file that a suppression explains: counted and shown, never a finding."""

    suppression: str
    rule: str
    pattern: str
    reason: str
    count: int
    first_seen: datetime | None
    last_seen: datetime | None
    evidence: Evidence


def excerpt_of(line: bytes) -> str:
    """The first characters of a line as text; undecodable bytes become replacement characters."""
    # A character takes at most four bytes, so the cut cannot fall inside the part that is kept.
    window = line[: EXCERPT_CHARACTERS * 4 + 4]
    return text_of(window)[:EXCERPT_CHARACTERS]
