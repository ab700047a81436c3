"""Filters an index by severity and time, and counts what is left out."""

from dataclasses import dataclass, replace
from datetime import datetime

from affidavit.evidence.finding import Finding
from affidavit.evidence.finding_groups import distinct
from affidavit.evidence.severity import Severity
from affidavit.index.findings_index import FindingsIndex, Summary, summarize


@dataclass(frozen=True, kw_only=True)
class TimeWindow:
    """A finding is inside when any of its range is; one without a time is inside, for it cannot be ruled out."""

    since: datetime | None = None
    until: datetime | None = None

    def includes(self, finding: Finding) -> bool:
        if finding.first_seen is None or finding.last_seen is None:
            return True
        is_after = self.since is None or finding.last_seen >= self.since
        return is_after and (self.until is None or finding.first_seen <= self.until)


@dataclass(frozen=True, kw_only=True)
class View:
    """`index` holds only the findings that are shown; its summary counts all. `in_window` are all of the asked time.

    `counts` are of what is shown and `hidden` of the rest; what a copy of the same log repeats counts once.
    """

    index: FindingsIndex
    counts: Summary
    least: Severity
    hidden: Summary
    in_window: tuple[Finding, ...]
    below_severity: int
    outside_window: int


def view(index: FindingsIndex, *, least: Severity = Severity.INFO, window: TimeWindow | None = None) -> View:
    window = window or TimeWindow()
    severe = tuple(finding for finding in index.findings if finding.severity.is_at_least(least))
    in_window = tuple(finding for finding in index.findings if window.includes(finding))
    shown = tuple(finding for finding in in_window if finding.severity.is_at_least(least))
    kept = {finding.finding_id for finding in shown}
    return View(
        index=replace(index, findings=shown),
        counts=summarize(distinct(shown)),
        least=least,
        hidden=summarize(distinct(finding for finding in index.findings if finding.finding_id not in kept)),
        in_window=in_window,
        below_severity=len(index.findings) - len(severe),
        outside_window=len(severe) - len(shown),
    )
