"""Computes how far an answer can be trusted. Every answer that interprets evidence uses this one function."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

if TYPE_CHECKING:
    # A diagnosis has a confidence, and neither findings nor files: whoever needs only that loads only that.
    from affidavit.evidence.coverage import Coverage
    from affidavit.evidence.finding import Finding

WELL_COVERED = 90.0
PARTLY_COVERED = 70.0


class Level(StrEnum):
    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


@dataclass(frozen=True, kw_only=True, slots=True)
class Confidence:
    """How far an answer can be trusted."""

    level: Annotated[Level, Field(description="high, medium or low.")]
    basis: Annotated[str, Field(description="What the level rests on.")]
    gaps: Annotated[tuple[str, ...], Field(description="What could not be seen. Repeat each in a report.")]


def confidence(coverage: "Coverage", findings: "Sequence[Finding]", gaps: Sequence[str] = ()) -> Confidence:
    """`gaps` are what the caller could not see; unconfirmed criticals and thin coverage are added here.

    Thin coverage already decides the starting level; any other gap lowers it by one.
    """
    other_gaps = (*_unconfirmed(findings), *gaps)
    level = _starting_level(coverage.coverage_pct, len(findings))
    if other_gaps:
        level = {Level.HIGH: Level.MEDIUM}.get(level, Level.LOW)
    counted = f"{len(findings)} finding{'' if len(findings) == 1 else 's'}"
    return Confidence(
        level=level,
        basis=f"{coverage.files_scanned} of {coverage.total_files} files ({coverage.coverage_pct} %), {counted}",
        gaps=(*_thin_coverage(coverage), *other_gaps),
    )


def _starting_level(coverage_pct: float, findings: int) -> Level:
    if coverage_pct >= WELL_COVERED and findings:
        return Level.HIGH
    if coverage_pct >= PARTLY_COVERED or findings:
        return Level.MEDIUM
    return Level.LOW


def _unconfirmed(findings: "Sequence[Finding]") -> list[str]:
    return [
        f"{finding.finding_id} ({finding.pattern}) is critical and rests on one source"
        for finding in findings
        if finding.confirmation is not None and not finding.confirmation.confirmed
    ]


def _thin_coverage(coverage: "Coverage") -> list[str]:
    if coverage.coverage_pct >= WELL_COVERED:
        return []
    return [f"coverage is {coverage.coverage_pct} %: not scanned: {_not_scanned(coverage)}"]


def _not_scanned(coverage: "Coverage") -> str:
    """The names that are listed; how many there are where none is."""
    if not coverage.skipped_total:
        return "nothing was there to scan"
    names = [skipped.file for skipped in coverage.skipped_files]
    if not names:
        return f"{coverage.skipped_total} file{'' if coverage.skipped_total == 1 else 's'}"
    unlisted = coverage.skipped_total - len(names)
    return ", ".join(names) + (f" and {unlisted} more" if unlisted else "")
