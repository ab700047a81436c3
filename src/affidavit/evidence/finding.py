"""Findings and their evidence: the same records in an index and in answers.

Attribute names are the names on the wire, and the descriptions end up in the schemas of tools. A field marked
ABSENT_WHEN_NONE is left out, not null, when it does not apply.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Annotated

from pydantic import Field

from affidavit.evidence.severity import Severity
from affidavit.evidence.utf16 import text_of

ABSENT_WHEN_NONE = Field(exclude_if=lambda value: value is None)

EXCERPT_CHARACTERS = 500

# Told in schemas and not checked on reading: an index of another program is judged by its evidence, not by its form.
FindingId = Annotated[
    str,
    Field(
        description="Cite this id, together with index_id, in anything you report.",
        json_schema_extra={"pattern": r"^(F-\d{3,}|S-\d{3,})$"},
    ),
]


@dataclass(frozen=True, kw_only=True, slots=True)
class LineRange:
    start: Annotated[int, Field(description="1-based.")]
    end: Annotated[int, Field(description="Included.")]


@dataclass(frozen=True, kw_only=True, slots=True)
class ByteRange:
    start: Annotated[int, Field(description="First byte, counted from 0.")]
    end: Annotated[int, Field(description="Exclusive; the line end is not part of it.")]


@dataclass(frozen=True, kw_only=True, slots=True)
class Evidence:
    """One line of one file, which anybody can re-read: the bytes at byte_offset of full_key have this sha256."""

    source_file: Annotated[str, Field(description="Path in the bundle.")]
    full_key: Annotated[str, Field(description="Object key of the file; pass it to read.")]
    excerpt: Annotated[
        str,
        Field(
            description="The line as stored, its first 500 characters. Quote it verbatim.",
            json_schema_extra={"maxLength": EXCERPT_CHARACTERS},
        ),
    ]
    line_range: Annotated[LineRange | None, Field(description="null only in an index of version 1.")]
    byte_offset: Annotated[ByteRange | None, Field(description="null only in an index of version 1.")]
    timestamp: Annotated[datetime | None, Field(description="UTC; null when the line's time could not be read.")]
    sha256: Annotated[
        str | None,
        Field(description="Of the bytes at byte_offset; null in an index of version 1, and where text is hidden."),
    ]


@dataclass(frozen=True, kw_only=True, slots=True)
class Occurrence:
    line: Annotated[int, Field(description="Line number, 1-based.")]
    byte_offset: Annotated[ByteRange | None, Field(description="Where its bytes are.")]
    timestamp: Annotated[datetime | None, Field(description="UTC; null when the line's time could not be read.")]


@dataclass(frozen=True, kw_only=True, slots=True)
class Confirmation:
    """Whether independent components (kernel, kubelet, …) show it; dmesg and its copy in syslog are one."""

    signals: Annotated[int, Field(description="Independent components that show it.")]
    confirmed: Annotated[bool, Field(description="true when there are at least two.")]
    sources: Annotated[tuple[str, ...], Field(description="These components.")]


class FaultState(StrEnum):
    """Whether a fault is over. Every finding above info has a state."""

    OPEN = "open"
    RECOVERED = "recovered"
    """A line says that it is over."""
    OVER = "over"
    """No line says so, but it stopped long before the collection."""
    STARTUP = "start-up"
    PLANNED = "planned"
    UNKNOWN = "unknown"
    """It came once, some time before the collection, and nothing tells whether it still holds."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Episode:
    start: Annotated[datetime, Field(description="Its first line, UTC.")]
    end: Annotated[datetime, Field(description="Its last line, UTC.")]
    count: Annotated[int, Field(description="Occurrences in it.")]
    cleared_at: Annotated[datetime | None, Field(description="When a line said that it was over.")]


# How many occurrences an index lists beside the evidence. The count is always exact.
LISTED = 100


@dataclass(frozen=True, kw_only=True, slots=True)
class NamedEntity:
    """A pod, device, unit, … that lines of a finding name. `kind` is a name of `rules/entities.yaml`."""

    kind: Annotated[str, Field(description="What it is: pod, device, unit …")]
    name: Annotated[str, Field(description="Its name.")]


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """A fault that one rule found in one file."""

    finding_id: FindingId
    rule: Annotated[str, Field(description="Id of the rule that found it.")]
    severity: Annotated[Severity, Field(description="How bad it is.")]
    pattern: Annotated[str, Field(description="Short name of what was found.")]
    description: Annotated[str, Field(description="What it means.")]
    component: Annotated[str, Field(description="Who wrote the line: kernel, kubelet, containerd, cni …")]
    signal: Annotated[str, Field(description="The family of trouble it belongs to.")]
    count: Annotated[int, Field(description="Exact number of occurrences, however many are listed.")]
    first_seen: Annotated[datetime | None, Field(description="UTC; null when no line had a time.")]
    last_seen: Annotated[datetime | None, Field(description="UTC; null when no line had a time.")]
    evidence: Annotated[Evidence, Field(description="The occurrence that stands for all.")]
    additional_occurrences: Annotated[tuple[Occurrence, ...], Field(description="Other lines, not always all.")] = ()
    occurrences_listed: Annotated[
        int | None, ABSENT_WHEN_NONE, Field(description="Only there when not all occurrences are listed.")
    ] = None
    occurrences_total: Annotated[
        int | None, ABSENT_WHEN_NONE, Field(description="How many there are; only there when not all are listed.")
    ] = None
    confirmation: Annotated[Confirmation | None, ABSENT_WHEN_NONE, Field(description="Only on critical findings.")] = (
        None
    )
    severity_note: Annotated[
        str | None, ABSENT_WHEN_NONE, Field(description="Why the severity wants checking, or why it was changed.")
    ] = None
    detail: Annotated[str | None, ABSENT_WHEN_NONE, Field(description="The measured fact, of a check.")] = None
    state: Annotated[FaultState | None, ABSENT_WHEN_NONE, Field(description="Whether the fault is over.")] = None
    episodes: Annotated[
        tuple[Episode, ...] | None, ABSENT_WHEN_NONE, Field(description="Stretches of time in which it occurred.")
    ] = None
    episodes_total: Annotated[
        int | None, ABSENT_WHEN_NONE, Field(description="Only there when the last episodes alone are listed.")
    ] = None
    since: Annotated[
        datetime | None,
        ABSENT_WHEN_NONE,
        Field(description="When its last outbreak began; only there when that is not first_seen."),
    ] = None
    entities: Annotated[
        tuple[NamedEntity, ...],
        Field(exclude_if=lambda value: not value, description="Pods, devices, units … that its lines name."),
    ] = ()
    is_baseline: Annotated[
        bool | None, ABSENT_WHEN_NONE, Field(description="true when many bundles of the cluster show this pattern.")
    ] = None
    baseline_note: Annotated[
        str | None, ABSENT_WHEN_NONE, Field(description="How many bundles of the cluster show it.")
    ] = None


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
