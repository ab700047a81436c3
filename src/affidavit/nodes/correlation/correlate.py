"""What happened together on a node, and what may have caused what. Always potential, never proven."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import timedelta

from affidavit.errors import InputRefused
from affidavit.evidence.confidence import Confidence, confidence
from affidavit.evidence.coverage import Coverage
from affidavit.evidence.finding import Finding
from affidavit.index.findings_index import FindingsIndex
from affidavit.nodes.correlation.causal_chains import PotentialChain, potential_chains
from affidavit.nodes.correlation.timeline import Cluster, Event, clusters, timeline

WINDOW = timedelta(seconds=60)
CAVEAT = "Events close in time need not cause each other: chains are potential, to be checked against the quoted lines."


@dataclass(frozen=True, kw_only=True)
class SharedSignal:
    """One kind of trouble that several components report in one cluster."""

    signal: str
    sources: tuple[str, ...]
    finding_ids: tuple[str, ...]
    cluster_id: str


@dataclass(frozen=True, kw_only=True)
class Correlation:
    timeline: tuple[Event, ...]
    correlations: tuple[SharedSignal, ...]
    clusters: tuple[Cluster, ...]
    potential_root_cause_chains: tuple[PotentialChain, ...]
    confidence: Confidence
    caveat: str
    coverage_report: Coverage


def correlate(
    index: FindingsIndex,
    *,
    window: timedelta = WINDOW,
    pivot: str | None = None,
    components: Collection[str] = (),
) -> Correlation:
    """`pivot` keeps only the cluster of that finding; `components` only findings they report."""
    findings = [finding for finding in index.findings if not components or finding.component in components]
    events = timeline(findings)
    grouped = clusters(events, window)
    if pivot is not None:
        grouped = _around(pivot, grouped)
        kept = {name for cluster in grouped for name in cluster.events}
        events = [event for event in events if event.finding_id in kept]
    by_event = {event.finding_id: event for event in events}
    by_finding = {finding.finding_id: finding for finding in findings}
    return Correlation(
        timeline=tuple(events),
        correlations=tuple(shared for cluster in grouped for shared in _shared_signals(cluster, by_event)),
        clusters=tuple(grouped),
        potential_root_cause_chains=tuple(potential_chains(grouped, by_event, by_finding)),
        confidence=confidence(index.coverage, findings, [*index.gaps, *_untimed(findings)]),
        caveat=CAVEAT,
        coverage_report=index.coverage,
    )


def _around(pivot: str, grouped: Sequence[Cluster]) -> list[Cluster]:
    found = [cluster for cluster in grouped if pivot in cluster.events]
    if not found:
        raise InputRefused(
            f"{pivot} is on no timeline: it is unknown here, or no line of it has a time",
            hint="take a finding_id of the timeline that correlate gives without pivotEvent",
        )
    return found


def _shared_signals(cluster: Cluster, events: dict[str, Event]) -> list[SharedSignal]:
    by_signal: dict[str, list[Event]] = {}
    for name in cluster.events:
        by_signal.setdefault(events[name].signal, []).append(events[name])
    return [
        SharedSignal(
            signal=signal,
            sources=tuple(sorted({event.source for event in members})),
            finding_ids=tuple(event.finding_id for event in members),
            cluster_id=cluster.cluster_id,
        )
        for signal, members in sorted(by_signal.items())
        if len({event.source for event in members}) > 1
    ]


def _untimed(findings: Sequence[Finding]) -> list[str]:
    count = sum(finding.first_seen is None for finding in findings)
    return [f"{count} findings have no time and are on no timeline"] if count else []
