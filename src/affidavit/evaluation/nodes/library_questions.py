"""Asks every question that a library of bundles answers, once and always in the same way."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel

from affidavit.evidence.finding import Finding
from affidavit.nodes.library.indexed_bundles import Library, Shelf
from affidavit.nodes.questions.artifact import artifact
from affidavit.nodes.questions.errors import errors
from affidavit.nodes.questions.file_listing import list_bundle_files
from affidavit.nodes.questions.network_and_storage import network_diagnostics, storage_diagnostics
from affidavit.nodes.questions.node_comparison import cluster_health, compare_nodes
from affidavit.nodes.questions.quick_triage import quick_triage
from affidavit.nodes.questions.read import read
from affidavit.nodes.questions.search import search
from affidavit.nodes.questions.summarize import summarize
from affidavit.nodes.questions.validate import validate
from affidavit.nodes.questions.verify_report import verify_report
from affidavit.nodes.wire.files import ArtifactAnswer, ArtifactRequest, ListBundleFilesRequest
from affidavit.nodes.wire.findings_page import ErrorsRequest
from affidavit.nodes.wire.network_and_storage import DiagnosticsRequest
from affidavit.nodes.wire.node_comparison import ClusterHealthRequest, CompareNodesRequest
from affidavit.nodes.wire.read import ReadRequest
from affidavit.nodes.wire.search import SearchRequest
from affidavit.nodes.wire.summarize import SummarizeRequest
from affidavit.nodes.wire.triage import QuickTriageRequest
from affidavit.nodes.wire.validate import ValidateRequest
from affidavit.nodes.wire.verify_report import ReportClaim, VerifyReportRequest

CLUSTER = "evaluated"
NEIGHBOUR = "i-0aaaaaaaaaaaaaaaa"
ABSENT = "i-0bbbbbbbbbbbbbbbb"
"""A node without a bundle. An answer about several nodes must say so."""
CITED = 5
QUERY = r"(?i)error|fail|denied|timed out|killed"


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A bundle in a library, and the finding ids that questions cite."""

    library: Library
    shelf: Shelf

    @property
    def instance(self) -> str:
        return self.shelf.marker.instance_id

    @property
    def worst(self) -> tuple[Finding, ...]:
        return self.shelf.index.findings[:CITED]


Ask = Callable[[Asked], BaseModel | None]
"""Returns None when there is nothing to ask about, because nothing was found."""


def _errors(at: Asked) -> BaseModel:
    return errors(at.library, ErrorsRequest(instance_id=at.instance, page_size=100))


def _search(at: Asked) -> BaseModel:
    return search(at.library, SearchRequest(instance_id=at.instance, query=QUERY, max_results=3))


def _validate(at: Asked) -> BaseModel:
    return validate(at.library, ValidateRequest(instance_id=at.instance))


def _triage(at: Asked) -> BaseModel:
    return quick_triage(at.library, QuickTriageRequest(instance_id=at.instance))


def _summarize(at: Asked) -> BaseModel | None:
    ids = [finding.finding_id for finding in at.worst]
    return summarize(at.library, SummarizeRequest(instance_id=at.instance, finding_ids=ids)) if ids else None


def _network(at: Asked) -> BaseModel:
    return network_diagnostics(at.library, DiagnosticsRequest(instance_id=at.instance))


def _storage(at: Asked) -> BaseModel:
    return storage_diagnostics(at.library, DiagnosticsRequest(instance_id=at.instance))


def _files(at: Asked) -> BaseModel:
    return list_bundle_files(at.library, ListBundleFilesRequest(instance_id=at.instance))


def _read(at: Asked) -> BaseModel | None:
    if not at.worst:
        return None
    evidence = at.worst[0].evidence
    line = evidence.line_range.start if evidence.line_range is not None else 1
    return read(at.library, ReadRequest(log_key=evidence.full_key, start_line=line, line_count=3))


def _verify(at: Asked) -> BaseModel | None:
    """Adds a claim with a made-up quote, which must be refuted."""
    if not at.worst:
        return None
    true = [ReportClaim(finding_id=one.finding_id, quote=one.evidence.excerpt[:200]) for one in at.worst]
    made_up = ReportClaim(finding_id=at.worst[0].finding_id, quote="words that no log of this node holds")
    return verify_report(at.library, VerifyReportRequest(instance_id=at.instance, claims=[*true, made_up]))


def _compare(at: Asked) -> BaseModel:
    return compare_nodes(at.library, CompareNodesRequest(instance_ids=[at.instance, NEIGHBOUR, ABSENT]))


def _health(at: Asked) -> BaseModel:
    return cluster_health(at.library, ClusterHealthRequest(cluster_name=CLUSTER))


class _Followed(BaseModel):
    """An answer with a link. The link differs every time; the digest of what it leads to must not."""

    answer: ArtifactAnswer
    leads_to_sha256: str


def _artifact(at: Asked) -> BaseModel | None:
    if not at.worst:
        return None
    answer = artifact(at.library, ArtifactRequest(log_key=at.worst[0].evidence.full_key))
    return _Followed(answer=answer, leads_to_sha256=hashlib.sha256(Path(answer.url).read_bytes()).hexdigest())


QUESTIONS: Mapping[str, Ask] = {
    "errors": _errors,
    "search": _search,
    "validate": _validate,
    "quick_triage": _triage,
    "summarize": _summarize,
    "network_diagnostics": _network,
    "storage_diagnostics": _storage,
    "list_bundle_files": _files,
    "read": _read,
    "verify_report": _verify,
    "compare_nodes": _compare,
    "cluster_health": _health,
    "artifact": _artifact,
}
