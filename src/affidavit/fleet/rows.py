"""Turns an index into rows of the fleet's tables."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TypeAlias

from affidavit.evidence.finding import Finding
from affidavit.index.findings_index import FindingsIndex
from affidavit.nodes.library.indexed_bundles import IndexMarker

Row: TypeAlias = Sequence[str | int | float | datetime | None]


def finding_rows(marker: IndexMarker, index: FindingsIndex) -> list[Row]:
    return [_finding(marker, finding) for finding in index.findings]


def node_row(marker: IndexMarker, index: FindingsIndex) -> Row:
    coverage, summary = index.coverage, index.summary
    return (
        marker.instance_id,
        marker.index_id,
        marker.bundle_id,
        _naive(marker.indexed_at),
        _naive(index.clock.collected_at),
        index.rules_version,
        coverage.files_scanned,
        coverage.total_files,
        coverage.coverage_pct,
        len(index.gaps),
        summary.critical,
        summary.high,
        summary.medium,
        summary.low,
        summary.info,
    )


def _finding(marker: IndexMarker, finding: Finding) -> Row:
    evidence = finding.evidence
    lines, span = evidence.line_range, evidence.byte_offset
    return (
        marker.instance_id,
        marker.index_id,
        _naive(marker.indexed_at),
        finding.finding_id,
        finding.rule,
        finding.severity.value,
        finding.pattern,
        finding.component,
        finding.signal,
        finding.count,
        _naive(finding.first_seen),
        _naive(finding.last_seen),
        evidence.source_file,
        evidence.full_key,
        lines.start if lines is not None else None,
        span.start if span is not None else None,
        span.end if span is not None else None,
        evidence.sha256,
    )


def _naive(moment: datetime | None) -> datetime | None:
    """Athena's TIMESTAMP has no zone; all of ours are UTC."""
    return moment.astimezone(UTC).replace(tzinfo=None) if moment is not None else None
