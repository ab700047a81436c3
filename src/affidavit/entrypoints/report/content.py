"""The content of a report, in any format: findings grouped by rule, worst first, then what was not read."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby

from affidavit.bundle.manifest import Manifest
from affidavit.checks.check import Check
from affidavit.entrypoints.report.unread_files import is_cut_off, losses
from affidavit.evidence.coverage import Coverage
from affidavit.evidence.finding import FaultState, Finding, Suppressed
from affidavit.evidence.finding_groups import began, by_rule
from affidavit.evidence.severity import Severity
from affidavit.index.filtered import View
from affidavit.index.findings_index import FindingsIndex, Summary
from affidavit.knowledge import Knowledge
from affidavit.rules.rule import Rule

GAPS_LISTED = 30


@dataclass(frozen=True, kw_only=True)
class Trouble:
    """One rule's findings. The first represents them; the others are further places that show it."""

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
    """Counts the findings that are shown and those that a filter hides: a filter makes no node healthy."""
    is_shown = view.index.findings or not view.hidden.total
    shown = counts_line(view.counts) if is_shown else f"nothing {_asked(view)}"
    hidden = f"; not shown: {counts_line(view.hidden)}" if view.hidden.total else ""
    return f"{shown}{hidden}{'; part of the bundle was not read' if is_cut_off(view.index.coverage) else ''}"


def _asked(view: View) -> str:
    level = f"at {view.least.value} or above" if view.below_severity else ""
    return " ".join(part for part in (level, "in the asked time" if view.outside_window else "") if part)


def span_of(findings: Iterable[Finding]) -> tuple[datetime, datetime] | None:
    """From the beginning of the trouble (of medium or above, if there is any) to when it was last seen."""
    findings = list(findings)
    start, last = began(findings), max((found.last_seen for found in findings if found.last_seen), default=None)
    return (start, last) if start is not None and last is not None else None


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
    """Helps to judge a finding: what was measured, whether it is over, who confirms it, why it has its severity."""
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
    if finding.state is FaultState.RECOVERED:
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
    """Gives no percentage when the archive is cut off: the total is not known."""
    scanned, total = _megabytes(coverage.bytes_scanned, coverage.total_bytes)
    if is_cut_off(coverage):
        return f"{coverage.files_scanned} files scanned, {scanned} MB; how much more there was cannot be told"
    share = f"{coverage.files_scanned} of {coverage.total_files} files scanned ({coverage.coverage_pct} %)"
    return f"{share}, {scanned} of {total} MB"


def _megabytes(part: int, whole: int) -> tuple[str, str]:
    """Both sizes, with enough digits to tell them apart."""
    for digits in range(1, 6):
        written = f"{part / 1e6:,.{digits}f}", f"{whole / 1e6:,.{digits}f}"
        if part == whole or written[0] != written[1]:
            return written
    return f"{part / 1e6:,.6f}", f"{whole / 1e6:,.6f}"


def gap_lines(index: FindingsIndex) -> list[str]:
    """The first gaps: a bad archive may have thousands."""
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


def nothing_to_do(view: View, manifest: Manifest) -> str:
    """The last word on a quiet node, after what was looked at. Empty when something was found, hidden or not read."""
    summary = view.index.summary
    if summary.critical or summary.high or summary.medium or losses(manifest, view.index.coverage):
        return ""
    return "Nothing known needs action."


def health_warning(view: View) -> str:
    """No findings is a statement about what was read, not about the node. Empty when there are any, shown or not."""
    if view.index.findings or view.hidden.total:
        return ""
    return (
        f"No known fault in the {view.index.coverage.files_scanned} files that were read. "
        "That says nothing about what the bundle does not hold."
    )
