"""`compare_nodes` and `cluster_health`: nodes beside each other, by what their indexes show."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from affidavit.errors import InputRefused, NotFound
from affidavit.evidence.confidence import Confidence, confidence
from affidavit.evidence.coverage import Coverage
from affidavit.evidence.finding import Finding
from affidavit.evidence.severity import Severity
from affidavit.nodes.ingest.served_folder import LOCAL
from affidavit.nodes.library.cluster_nodes import recorded_nodes
from affidavit.nodes.library.indexed_bundles import Library, Shelf
from affidavit.nodes.wire.findings_page import SeverityCounts
from affidavit.nodes.wire.node_comparison import (
    ClusterHealthAnswer,
    ClusterHealthRequest,
    ComparedNode,
    CompareNodesAnswer,
    CompareNodesRequest,
    NodeShowing,
    RankedNode,
    SharedPattern,
)
from affidavit.nodes.wire.shared_fields import trust_in_form
from affidavit.progress import who_waits
from affidavit.wire.byte_budget import fit, more_bytes
from affidavit.wire.records import TruncationInfo, again, cut

CAVEAT = "Bundles were made at different times; what a node does not show, its bundle may just not hold."
_WORST = 3
# Of one pattern: nodes listed, and ids of findings on one node.
_NODES_SHOWN = 10
_IDS_SHOWN = 3
_WITHOUT_BUNDLE = 100
# Nodes may take this share of an answer; patterns take what is left.
_SHARE_OF_NODES = 0.6


def compare_nodes(library: Library, request: CompareNodesRequest) -> CompareNodesAnswer:
    ids = list(dict.fromkeys(request.instance_ids))
    if len(ids) < 2:
        raise InputRefused("one node cannot be compared with itself", hint="give at least two different instanceIds")
    shelves, missing = _opened(library, ids)
    patterns = _patterns(shelves)
    is_common = {each.pattern: len(shelves) > 1 and each.nodes_total == len(shelves) for each in patterns}
    trust = trust_in_form(_trust(shelves, missing, _refused(library) if missing else []))
    longer = again("compare_nodes", request, max_bytes=more_bytes(request.max_bytes))

    def with_patterns(most: int) -> CompareNodesAnswer:
        shown = patterns[:most]
        info = cut(len(patterns), most, "raise max_bytes, or call errors for each node", longer)
        return CompareNodesAnswer(
            nodes=[_compared(shelf) for shelf in shelves],
            without_bundle=missing,
            common=[each for each in shown if is_common[each.pattern]],
            partial=[each for each in shown if not is_common[each.pattern]],
            confidence=trust,
            caveat=CAVEAT,
            coverage_report=_together(shelves),
            truncated=info is not None,
            truncation_info=info,
        )

    return fit(with_patterns, len(patterns), request.max_bytes)


def cluster_health(library: Library, request: ClusterHealthRequest) -> ClusterHealthAnswer:
    ids, gaps = _nodes_of(library, request.cluster_name)
    shelves, missing = _opened(library, ids)
    shared = [each for each in _patterns(shelves) if each.nodes_total > 1]
    shared.sort(key=lambda each: (each.severity.rank, -each.nodes_total, each.pattern))
    answering = _Health(
        request=request,
        ranked=sorted(shelves, key=_rank),
        missing=missing,
        shared=shared,
        trust=trust_in_form(_trust(shelves, missing, [*_refused(library), *gaps])),
    )
    room = int(request.max_bytes * _SHARE_OF_NODES)
    nodes = len(fit(partial(answering.with_rows, 0), len(shelves), room, least=1).nodes)
    return fit(partial(answering.with_patterns, nodes), len(shared), request.max_bytes)


@dataclass(frozen=True, kw_only=True)
class _Health:
    request: ClusterHealthRequest
    ranked: Sequence[Shelf]
    missing: Sequence[str]
    shared: Sequence[SharedPattern]
    trust: Confidence

    def with_patterns(self, nodes: int, most: int) -> ClusterHealthAnswer:
        return self.with_rows(most, nodes)

    def with_rows(self, patterns: int, nodes: int) -> ClusterHealthAnswer:
        info = self._cut(patterns, nodes)
        return ClusterHealthAnswer(
            cluster_name=self.request.cluster_name,
            nodes=[_ranked(number, shelf) for number, shelf in enumerate(self.ranked[:nodes], 1)],
            nodes_total=len(self.ranked),
            without_bundle=list(self.missing[:_WITHOUT_BUNDLE]),
            without_bundle_total=len(self.missing),
            common=list(self.shared[:patterns]),
            confidence=self.trust,
            caveat=CAVEAT,
            coverage_report=_together(self.ranked),
            truncated=info is not None,
            truncation_info=info,
        )

    def _cut(self, patterns: int, nodes: int) -> TruncationInfo | None:
        longer = again("cluster_health", self.request, max_bytes=more_bytes(self.request.max_bytes))
        return (
            cut(len(self.ranked), nodes, "nodes in a better state are left out: raise max_bytes", longer)
            or cut(len(self.shared), patterns, "less grave common patterns are left out: raise max_bytes", longer)
            or cut(len(self.missing), _WITHOUT_BUNDLE, "more nodes have no bundle: batch_collect collects them")
        )


def _nodes_of(library: Library, cluster: str) -> tuple[list[str], list[str]]:
    """Nodes that run, and those a bundle is known of; and what that leaves unseen."""
    recorded = recorded_nodes(library.state, cluster)
    if library.directory is None:
        if not recorded:
            raise NotFound(f"no bundle of a cluster {cluster!a} is known", hint=_which_cluster(library, cluster))
        return recorded, ["nobody could say which nodes the cluster has: only those with a bundle are here"]
    region = library.region or next(filter(None, map(library.directory.region_of, recorded)), "")
    try:
        running = [node.instance_id for node in library.directory.nodes_of(cluster, region=region)]
    except InputRefused as error:
        if not recorded:
            raise NotFound(str(error), hint=error.hint) from error
        return recorded, [f"{error}: only nodes with a bundle are here, as they were when it was collected"]
    gone = [node for node in recorded if node not in running]
    gaps = [f"no longer in the cluster, shown by their last bundle: {', '.join(gone)}"] if gone else []
    return sorted({*running, *recorded}), gaps


def _which_cluster(library: Library, cluster: str) -> str:
    if library.folder is None:
        return "collect its nodes, or check the name"
    if cluster == LOCAL:
        return library.folder.emptiness
    return f"bundles that lie in a folder are together the cluster {LOCAL}"


def _refused(library: Library) -> list[str]:
    return library.folder.gaps if library.folder is not None else []


def _opened(library: Library, ids: Sequence[str]) -> tuple[list[Shelf], list[str]]:
    found: list[tuple[str, Shelf | None]] = []
    waiting = who_waits().next_stage()
    for number, instance_id in enumerate(ids):
        waiting.tell(number, len(ids), "nodes")
        found.append((instance_id, _newest(library, instance_id)))
    shelves = [shelf for _, shelf in found if shelf is not None]
    if not shelves:
        raise NotFound(f"none of {', '.join(ids) or 'the nodes'} has a bundle", hint="collect them first")
    return shelves, [instance_id for instance_id, shelf in found if shelf is None]


def _newest(library: Library, instance_id: str) -> Shelf | None:
    """None as well when the index that is named is gone: one node's loss is a gap, not everybody's."""
    try:
        return library.newest(instance_id)
    except NotFound:
        return None


def _patterns(shelves: Sequence[Shelf]) -> list[SharedPattern]:
    names = {finding.pattern for shelf in shelves for finding in shelf.index.findings}
    found = [_shared(name, shelves) for name in names]
    return sorted(found, key=lambda each: (each.severity.rank, -each.nodes_total, each.pattern))


def _shared(pattern: str, shelves: Sequence[Shelf]) -> SharedPattern:
    showing = [(shelf, [f for f in shelf.index.findings if f.pattern == pattern]) for shelf in shelves]
    there = sorted(
        ((shelf, findings) for shelf, findings in showing if findings),
        key=lambda each: (each[1][0].severity.rank, -sum(finding.count for finding in each[1])),
    )
    return SharedPattern(
        pattern=pattern,
        severity=there[0][1][0].severity,
        nodes=[_showing(shelf, findings) for shelf, findings in there[:_NODES_SHOWN]],
        nodes_total=len(there),
        absent_on=[shelf.marker.instance_id for shelf, findings in showing if not findings][:_NODES_SHOWN],
        evidence=there[0][1][0].evidence,
    )


def _showing(shelf: Shelf, findings: Sequence[Finding]) -> NodeShowing:
    return NodeShowing(
        instance_id=shelf.marker.instance_id,
        index_id=shelf.index.index_id,
        finding_ids=[finding.finding_id for finding in findings[:_IDS_SHOWN]],
        count=sum(finding.count for finding in findings),
        severity=findings[0].severity,
    )


def _compared(shelf: Shelf) -> ComparedNode:
    return ComparedNode(
        instance_id=shelf.marker.instance_id,
        index_id=shelf.index.index_id,
        indexed_at=shelf.marker.indexed_at,
        summary=SeverityCounts.model_validate(shelf.index.summary),
        coverage_pct=shelf.index.coverage.coverage_pct,
    )


def _rank(shelf: Shelf) -> tuple[int, int, int, int, str]:
    counts = shelf.index.summary
    return -counts.critical, -counts.high, -counts.medium, -counts.low, shelf.marker.instance_id


def _ranked(number: int, shelf: Shelf) -> RankedNode:
    return RankedNode(
        instance_id=shelf.marker.instance_id,
        rank=number,
        index_id=shelf.index.index_id,
        indexed_at=shelf.marker.indexed_at,
        summary=SeverityCounts.model_validate(shelf.index.summary),
        worst=[
            f"{finding.finding_id} {finding.pattern}"
            for finding in shelf.index.findings[:_WORST]
            if finding.severity is not Severity.INFO
        ],
        gaps=len(shelf.index.gaps),
    )


def _trust(shelves: Sequence[Shelf], missing: Sequence[str], gaps: Sequence[str] = ()) -> Confidence:
    unseen = [f"{instance_id} has no bundle: nothing is known of it" for instance_id in missing]
    own = [f"{s.marker.instance_id}: {len(s.index.gaps)} gaps; see errors" for s in shelves if s.index.gaps]
    criticals = [
        f"{shelf.marker.instance_id} {finding.finding_id} ({finding.pattern}) is critical and rests on one source"
        for shelf in shelves
        for finding in shelf.index.findings
        if finding.confirmation is not None and not finding.confirmation.confirmed
    ]
    # Without what says that one is unconfirmed: it would be told again, without its node.
    findings = [replace(finding, confirmation=None) for shelf in shelves for finding in shelf.index.findings]
    return confidence(_together(shelves), findings, [*unseen, *gaps, *own, *criticals])


def _together(shelves: Sequence[Shelf]) -> Coverage:
    parts = [(shelf.marker.instance_id, shelf.index.coverage) for shelf in shelves]
    scanned, total = sum(part.files_scanned for _, part in parts), sum(part.total_files for _, part in parts)
    share = 100.0 if scanned == total > 0 else min(99.9, round(100 * scanned / total, 1)) if total else 0.0
    return Coverage(
        files_scanned=scanned,
        total_files=total,
        coverage_pct=share,
        bytes_scanned=sum(part.bytes_scanned for _, part in parts),
        total_bytes=sum(part.total_bytes for _, part in parts),
        # Whose file it was, the name would not say.
        skipped_files=(),
        skipped_total=sum(part.skipped_total for _, part in parts),
    )
