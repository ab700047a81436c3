"""What a report says, before it takes a form: findings of one rule together, worst first, then what was not seen."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby

from affidavit.checks.check import Check
from affidavit.evidence.coverage import Coverage
from affidavit.evidence.finding import Finding, State, Suppressed
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
    """In the order of the findings, so the worst and earliest rule leads."""
    by_rule: dict[str, list[Finding]] = {}
    for finding in findings:
        by_rule.setdefault(finding.rule, []).append(finding)
    return [Trouble(rule=knowledge.rule(rule), findings=tuple(found)) for rule, found in by_rule.items()]


def counts_line(summary: Summary) -> str:
    parts = [f"{getattr(summary, level.value)} {level.value}" for level in Severity if getattr(summary, level.value)]
    return " · ".join(parts) if parts else "no findings"


def headline(view: View) -> str:
    """What was found and shown, and in the same breath what was found and is not: a filter makes no node healthy."""
    if not view.hidden.total:
        return counts_line(view.index.summary)
    shown = counts_line(view.index.summary) if view.index.findings else f"nothing {_asked(view)}"
    return f"{shown}; not shown: {counts_line(view.hidden)}"


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
    lines = [
        f"{coverage.files_scanned} of {coverage.total_files} files scanned ({coverage.coverage_pct} %), "
        f"{coverage.bytes_scanned / 1e6:,.1f} of {coverage.total_bytes / 1e6:,.1f} MB"
    ]
    reasons = Counter(skipped.reason.value for skipped in coverage.skipped_files)
    if reasons:
        listed = ", ".join(f"{count} {reason}" for reason, count in reasons.items())
        unlisted = coverage.skipped_total - len(coverage.skipped_files)
        lines.append(f"Not scanned: {listed}{f', {unlisted} more' if unlisted else ''}")
    lines.extend(f"{skipped.file}: {skipped.reason.value}" for skipped in coverage.lost_files)
    return lines


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
