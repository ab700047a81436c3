"""From hits to findings: fold by (rule, file), order, number, and confirm criticals by independent sources."""

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from affidavit.bundle.layout import component_of, role_of
from affidavit.evidence.finding import (
    ByteRange,
    Confirmation,
    Evidence,
    Finding,
    LineRange,
    Occurrence,
    Suppressed,
    excerpt_of,
)
from affidavit.evidence.severity import Severity
from affidavit.index.clock import UNKNOWN, BundleClock, time_of
from affidavit.index.hits import FileHits
from affidavit.index.slots import Slot

# Occurrences listed beside the evidence; the count is exact however many there are.
LISTED = 100

SINGLE_SOURCE = (
    "Only one source shows this ({component}); check another before acting on it: the report of a second component "
    "would confirm it."
)


@dataclass(frozen=True, kw_only=True)
class ScannedText:
    """A scanned file as findings see it."""

    path: str
    full_key: str
    location: Path
    hits: FileHits


@dataclass(frozen=True, kw_only=True)
class _Group:
    """All hits of one slot in one file."""

    slot: Slot
    file: ScannedText
    rows: NDArray[np.int64]
    times: NDArray[np.int64]

    @property
    def first_seen(self) -> datetime | None:
        known = self.times[self.times != UNKNOWN]
        return time_of(int(known.min())) if len(known) else None

    @property
    def last_seen(self) -> datetime | None:
        known = self.times[self.times != UNKNOWN]
        return time_of(int(known.max())) if len(known) else None


@dataclass(frozen=True, kw_only=True)
class Built:
    findings: tuple[Finding, ...]
    suppressed: tuple[Suppressed, ...]
    untimed: Mapping[str, int]


def build_findings(files: Sequence[ScannedText], slots: Sequence[Slot], clock: BundleClock) -> Built:
    """`untimed` counts hits whose time could not be read, by file."""
    findings: list[Finding] = []
    suppressed: list[Suppressed] = []
    untimed: dict[str, int] = {}
    for file in files:
        for group in _groups(file, slots, clock):
            if group.slot.suppression is None:
                findings.append(_finding(group))
                untimed[file.path] = untimed.get(file.path, 0) + int(np.count_nonzero(group.times == UNKNOWN))
            else:
                suppressed.append(_suppressed(group, group.slot.suppression.id, group.slot.suppression.reason))
    return Built(
        findings=_numbered(_confirmed(findings)),
        suppressed=tuple(
            sorted(suppressed, key=lambda entry: (entry.suppression, entry.rule, entry.evidence.source_file))
        ),
        untimed={path: count for path, count in untimed.items() if count},
    )


def _groups(file: ScannedText, slots: Sequence[Slot], clock: BundleClock) -> Iterator[_Group]:
    hits = file.hits
    if not len(hits):
        return
    times = clock.resolve(hits.clock, hits.stamp)
    order = np.argsort(hits.slot, kind="stable")
    boundaries = np.flatnonzero(np.diff(hits.slot[order])) + 1
    for rows in np.split(order, boundaries):
        yield _Group(slot=slots[int(hits.slot[rows[0]])], file=file, rows=rows, times=times[rows])


def _finding(group: _Group) -> Finding:
    rule = group.slot.rule
    line = _line_at(group, 0)
    listed = min(len(group.rows), LISTED + 1)
    is_cut = listed < len(group.rows)
    return Finding(
        finding_id="",
        rule=rule.id,
        severity=rule.severity,
        pattern=rule.name,
        description=rule.means,
        component=component_of(line, role_of(group.file.path)),
        signal=rule.signal,
        count=len(group.rows),
        first_seen=group.first_seen,
        last_seen=group.last_seen,
        evidence=_evidence(group, line),
        additional_occurrences=tuple(_occurrences(group, listed)),
        occurrences_listed=listed if is_cut else None,
        occurrences_total=len(group.rows) if is_cut else None,
    )


def _suppressed(group: _Group, suppression: str, reason: str) -> Suppressed:
    return Suppressed(
        suppression=suppression,
        rule=group.slot.rule.id,
        pattern=group.slot.rule.name,
        reason=reason,
        count=len(group.rows),
        first_seen=group.first_seen,
        last_seen=group.last_seen,
        evidence=_evidence(group, _line_at(group, 0)),
    )


def _evidence(group: _Group, line: bytes) -> Evidence:
    hits, row = group.file.hits, int(group.rows[0])
    number = int(hits.line[row])
    return Evidence(
        source_file=group.file.path,
        full_key=group.file.full_key,
        excerpt=excerpt_of(line),
        line_range=LineRange(start=number, end=number),
        byte_offset=ByteRange(start=int(hits.start[row]), end=int(hits.end[row])),
        timestamp=time_of(int(group.times[0])),
        sha256=hashlib.sha256(line).hexdigest(),
    )


def _occurrences(group: _Group, listed: int) -> Iterator[Occurrence]:
    hits, rows = group.file.hits, group.rows[1:listed]
    columns = (
        hits.line[rows].tolist(),
        hits.start[rows].tolist(),
        hits.end[rows].tolist(),
        group.times[1:listed].tolist(),
    )
    for line, start, end, time in zip(*columns, strict=True):
        yield Occurrence(line=line, byte_offset=ByteRange(start=start, end=end), timestamp=time_of(time))


def _line_at(group: _Group, position: int) -> bytes:
    row = int(group.rows[position])
    start, end = int(group.file.hits.start[row]), int(group.file.hits.end[row])
    with group.file.location.open("rb", buffering=0) as file:
        return os.pread(file.fileno(), end - start, start)


def _confirmed(findings: Iterable[Finding]) -> list[Finding]:
    """Components, not files, are counted: a copy of a log is no second witness."""
    findings = list(findings)
    sources: dict[str, set[str]] = {}
    for finding in findings:
        sources.setdefault(finding.signal, set()).add(finding.component)
    return [_with_confirmation(finding, sources[finding.signal]) for finding in findings]


def _with_confirmation(finding: Finding, sources: set[str]) -> Finding:
    if finding.severity is not Severity.CRITICAL:
        return finding
    is_confirmed = len(sources) >= 2
    return replace(
        finding,
        confirmation=Confirmation(signals=len(sources), confirmed=is_confirmed, sources=tuple(sorted(sources))),
        severity_note=None if is_confirmed else SINGLE_SOURCE.format(component=finding.component),
    )


def _numbered(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    ordered = sorted(findings, key=_order)
    return tuple(replace(finding, finding_id=f"F-{number:03d}") for number, finding in enumerate(ordered, 1))


def _order(finding: Finding) -> tuple[int, bool, float, str, int, str]:
    """Severity, first time (unknown last), file, line; the rule decides between rules on one line."""
    lines = finding.evidence.line_range
    seen = finding.first_seen
    return (
        finding.severity.rank,
        seen is None,
        seen.timestamp() if seen is not None else 0.0,
        finding.evidence.source_file,
        lines.start if lines is not None else 0,
        finding.rule,
    )
