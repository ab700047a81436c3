"""Counts which files were scanned and lists those that were not, with the reason.

An empty list of findings says nothing without it.
"""

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
    NOT_RECOGNISED = "not_recognised"
    """Only general rules could be applied."""
    COMPRESSION = "compression"
    """Compressed in a form that is not read."""


# The list is cut at SKIPPED_LISTED: files that may hide faults come first.
_WORST_FIRST = (
    SkipReason.UNREADABLE,
    SkipReason.TOO_LARGE,
    SkipReason.COMPRESSION,
    SkipReason.NOT_RECOGNISED,
    SkipReason.NOT_LOG,
    SkipReason.BINARY,
    SkipReason.CONFIG_FILE,
)

_LOST = (SkipReason.UNREADABLE, SkipReason.TOO_LARGE, SkipReason.COMPRESSION, SkipReason.NOT_RECOGNISED)


@dataclass(frozen=True, kw_only=True, slots=True)
class SkippedFile:
    file: Annotated[str, Field(description="Path in the bundle.")]
    reason: Annotated[SkipReason, Field(description="Why it was not read.")]
    size_bytes: Annotated[int, Field(description="Size of the file.")]


@dataclass(frozen=True, kw_only=True, slots=True)
class Coverage:
    """What was looked at. Finding nothing means nothing where coverage is thin."""

    files_scanned: Annotated[int, Field(description="Files that were read in full.")]
    total_files: Annotated[int, Field(description="Files there are.")]
    coverage_pct: Annotated[
        float, Field(ge=0, le=100, description="Share of files that were read in full, in percent.")
    ]
    bytes_scanned: Annotated[int, Field(description="Bytes that were read.")]
    total_bytes: Annotated[int, Field(description="Bytes of all files.")]
    skipped_files: Annotated[
        tuple[SkippedFile, ...], Field(description="Some of the files that were not read, worst first.")
    ]
    skipped_total: Annotated[int, Field(description="How many files were not read, listed or not.")]

    @property
    def lost_files(self) -> tuple[SkippedFile, ...]:
        """Listed files that may hide faults: they should have been read in full and were not."""
        return tuple(skipped for skipped in self.skipped_files if skipped.reason in _LOST)


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
