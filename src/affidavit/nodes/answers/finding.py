"""Findings and evidence as answers carry them."""

from datetime import datetime
from typing import Annotated

from pydantic import Field

from affidavit.evidence.finding import ABSENT_WHEN_NONE, Evidence, Finding, State
from affidavit.evidence.severity import Severity
from affidavit.nodes.answers.wire import Wire

FindingId = Annotated[str, Field(description="Cite this id, together with index_id, in anything you report.")]


class LineSpan(Wire):
    start: int = Field(description="1-based.")
    end: int = Field(description="Included.")


class ByteSpan(Wire):
    start: int = Field(description="First byte, counted from 0.")
    end: int = Field(description="Exclusive; the line end is not part of it.")


class EvidenceRecord(Wire):
    """One line of one file, which anybody can re-read: the bytes at byte_offset of full_key have this sha256."""

    source_file: str = Field(description="Path in the bundle.")
    full_key: str = Field(description="Object key of the file; pass it to read.")
    excerpt: str = Field(description="The line as it is stored, its first 500 characters. Quote it verbatim.")
    line_range: LineSpan | None = Field(description="null only in an index of version 1.")
    byte_offset: ByteSpan | None = Field(description="null only in an index of version 1.")
    timestamp: datetime | None = Field(description="UTC; null when the line's time could not be read.")
    sha256: str | None = Field(description="Of the bytes at byte_offset; null only in an index of version 1.")

    @classmethod
    def of(cls, evidence: Evidence) -> "EvidenceRecord":
        return cls.model_validate(evidence)


class OccurrenceRecord(Wire):
    line: int = Field(description="Line number, 1-based.")
    byte_offset: ByteSpan | None = Field(description="Where its bytes are.")
    timestamp: datetime | None = Field(description="UTC; null when the line's time could not be read.")


class ConfirmationRecord(Wire):
    """Whether a critical finding is shown by two independent components."""

    signals: int = Field(description="Independent components that show it.")
    confirmed: bool = Field(description="true when there are at least two.")
    sources: list[str] = Field(description="These components.")


class EpisodeRecord(Wire):
    start: datetime = Field(description="Its first line, UTC.")
    end: datetime = Field(description="Its last line, UTC.")
    count: int = Field(description="Occurrences in it.")
    cleared_at: datetime | None = Field(description="When a line said that it was over.")


class ConciseFinding(Wire):
    finding_id: FindingId
    severity: Severity = Field(description="How bad it is.")
    pattern: str = Field(description="Short name of what was found.")
    count: int = Field(description="Exact number of occurrences.")

    @classmethod
    def of(cls, finding: Finding) -> "ConciseFinding":
        return cls(
            finding_id=finding.finding_id, severity=finding.severity, pattern=finding.pattern, count=finding.count
        )


class FindingRecord(Wire):
    """A fault that one rule found in one file."""

    finding_id: FindingId
    rule: str = Field(description="Id of the rule that found it.")
    severity: Severity = Field(description="How bad it is.")
    pattern: str = Field(description="Short name of what was found.")
    description: str = Field(description="What it means.")
    component: str = Field(description="Who wrote the line: kernel, kubelet, containerd, cni …")
    signal: str = Field(description="The family of trouble it belongs to.")
    count: int = Field(description="Exact number of occurrences, however many are listed.")
    first_seen: datetime | None = Field(description="UTC; null when no line had a time.")
    last_seen: datetime | None = Field(description="UTC; null when no line had a time.")
    evidence: EvidenceRecord = Field(description="The occurrence that stands for all.")
    additional_occurrences: list[OccurrenceRecord] = Field(description="The other lines, at most 100 of them.")
    occurrences_listed: Annotated[int | None, ABSENT_WHEN_NONE] = Field(
        default=None, description="Only there when not all occurrences are listed."
    )
    occurrences_total: Annotated[int | None, ABSENT_WHEN_NONE] = Field(
        default=None, description="How many there are; only there when not all are listed."
    )
    confirmation: Annotated[ConfirmationRecord | None, ABSENT_WHEN_NONE] = Field(
        default=None, description="Only on critical findings."
    )
    severity_note: Annotated[str | None, ABSENT_WHEN_NONE] = Field(
        default=None, description="Why the severity wants checking, or why it was changed."
    )
    detail: Annotated[str | None, ABSENT_WHEN_NONE] = Field(default=None, description="The measured fact, of a check.")
    state: Annotated[State | None, ABSENT_WHEN_NONE] = Field(default=None, description="Whether the fault is over.")
    episodes: Annotated[list[EpisodeRecord] | None, ABSENT_WHEN_NONE] = Field(
        default=None, description="Stretches of time in which it occurred."
    )
    episodes_total: Annotated[int | None, ABSENT_WHEN_NONE] = Field(
        default=None, description="How many there are; only there when the last ones alone are listed."
    )
    is_baseline: Annotated[bool | None, ABSENT_WHEN_NONE] = Field(
        default=None, description="true when many bundles of the cluster show this pattern."
    )
    baseline_note: Annotated[str | None, ABSENT_WHEN_NONE] = Field(
        default=None, description="How many bundles of the cluster show it, and what that means."
    )

    @classmethod
    def of(cls, finding: Finding) -> "FindingRecord":
        return cls.model_validate(finding)
