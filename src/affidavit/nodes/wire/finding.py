"""Findings as answers carry them: in full, or one short row each."""

from dataclasses import replace
from datetime import datetime
from typing import Annotated

from pydantic import Field

from affidavit.evidence.finding import ABSENT_WHEN_NONE, Finding, FindingId
from affidavit.evidence.severity import Severity
from affidavit.wire.records import WireRecord

# Occurrences listed beside the evidence; read and search show the others.
_OCCURRENCES = 5


class ConciseFinding(WireRecord):
    """`file`, `line` and `excerpt` in search; `first_seen` and `last_seen` in correlate."""

    finding_id: FindingId
    severity: Severity = Field(description="How bad it is.")
    pattern: str = Field(description="Short name of what was found.")
    count: int = Field(description="Exact number of occurrences.")
    file: Annotated[str | None, ABSENT_WHEN_NONE] = Field(default=None, description="Path in the bundle.")
    line: Annotated[int | None, ABSENT_WHEN_NONE] = Field(default=None, description="Line number, 1-based.")
    excerpt: Annotated[str | None, ABSENT_WHEN_NONE] = Field(default=None, description="The beginning of the line.")
    first_seen: Annotated[datetime | None, ABSENT_WHEN_NONE] = Field(default=None, description="UTC.")
    last_seen: Annotated[datetime | None, ABSENT_WHEN_NONE] = Field(default=None, description="UTC.")

    @classmethod
    def of(cls, finding: Finding) -> "ConciseFinding":
        return cls(
            finding_id=finding.finding_id, severity=finding.severity, pattern=finding.pattern, count=finding.count
        )


def with_few_occurrences(finding: Finding) -> Finding:
    listed = finding.additional_occurrences[:_OCCURRENCES]
    if len(listed) == len(finding.additional_occurrences):
        return finding
    return replace(
        finding,
        additional_occurrences=listed,
        occurrences_listed=len(listed) + 1,
        occurrences_total=finding.occurrences_total or finding.count,
    )
