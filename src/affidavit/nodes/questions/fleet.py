"""`compare_nodes` and `cluster_health`: nodes beside each other, by what their indexes show."""

from collections.abc import Sequence
from dataclasses import replace

from affidavit.errors import InputRefused, NotFound
from affidavit.evidence.confidence import Confidence, confidence
from affidavit.evidence.coverage import SKIPPED_LISTED, Coverage
from affidavit.evidence.finding import Finding
from affidavit.evidence.severity import Severity
from affidavit.nodes.answers.errors import SeverityCounts
from affidavit.nodes.answers.finding import EvidenceRecord
from affidavit.nodes.answers.fleet import (
    ClusterHealthAnswer,
    ClusterHealthRequest,
    ComparedNode,
    CompareNodesAnswer,
    CompareNodesRequest,
    NodeShowing,
    RankedNode,
    SharedPattern,
)
from affidavit.nodes.answers.wire import ConfidenceRecord, CoverageReport, cut
from affidavit.nodes.library import Library, Shelf
from affidavit.nodes.membership import recorded_nodes
from affidavit.nodes.served_folder import LOCAL

CAVEAT = "Bundles were made at different times; what a node does not show, its bundle may just not hold."
_WORST = 3
_PATTERNS = 200
_NODES = 500


def compare_nodes(library: Library, request: CompareNodesRequest) -> CompareNodesAnswer:
    ids = list(dict.fromkeys(request.instance_ids))
    if len(ids) < 2:
        raise InputRefused("one node cannot be compared with itself", hint="give at least two different instanceIds")
    shelves, missing = _opened(library, ids)
    patterns = _patterns(shelves)
    common = [each for each in patterns if len(shelves) > 1 and not each.absent_on]
    partial = [each for each in patterns if each not in common]
    trust = _trust(shelves, missing, _refused(library) if missing else [])
    info = cut(len(patterns), min(len(common), _PATTERNS) + min(len(partial), _PATTERNS), "call errors for each node")
    return CompareNodesAnswer(
        nodes=[_compared(shelf) for shelf in shelves],
        without_bundle=missing,
        common=common[:_PATTERNS],
        partial=partial[:_PATTERNS],
        confidence=ConfidenceRecord.of(trust),
        caveat=CAVEAT,
        coverage_report=CoverageReport.of(_together(shelves)),
        truncated=info is not None,
        truncation_info=info,
    )


def cluster_health(library: Library, request: ClusterHealthRequest) -> ClusterHealthAnswer:
    ids, gaps = _nodes_of(library, request.cluster_name)
    shelves, missing = _opened(library, ids)
    ranked = sorted(shelves, key=_rank)
    shared = [each for each in _patterns(shelves) if len(each.nodes) > 1]
    shared.sort(key=lambda each: (-len(each.nodes), each.severity.rank, each.pattern))
    info = cut(len(ranked) + len(shared), len(ranked[:_NODES]) + len(shared[:_PATTERNS]), "call errors for each node")
    return ClusterHealthAnswer(
        cluster_name=request.cluster_name,
        nodes=[_ranked(number, shelf) for number, shelf in enumerate(ranked[:_NODES], 1)],
        without_bundle=missing,
        common=shared[:_PATTERNS],
        confidence=ConfidenceRecord.of(_trust(shelves, missing, [*_refused(library), *gaps])),
        caveat=CAVEAT,
        coverage_report=CoverageReport.of(_together(shelves)),
        truncated=info is not None,
        truncation_info=info,
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
    found = [(instance_id, _newest(library, instance_id)) for instance_id in ids]
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
    return sorted(found, key=lambda each: (each.severity.rank, -len(each.nodes), each.pattern))


def _shared(pattern: str, shelves: Sequence[Shelf]) -> SharedPattern:
    showing = [(shelf, [f for f in shelf.index.findings if f.pattern == pattern]) for shelf in shelves]
    nodes = [_showing(shelf, findings) for shelf, findings in showing if findings]
    return SharedPattern(
        pattern=pattern,
        severity=min((node.severity for node in nodes), key=lambda severity: severity.rank),
        nodes=nodes,
        absent_on=[shelf.marker.instance_id for shelf, findings in showing if not findings],
    )


def _showing(shelf: Shelf, findings: Sequence[Finding]) -> NodeShowing:
    return NodeShowing(
        instance_id=shelf.marker.instance_id,
        index_id=shelf.index.index_id,
        finding_ids=[finding.finding_id for finding in findings],
        count=sum(finding.count for finding in findings),
        severity=findings[0].severity,
        evidence=EvidenceRecord.of(findings[0].evidence),
    )


def _compared(shelf: Shelf) -> ComparedNode:
    return ComparedNode(
        instance_id=shelf.marker.instance_id,
        index_id=shelf.index.index_id,
        indexed_at=shelf.marker.indexed_at,
        summary=SeverityCounts.model_validate(shelf.index.summary),
        coverage_report=CoverageReport.of(shelf.index.coverage),
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
        skipped_files=tuple(skip for _, part in parts for skip in part.skipped_files)[:SKIPPED_LISTED],
        skipped_total=sum(part.skipped_total for _, part in parts),
    )
