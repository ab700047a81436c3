"""Gives a seldom failure its rule's own severity where it came while something else was broken.

One failed probe alone is noise. During an outage it is part of it.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from affidavit.evidence.finding import FaultState, Finding
from affidavit.evidence.severity import Severity
from affidavit.index.faults.fault_judgement import seldom_note
from affidavit.rules.rule import Rule

AROUND = timedelta(minutes=10)
NOTE = "Seldom enough to pass by itself, but it came while this was broken: {pattern}."
_LASTING = (FaultState.OPEN, FaultState.UNKNOWN)


def with_failures_beside_faults(told: Sequence[tuple[Rule, Finding]]) -> list[Finding]:
    faults = [finding for _, finding in told if finding.severity.is_at_least(Severity.HIGH) and _lasts(finding)]
    return [_judged(rule, finding, faults) for rule, finding in told]


def _judged(rule: Rule, finding: Finding, faults: Sequence[Finding]) -> Finding:
    repeated = rule.repeated
    # What is low because it was tried again and worked stays low.
    if repeated is None or not repeated.unless_beside_fault or finding.severity_note != seldom_note(repeated):
        return finding
    beside = next((fault for fault in faults if fault.rule != rule.id and _meet(finding, fault)), None)
    if beside is None:
        return finding
    return replace(finding, severity=rule.severity, severity_note=NOTE.format(pattern=beside.pattern))


def _lasts(finding: Finding) -> bool:
    return finding.state in _LASTING and finding.first_seen is not None


def _meet(finding: Finding, fault: Finding) -> bool:
    mine, its = _span(finding), _span(fault)
    return mine is not None and its is not None and mine[0] <= its[1] + AROUND and its[0] - AROUND <= mine[1]


def _span(finding: Finding) -> tuple[datetime, datetime] | None:
    if finding.first_seen is None or finding.last_seen is None:
        return None
    return finding.first_seen, finding.last_seen
