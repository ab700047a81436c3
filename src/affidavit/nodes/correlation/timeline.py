"""Findings in the order they began, and what happened together."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from affidavit.evidence.finding import Evidence, Finding
from affidavit.evidence.severity import Severity


@dataclass(frozen=True, kw_only=True)
class Event:
    """A finding at the moment it began, and how it went on. `source` is the component that reported it."""

    finding_id: str
    timestamp: datetime
    source: str
    severity: Severity
    event: str
    count: int
    last_seen: datetime | None
    signal: str
    evidence: Evidence


@dataclass(frozen=True, kw_only=True)
class Cluster:
    """Events that follow each other without a gap longer than the window."""

    cluster_id: str
    start_time: datetime
    end_time: datetime
    event_count: int
    dominant_severity: Severity
    events: tuple[str, ...]


def timeline(findings: Iterable[Finding]) -> list[Event]:
    """Findings whose beginning is known, earliest first; the others cannot be placed and are left to the caller."""
    events = [_event(finding, finding.first_seen) for finding in findings if finding.first_seen is not None]
    return sorted(events, key=lambda event: (event.timestamp, event.severity.rank, event.finding_id))


def clusters(events: Sequence[Event], window: timedelta) -> list[Cluster]:
    """`events` in time order. A gap longer than `window` starts a new cluster; one exactly as long does not."""
    groups: list[list[Event]] = []
    for event in events:
        if groups and event.timestamp - groups[-1][-1].timestamp <= window:
            groups[-1].append(event)
        else:
            groups.append([event])
    return [_cluster(number, group) for number, group in enumerate(groups, 1)]


def _event(finding: Finding, began: datetime) -> Event:
    return Event(
        finding_id=finding.finding_id,
        timestamp=began,
        source=finding.component,
        severity=finding.severity,
        event=finding.pattern,
        count=finding.count,
        last_seen=finding.last_seen,
        signal=finding.signal,
        evidence=finding.evidence,
    )


def _cluster(number: int, events: list[Event]) -> Cluster:
    return Cluster(
        cluster_id=f"C-{number:03d}",
        start_time=events[0].timestamp,
        end_time=events[-1].timestamp,
        event_count=len(events),
        dominant_severity=min((event.severity for event in events), key=lambda severity: severity.rank),
        events=tuple(event.finding_id for event in events),
    )
