"""What was looked at, and what was not, and why. Emptiness means nothing without this."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from pydantic import Field

SKIPPED_LISTED = 20


class SkipReason(StrEnum):
    TOO_LARGE = "too_large"
    BINARY = "binary"
    CONFIG_FILE = "config_file"
    NOT_LOG = "not_log"
    UNREADABLE = "unreadable"


# A file that could not be read hides faults; a configuration copy does not. The worst come first.
_WORST_FIRST = (
    SkipReason.UNREADABLE,
    SkipReason.TOO_LARGE,
    SkipReason.NOT_LOG,
    SkipReason.BINARY,
    SkipReason.CONFIG_FILE,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class SkippedFile:
    file: str
    reason: SkipReason
    size_bytes: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Coverage:
    files_scanned: int
    total_files: int
    coverage_pct: Annotated[float, Field(ge=0, le=100)]
    bytes_scanned: int
    total_bytes: int
    skipped_files: tuple[SkippedFile, ...]
    skipped_total: int

    @property
    def lost_files(self) -> tuple[SkippedFile, ...]:
        """Listed files that should have been read and could not be."""
        lost = (SkipReason.UNREADABLE, SkipReason.TOO_LARGE)
        return tuple(skipped for skipped in self.skipped_files if skipped.reason in lost)


def cover(*, scanned_sizes: Iterable[int], skipped: Sequence[SkippedFile]) -> Coverage:
    sizes = tuple(scanned_sizes)
    total = len(sizes) + len(skipped)
    by_weight = sorted(skipped, key=lambda entry: (_WORST_FIRST.index(entry.reason), entry.file))
    return Coverage(
        files_scanned=len(sizes),
        total_files=total,
        coverage_pct=_percentage(len(sizes), total),
        bytes_scanned=sum(sizes),
        total_bytes=sum(sizes) + sum(entry.size_bytes for entry in skipped),
        skipped_files=tuple(by_weight[:SKIPPED_LISTED]),
        skipped_total=len(skipped),
    )


def _percentage(part: int, whole: int) -> float:
    """One decimal; 100.0 only when nothing is missing, and an empty bundle is 0."""
    if whole == 0:
        return 0.0
    return 100.0 if part == whole else min(99.9, round(100 * part / whole, 1))
