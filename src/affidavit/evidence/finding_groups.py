"""Groups findings by rule and tells copies apart: a bundle holds some logs more than once."""

import re
from collections.abc import Iterable
from datetime import datetime

from affidavit.evidence.finding import Finding
from affidavit.evidence.severity import Severity

# What differs between copies of a line: its time, and what a journal or a container log puts in front of it.
_PREFIX = re.compile(
    r"(?:\d{4}-\d\d-\d\dT\S+ std(?:out|err) [FP] )?"
    r"(?:\[[^\]]{1,32}\] ?|"
    r"(?:[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d\S*|\d{4}-\d\d-\d\dT\S+) (?:\S+ )?[^\s\[:]+(?:\[\d+\])?: )?"
)


def by_rule(findings: Iterable[Finding]) -> list[tuple[Finding, ...]]:
    """Groups are in the order of their first finding, which represents the group: worst and earliest first."""
    folded: dict[str, list[Finding]] = {}
    for finding in findings:
        folded.setdefault(finding.rule, []).append(finding)
    return [tuple(found) for found in folded.values()]


def distinct(findings: Iterable[Finding]) -> list[Finding]:
    """Without findings that a copy of the same log repeats: same rule, same component, same line but for its prefix."""
    return list({_what_it_says(finding): finding for finding in reversed(list(findings))}.values())[::-1]


def began(findings: Iterable[Finding]) -> datetime | None:
    """When the trouble began: the first finding of medium or above; of any where there is none."""
    timed = [(finding.severity, finding.first_seen) for finding in findings if finding.first_seen is not None]
    serious = [seen for severity, seen in timed if severity.is_at_least(Severity.MEDIUM)]
    return min(serious or [seen for _, seen in timed], default=None)


def _what_it_says(finding: Finding) -> tuple[str, str, str]:
    text = finding.evidence.excerpt
    found = _PREFIX.match(text)
    return finding.rule, finding.component, text[found.end() :] if found is not None else text
