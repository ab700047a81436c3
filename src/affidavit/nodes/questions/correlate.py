"""`correlate`: the timeline of a node, what came together, and potential chains of causes."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import assert_never

from affidavit.errors import InputRefused
from affidavit.evidence.node_verdict import NodeVerdict
from affidavit.evidence.severity import Severity
from affidavit.index.findings_index import FindingsIndex
from affidavit.nodes.correlation.correlate import Correlation
from affidavit.nodes.correlation.correlate import correlate as correlated
from affidavit.nodes.correlation.timeline import Cluster, Event
from affidavit.nodes.library.indexed_bundles import Library
from affidavit.nodes.wire.correlate import (
    ChainRecord,
    ClusterRecord,
    CorrelateAnswer,
    CorrelateRequest,
    SharedSignalRecord,
    TimelineEvent,
)
from affidavit.nodes.wire.finding import ConciseFinding
from affidavit.nodes.wire.shared_fields import ResponseFormat, trust_in_form
from affidavit.nodes.wire.verdict import VerdictRecord
from affidavit.wire.byte_budget import fit, more_bytes
from affidavit.wire.records import TruncationInfo, again, cut

# Most events far from others are clusters of their own, which say nothing but their time.
CONCISE_CLUSTERS = 5
# Bytes of the budget for each cluster, and for each chain and shared signal, that is listed.
_CLUSTER_BYTES = 1200
_CHAIN_BYTES = 2400
# Ids listed of one cluster; `event_count` says how many there are.
_CLUSTER_EVENTS = 30
_ID = re.compile(r"F-\d{3,}")


def correlate(library: Library, request: CorrelateRequest) -> CorrelateAnswer:
    shelf = library.open(request.instance_id, request.index_id)
    index = _with_gaps(shelf.index, request.components or ())
    found = correlated(
        index if request.response_format is ResponseFormat.DETAILED else _counting_what_was_skipped(index),
        window=timedelta(seconds=request.time_window),
        pivot=_pivot(shelf.index, request.pivot_event) if request.pivot_event is not None else None,
        components=request.components or (),
    )
    answering = _Answering(request=request, index_id=shelf.index.index_id, found=found, verdict=shelf.index.verdict)
    return fit(answering.with_events, len(found.timeline), request.max_bytes, least=min(1, len(found.timeline)))


def _counting_what_was_skipped(index: FindingsIndex) -> FindingsIndex:
    """Without the names of files that were not read, which would be in a short answer twice."""
    return replace(index, coverage=replace(index.coverage, skipped_files=()))


@dataclass(frozen=True, kw_only=True)
class _Answering:
    request: CorrelateRequest
    index_id: str
    found: Correlation
    verdict: NodeVerdict | None

    @property
    def _chains(self) -> int:
        return self.request.max_bytes // _CHAIN_BYTES

    def with_events(self, most: int) -> CorrelateAnswer:
        found, form = self.found, self.request.response_format
        kept = {event.finding_id for event in _worst_first(found, self._chains)[:most]}
        clusters = _notable(found, form, self.request.max_bytes // _CLUSTER_BYTES)
        info = self._cut(most, len(clusters))
        return CorrelateAnswer(
            instance_id=self.request.instance_id,
            index_id=self.index_id,
            verdict=VerdictRecord.of(self.verdict),
            timeline=[_event(event, form) for event in found.timeline if event.finding_id in kept],
            correlations=[SharedSignalRecord.model_validate(each) for each in found.correlations[: self._chains]],
            clusters=[_cluster(each, form) for each in clusters],
            potential_root_cause_chains=[
                ChainRecord.model_validate(each) for each in found.potential_root_cause_chains[: self._chains]
            ],
            confidence=trust_in_form(found.confidence, form),
            caveat=found.caveat,
            coverage_report=found.coverage_report,
            truncated=info is not None,
            truncation_info=info,
        )

    def _cut(self, events: int, clusters: int) -> TruncationInfo | None:
        found = self.found
        longer = again("correlate", self.request, index_id=self.index_id, max_bytes=more_bytes(self.request.max_bytes))
        around = "raise max_bytes, or ask around one event with pivotEvent or for some components"
        return (
            cut(len(found.timeline), events, around, longer)
            or cut(
                len(found.clusters),
                clusters,
                "clusters are left out: ask with response_format detailed, or around one event with pivotEvent",
                longer,
            )
            or cut(len(found.correlations), self._chains, around, longer)
            or cut(len(found.potential_root_cause_chains), self._chains, around, longer)
        )


def _worst_first(found: Correlation, chains: int) -> list[Event]:
    """What chains name, then by severity, then by time."""
    chained = {name for chain in found.potential_root_cause_chains[:chains] for name in chain.finding_ids}
    return sorted(found.timeline, key=lambda event: (event.finding_id not in chained, event.severity.rank))


def _notable(found: Correlation, form: ResponseFormat, most: int) -> list[Cluster]:
    """Clusters that chains or correlations name, then the worst and largest; still earliest first.

    A concise answer has none in which nothing is worse than info, unless something names it.
    """
    is_concise = form is ResponseFormat.CONCISE
    chained = {chain.cluster_id for chain in found.potential_root_cause_chains}
    named = chained | {shared.cluster_id for shared in found.correlations}
    ranked = sorted(
        (c for c in found.clusters if not is_concise or c.cluster_id in named or not _is_info(c)),
        key=lambda c: (c.cluster_id not in chained, c.dominant_severity.rank, -c.event_count),
    )
    kept = {cluster.cluster_id for cluster in ranked[: CONCISE_CLUSTERS if is_concise else most]}
    return [cluster for cluster in found.clusters if cluster.cluster_id in kept]


def _is_info(cluster: Cluster) -> bool:
    return cluster.dominant_severity is Severity.INFO


def _cluster(cluster: Cluster, form: ResponseFormat) -> ClusterRecord:
    told = _in_whole_seconds(cluster) if form is ResponseFormat.CONCISE else cluster
    return ClusterRecord.model_validate(replace(told, events=told.events[:_CLUSTER_EVENTS]))


def _in_whole_seconds(cluster: Cluster) -> Cluster:
    """Not a second shorter than it was."""
    end = cluster.end_time.replace(microsecond=0)
    return replace(
        cluster,
        start_time=cluster.start_time.replace(microsecond=0),
        end_time=end if end == cluster.end_time else end + timedelta(seconds=1),
    )


def _event(event: Event, form: ResponseFormat) -> TimelineEvent | ConciseFinding:
    match form:
        case ResponseFormat.DETAILED:
            return TimelineEvent.model_validate(event)
        case ResponseFormat.CONCISE:
            return ConciseFinding(
                finding_id=event.finding_id,
                severity=event.severity,
                pattern=event.event,
                count=event.count,
                first_seen=event.timestamp,
                last_seen=event.last_seen if event.last_seen != event.timestamp else None,
            )
        case _:
            assert_never(form)


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
