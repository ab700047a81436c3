"""Turns hits into findings: folds them by (rule, file), orders, numbers, and confirms criticals."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np

from affidavit.bundle.byte_range_reader import Spans
from affidavit.bundle.file_roles import component_of
from affidavit.bundle.log_envelopes import unwrapped
from affidavit.evidence.finding import (
    LISTED,
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
from affidavit.evidence.utf16 import text_of
from affidavit.index.faults.episodes import (
    in_order,
    last_outbreak,
)
from affidavit.index.faults.failures_beside_faults import with_failures_beside_faults
from affidavit.index.faults.fault_judgement import FaultContext, judge, standing_for_all, state_of
from affidavit.index.faults.hit_groups import HitGroup, ScannedText, groups_of, line_at, sample_lines
from affidavit.index.scanning.rule_matching import LineMeaning, Slot
from affidavit.index.times.bundle_clock import UNKNOWN, BundleClock, time_of, times_of

# Of a fault that came and went often, the last spans are told.
EPISODES = 20
# A fault that paused for so long came anew.
NEW_OUTBREAK_SECONDS = 3600
SINGLE_SOURCE = (
    "Only one source shows this ({component}); check another before acting on it: the report of a second component "
    "would confirm it."
)


@dataclass(frozen=True, kw_only=True)
class Built:
    findings: tuple[Finding, ...]
    suppressed: tuple[Suppressed, ...]
    untimed: Mapping[str, int]


def build_findings(
    files: Sequence[ScannedText], slots: Sequence[Slot], clock: BundleClock, measured: Iterable[Finding] = ()
) -> Built:
    """`measured` findings of checks are ordered, numbered and confirmed with those of rules.

    `untimed` counts hits whose time could not be read, by file.
    """
    with closing(Spans()) as reader:
        groups = [group for file in files for group in groups_of(file, slots, clock, reader)]
        return _built(groups, clock, measured)


def _built(groups: Sequence[HitGroup], clock: BundleClock, measured: Iterable[Finding]) -> Built:
    context = FaultContext(groups, clock)
    faults = [group for group in groups if group.slot.says is LineMeaning.FAULT]
    untimed: Counter[str] = Counter()
    for group in faults:
        untimed[group.file.path] += int(np.count_nonzero(group.times == UNKNOWN))
    told = [(group.slot.rule, _finding(group, context)) for group in faults]
    return Built(
        findings=_numbered(_confirmed([*with_failures_beside_faults(told), *measured])),
        suppressed=tuple(sorted(_suppressions(groups), key=_suppressed_order)),
        untimed={path: count for path, count in untimed.items() if count},
    )


def _finding(group: HitGroup, context: FaultContext) -> Finding:
    rule = group.slot.rule
    judged = judge(group, context)
    quoted = standing_for_all(group, context, judged)
    line = line_at(group, quoted)
    listed = min(len(group.rows), LISTED + 1)
    is_cut = listed < len(group.rows)
    return Finding(
        finding_id="",
        rule=rule.id,
        severity=judged.severity,
        pattern=rule.name,
        description=rule.means,
        component=component_of(unwrapped(text_of(line).encode()), group.file.role),
        signal=rule.signal,
        count=len(group.rows),
        first_seen=group.first_seen,
        last_seen=group.last_seen,
        evidence=_evidence(group, quoted, line),
        additional_occurrences=tuple(_occurrences(group, quoted, listed)),
        occurrences_listed=listed if is_cut else None,
        occurrences_total=len(group.rows) if is_cut else None,
        severity_note=judged.note,
        state=judged.state or state_of(group, context),
        episodes=judged.episodes[-EPISODES:] if judged.episodes is not None else None,
        episodes_total=len(judged.episodes) if judged.episodes and len(judged.episodes) > EPISODES else None,
        since=_since(group),
        entities=rule.names_in.names(sample_lines(group, quoted, line)),
    )


def _since(group: HitGroup) -> datetime | None:
    """When its last outbreak began, where that is not when it was first seen."""
    known = in_order(group.times)
    if len(known) < 2:
        return None
    start = last_outbreak(known, NEW_OUTBREAK_SECONDS)
    return time_of(start) if start != int(known[0]) else None


def _suppressions(groups: Iterable[HitGroup]) -> Iterator[Suppressed]:
    for group in groups:
        if group.slot.suppression is not None:
            yield _suppressed(group, group.slot.suppression.id, group.slot.suppression.reason)


def _suppressed_order(entry: Suppressed) -> tuple[str, str, str]:
    return entry.suppression, entry.rule, entry.evidence.source_file


def _suppressed(group: HitGroup, suppression: str, reason: str) -> Suppressed:
    return Suppressed(
        suppression=suppression,
        rule=group.slot.rule.id,
        pattern=group.slot.rule.name,
        reason=reason,
        count=len(group.rows),
        first_seen=group.first_seen,
        last_seen=group.last_seen,
        evidence=_evidence(group, 0, line_at(group, 0)),
    )


def _evidence(group: HitGroup, position: int, line: bytes) -> Evidence:
    hits, row = group.file.hits, int(group.rows[position])
    number, (start, end) = int(hits.line[row]), hits.span(row)
    return Evidence(
        source_file=group.file.path,
        full_key=group.file.full_key,
        excerpt=excerpt_of(line),
        line_range=LineRange(start=number, end=number),
        byte_offset=ByteRange(start=start, end=end),
        timestamp=time_of(int(group.times[position])),
        sha256=hashlib.sha256(line).hexdigest(),
    )


def _occurrences(group: HitGroup, quoted: int, listed: int) -> Iterator[Occurrence]:
    """All but the quoted one, as many as are listed."""
    positions = np.flatnonzero(np.arange(listed) != quoted)[: listed - 1]
    hits, rows = group.file.hits, group.rows[positions]
    columns = (
        hits.line[rows].tolist(),
        hits.start[rows].tolist(),
        (hits.start[rows] + hits.length[rows]).tolist(),
        times_of(group.times[positions]),
    )
    for line, start, end, time in zip(*columns, strict=True):
        yield Occurrence(line=line, byte_offset=ByteRange(start=start, end=end), timestamp=time)


def _confirmed(findings: list[Finding]) -> list[Finding]:
    """Components, not files, are counted: a copy of a log is no second witness."""
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
        severity_note=finding.severity_note if is_confirmed else SINGLE_SOURCE.format(component=finding.component),
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
