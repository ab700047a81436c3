"""`correlate`: the timeline of a node, what came together, and potential chains of causes."""

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

from affidavit.errors import InputRefused
from affidavit.evidence.severity import Severity
from affidavit.index.record import FindingsIndex
from affidavit.nodes.answers.correlate import (
    ChainRecord,
    ClusterRecord,
    CorrelateAnswer,
    CorrelateRequest,
    SharedSignalRecord,
    TimelineEvent,
)
from affidavit.nodes.answers.finding import ConciseFinding
from affidavit.nodes.answers.wire import ConfidenceRecord, CoverageReport, ResponseFormat, TruncationInfo, cut
from affidavit.nodes.correlate import Correlation
from affidavit.nodes.correlate import correlate as correlated
from affidavit.nodes.library import Library, Shelf
from affidavit.nodes.timeline import Cluster, Event

MOST_EVENTS = 1000
# Most events far from others are clusters of their own, which say nothing but their time.
CONCISE_CLUSTERS = 5
_ID = re.compile(r"F-\d{3,}")


def correlate(library: Library, request: CorrelateRequest) -> CorrelateAnswer:
    shelf = library.open(request.instance_id, request.index_id)
    form = request.response_format
    index = _with_gaps(shelf.index, request.components or ())
    found = correlated(
        index if form is ResponseFormat.DETAILED else _counting_what_was_skipped(index),
        window=timedelta(seconds=request.time_window),
        pivot=_pivot(shelf.index, request.pivot_event) if request.pivot_event is not None else None,
        components=request.components or (),
    )
    clusters = list(found.clusters) if form is ResponseFormat.DETAILED else _notable(found)
    info = _cut(found, clusters)
    return CorrelateAnswer(
        index_id=shelf.index.index_id,
        timeline=[_event(event, shelf, form) for event in found.timeline[:MOST_EVENTS]],
        correlations=[SharedSignalRecord.model_validate(each) for each in found.correlations],
        clusters=[ClusterRecord.model_validate(each) for each in clusters],
        potential_root_cause_chains=[ChainRecord.model_validate(e) for e in found.potential_root_cause_chains],
        confidence=ConfidenceRecord.of(found.confidence).in_form(form),
        caveat=found.caveat,
        coverage_report=CoverageReport.of(found.coverage_report),
        truncated=info is not None,
        truncation_info=info,
    )


def _counting_what_was_skipped(index: FindingsIndex) -> FindingsIndex:
    """Without the names of files that were not read, which are in the way of a short answer twice."""
    return replace(index, coverage=replace(index.coverage, skipped_files=()))


def _cut(found: Correlation, clusters: Sequence[Cluster]) -> TruncationInfo | None:
    events = cut(len(found.timeline), MOST_EVENTS, "ask with pivotEvent or components, or read errors page by page")
    return events or cut(len(found.clusters), len(clusters), "ask with response_format detailed for all clusters")


def _notable(found: Correlation) -> list[Cluster]:
    """The clusters that chains name, then the worst and largest, still earliest first."""
    chained = {chain.cluster_id for chain in found.potential_root_cause_chains}
    named = chained | {shared.cluster_id for shared in found.correlations}
    notable = [c for c in found.clusters if c.cluster_id in named or c.dominant_severity is not Severity.INFO]
    ranked = sorted(notable, key=lambda c: (c.cluster_id not in chained, c.dominant_severity.rank, -c.event_count))
    kept = {cluster.cluster_id for cluster in ranked[:CONCISE_CLUSTERS]}
    return [_in_whole_seconds(cluster) for cluster in found.clusters if cluster.cluster_id in kept]


def _in_whole_seconds(cluster: Cluster) -> Cluster:
    """Not a second shorter than it was."""
    end = cluster.end_time.replace(microsecond=0)
    return replace(
        cluster,
        start_time=cluster.start_time.replace(microsecond=0),
        end_time=end if end == cluster.end_time else end + timedelta(seconds=1),
    )


def _event(event: Event, shelf: Shelf, form: ResponseFormat) -> TimelineEvent | ConciseFinding:
    if form is ResponseFormat.DETAILED:
        return TimelineEvent.model_validate(event)
    return ConciseFinding.of(shelf.findings[event.finding_id])


def _pivot(index: FindingsIndex, wanted: str) -> str:
    """A finding's id, or the earliest finding whose pattern's name holds these words."""
    if _ID.fullmatch(wanted):
        return wanted
    named = [finding for finding in index.findings if wanted.casefold() in finding.pattern.casefold()]
    timed = sorted((finding.first_seen, finding.finding_id) for finding in named if finding.first_seen is not None)
    if not timed:
        why = "no line of it has a time" if named else "no finding's name holds it"
        raise InputRefused(f"pivotEvent {wanted!a}: {why}", hint="take a finding_id of errors or of this timeline")
    return timed[0][1]


def _with_gaps(index: FindingsIndex, components: Sequence[str]) -> FindingsIndex:
    """Components that report nothing are a gap: quiet, or misspelt. Raises InputRefused when all of them are."""
    known = {finding.component for finding in index.findings}
    unknown = [name for name in components if name not in known]
    if not unknown:
        return index
    trouble = f"no finding is reported by {', '.join(map(ascii, unknown))}"
    there = f"components with findings here: {', '.join(sorted(known)) or 'none'}"
    if len(unknown) == len(components):
        raise InputRefused(trouble, hint=there)
    return replace(index, gaps=(*index.gaps, f"{trouble}; {there}"))
