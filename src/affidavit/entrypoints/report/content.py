"""What a report says, before it takes a form: findings of one rule together, worst first, then what was not seen."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby

from affidavit.checks.check import Check
from affidavit.entrypoints.report.losses import is_cut_off
from affidavit.evidence.coverage import Coverage
from affidavit.evidence.finding import Finding, State, Suppressed
from affidavit.evidence.folding import by_rule
from affidavit.evidence.severity import Severity
from affidavit.index.record import FindingsIndex, Summary
from affidavit.index.view import View
from affidavit.knowledge import Knowledge
from affidavit.rules.rule import Rule

GAPS_LISTED = 30


@dataclass(frozen=True, kw_only=True)
class Trouble:
    """One rule's findings: the first stands for it, the others are further places that show it."""

    rule: Rule | Check
    findings: tuple[Finding, ...]

    @property
    def lead(self) -> Finding:
        return self.findings[0]

    @property
    def others(self) -> tuple[Finding, ...]:
        return self.findings[1:]


def troubles(findings: Iterable[Finding], knowledge: Knowledge) -> list[Trouble]:
    return [Trouble(rule=knowledge.rule(found[0].rule), findings=found) for found in by_rule(findings)]


def counts_line(summary: Summary) -> str:
    parts = [f"{getattr(summary, level.value)} {level.value}" for level in Severity if getattr(summary, level.value)]
    return " · ".join(parts) if parts else "no findings"


def headline(view: View) -> str:
    """What was found and shown, and in the same breath what was found and is not: a filter makes no node healthy."""
    is_shown = view.index.findings or not view.hidden.total
    shown = counts_line(view.index.summary) if is_shown else f"nothing {_asked(view)}"
    hidden = f"; not shown: {counts_line(view.hidden)}" if view.hidden.total else ""
    return f"{shown}{hidden}{'; part of the bundle was not read' if is_cut_off(view.index.coverage) else ''}"


def _asked(view: View) -> str:
    level = f"at {view.least.value} or above" if view.below_severity else ""
    return " ".join(part for part in (level, "in the asked time" if view.outside_window else "") if part)


def span_of(findings: Iterable[Finding]) -> tuple[datetime, datetime] | None:
    spans = [(found.first_seen, found.last_seen) for found in findings if found.first_seen and found.last_seen]
    return (min(first for first, _ in spans), max(last for _, last in spans)) if spans else None


def moment(value: datetime | None) -> str:
    return value.strftime("%Y-%m-%d %H:%M:%S") if value is not None else "time unknown"


def when(finding: Finding) -> str:
    first, last = finding.first_seen, finding.last_seen
    if first is None or last is None:
        return "time unknown"
    if first == last:
        return moment(first)
    same_day = first.date() == last.date()
    return f"{moment(first)} → {last.strftime('%H:%M:%S') if same_day else moment(last)}"


def place(finding: Finding) -> str:
    lines = finding.evidence.line_range
    return f"{finding.evidence.source_file}:{lines.start if lines is not None else '?'}"


def notes(finding: Finding) -> list[str]:
    """What bears on how seriously to take it: what was measured, whether it is over, who confirms it, why its level."""
    lines = [f"Measured: {finding.detail}." if finding.detail else "", state_line(finding)]
    if finding.confirmation is not None and finding.confirmation.confirmed:
        lines.append(f"Confirmed by independent sources: {', '.join(finding.confirmation.sources)}.")
    lines.append(finding.severity_note or "")
    return [line for line in lines if line]


def state_line(finding: Finding) -> str:
    if not finding.episodes:
        return ""
    last, times = finding.episodes[-1], finding.episodes_total or len(finding.episodes)
    often = f"{times} episodes, the last " if times > 1 else ""
    if finding.state is State.RECOVERED:
        return f"Recovered: {often}{moment(last.start)} → {moment(last.end)}, cleared {moment(last.cleared_at)}."
    return f"Still open: {often}since {moment(last.start)}, no line says that it is over."


def coverage_lines(coverage: Coverage) -> list[str]:
    lines = [_scanned_line(coverage)]
    reasons = Counter(skipped.reason.value for skipped in coverage.skipped_files)
    if reasons:
        listed = ", ".join(f"{count} {reason}" for reason, count in reasons.items())
        unlisted = coverage.skipped_total - len(coverage.skipped_files)
        lines.append(f"Not scanned: {listed}{f', {unlisted} more' if unlisted else ''}")
    lines.extend(f"{skipped.file}: {skipped.reason.value}" for skipped in coverage.lost_files)
    return lines


def _scanned_line(coverage: Coverage) -> str:
    """A share of what was listed would look like nearly all where the end of the list is missing."""
    scanned, total = _megabytes(coverage.bytes_scanned, coverage.total_bytes)
    if is_cut_off(coverage):
        return f"{coverage.files_scanned} files scanned, {scanned} MB; how much more there was cannot be told"
    share = f"{coverage.files_scanned} of {coverage.total_files} files scanned ({coverage.coverage_pct} %)"
    return f"{share}, {scanned} of {total} MB"


def _megabytes(part: int, whole: int) -> tuple[str, str]:
    """With as many digits as it takes to tell them apart, up to bytes."""
    for digits in range(1, 6):
        written = f"{part / 1e6:,.{digits}f}", f"{whole / 1e6:,.{digits}f}"
        if part == whole or written[0] != written[1]:
            return written
    return f"{part / 1e6:,.6f}", f"{whole / 1e6:,.6f}"


def gap_lines(index: FindingsIndex) -> list[str]:
    """The first gaps; an archive of thousands of refused members is not listed on a screen."""
    unlisted = len(index.gaps) - GAPS_LISTED
    more = [f"and {unlisted} more, all in findings_index.json and manifest.json"] if unlisted > 0 else []
    return [*index.gaps[:GAPS_LISTED], *more]


def suppressed_lines(suppressed: Iterable[Suppressed]) -> list[str]:
    by_reason = groupby(suppressed, key=lambda entry: (entry.suppression, entry.pattern, entry.reason))
    return [
        f"{pattern}: {sum(entry.count for entry in entries)} hits explained by {suppression}: {reason}"
        for (suppression, pattern, reason), entries in by_reason
    ]


def left_out_lines(view: View) -> list[str]:
    lines: list[str] = []
    if view.below_severity:
        lines.append(f"{_counted(view.below_severity)} below the asked severity")
    if view.outside_window:
        lines.append(f"{_counted(view.outside_window)} outside the asked time")
    return lines


def _counted(number: int) -> str:
    return f"{number} finding{'' if number == 1 else 's'}"


def health_warning(view: View) -> str:
    """No findings is a statement about what was read, not about the node. Empty when there are any, shown or not."""
    if view.index.findings or view.hidden.total:
        return ""
    return (
        f"No known fault in the {view.index.coverage.files_scanned} files that were read. "
        "That says nothing about what the bundle does not hold."
    )
