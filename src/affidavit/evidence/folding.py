"""Findings of one rule together: a log is in a bundle more than once, and one trouble should not fill the screen."""

from collections.abc import Iterable

from affidavit.evidence.finding import Finding


def by_rule(findings: Iterable[Finding]) -> list[tuple[Finding, ...]]:
    """In the order of the findings, so the worst and earliest rule leads, and the first of each stands for it."""
    folded: dict[str, list[Finding]] = {}
    for finding in findings:
        folded.setdefault(finding.rule, []).append(finding)
    return [tuple(found) for found in folded.values()]
