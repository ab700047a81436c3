"""The questions that a stored bundle answers, each asked once in a fixed way: measured, and guarded against change.

Left out: questions about several nodes at once, and `artifact`, whose answer is a link that differs every time.
"""

import hashlib
import json
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from pydantic import BaseModel

from affidavit.errors import AffidavitError
from affidavit.evaluation.tools import Answer
from affidavit.evidence.citation import check
from affidavit.evidence.finding import Finding
from affidavit.investigation import analyze
from affidavit.knowledge import Knowledge
from affidavit.nodes.answers.diagnostics import DiagnosticsRequest
from affidavit.nodes.answers.errors import ErrorsRequest
from affidavit.nodes.answers.files import ListBundleFilesRequest
from affidavit.nodes.answers.read import ReadRequest
from affidavit.nodes.answers.search import SearchRequest
from affidavit.nodes.answers.summarize import SummarizeRequest
from affidavit.nodes.answers.triage import QuickTriageRequest
from affidavit.nodes.answers.validate import ValidateRequest
from affidavit.nodes.answers.verify_report import Claim, VerifyReportRequest
from affidavit.nodes.filing import Origin
from affidavit.nodes.ingest import ingest
from affidavit.nodes.keys import instance_in
from affidavit.nodes.library import Library, Shelf
from affidavit.nodes.questions.diagnostics import network_diagnostics, storage_diagnostics
from affidavit.nodes.questions.errors import errors
from affidavit.nodes.questions.files import list_bundle_files
from affidavit.nodes.questions.quick_triage import quick_triage
from affidavit.nodes.questions.read import read
from affidavit.nodes.questions.search import search
from affidavit.nodes.questions.summarize import summarize
from affidavit.nodes.questions.validate import validate
from affidavit.nodes.questions.verify_report import verify_report

MakeLibrary = Callable[[Path, Knowledge], Library]
"""An empty library in a folder: which stores it has is not ours to know."""

NAMELESS = "i-00000000000000000"
CITED = 5
QUERY = r"(?i)error|fail|denied|timed out|killed"
_COUNTS = ("complete", "verified_files", "total_files", "total_findings", "files_matched", "total_matches", "lineCount")
# A name of this run or of the whole rule pack. Everything else an answer says must stay the same.
_VOLATILE = ("index_id", "search_id", "next_page_token", "indexed_at")


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A bundle on its shelf, and the ids that questions about findings cite."""

    library: Library
    shelf: Shelf

    @property
    def instance(self) -> str:
        return self.shelf.marker.instance_id

    @property
    def worst(self) -> tuple[Finding, ...]:
        return self.shelf.index.findings[:CITED]


Ask = Callable[[Asked], BaseModel | None]
"""None: there is nothing to ask, because nothing was found."""


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
    """One claim more than is true: a made-up quote has to be refuted."""
    if not at.worst:
        return None
    true = [Claim(finding_id=one.finding_id, quote=one.evidence.excerpt[:200]) for one in at.worst]
    made_up = Claim(finding_id=at.worst[0].finding_id, quote="words that no log of this node holds")
    return verify_report(at.library, VerifyReportRequest(instance_id=at.instance, claims=[*true, made_up]))


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
}


def library_answers(bundle: Path, knowledge: Knowledge, folder: Path, make: MakeLibrary) -> Iterator[Answer]:
    """Takes the bundle in as a deployment does, then asks."""
    library = make(folder, knowledge)
    done = ingest(_named(bundle, folder), library, analyze=analyze, origin=Origin(), workers=1, keeps_archive=False)
    at = Asked(library=library, shelf=library.open(done.marker.instance_id))
    broken = {one.finding_id: check(one.evidence, at.shelf.lines).problems for one in at.shelf.index.findings}
    for name, ask in QUESTIONS.items():
        yield _answer(name, ask, at, {found: problems for found, problems in broken.items() if problems})


def _named(bundle: Path, folder: Path) -> Path:
    """A library files by instance, and a bundle of the user's own may not name one."""
    if instance_in(bundle.name) is not None:
        return bundle
    copy = folder / f"eks_{NAMELESS}_{bundle.name}"
    return Path(shutil.copytree(bundle, copy) if bundle.is_dir() else shutil.copy(bundle, copy))


def _answer(name: str, ask: Ask, at: Asked, broken: Mapping[str, tuple[str, ...]]) -> Answer:
    started = time.perf_counter()
    said = _said(ask, at)
    spent = (time.perf_counter() - started) * 1000
    return Answer(
        tool=name,
        told=tuple(at.shelf.findings[found] for found in _cited(name, said) if found in at.shelf.findings),
        lines=tuple(_short(name, said)),
        digest=hashlib.sha256(json.dumps(_stable(said, at.shelf.index.index_id), sort_keys=True).encode()).hexdigest(),
        latency_ms=spent,
        broken=broken,
    )


def _said(ask: Ask, at: Asked) -> dict[str, Any]:
    try:
        answer = ask(at)
    except AffidavitError as error:
        return {"refused": str(error)}
    return {"not_asked": "nothing was found"} if answer is None else answer.model_dump(mode="json", by_alias=True)


def _cited(name: str, said: Mapping[str, Any]) -> list[str]:
    """Findings the answer presents as such; `verify_report` also lists what it refutes."""
    key = {"errors": "findings", "quick_triage": "top_findings", "summarize": "findings"}.get(name)
    rows: list[dict[str, Any]] = said.get(key, []) if key is not None else []
    found = [str(row.get("finding_id", row.get("id"))) for row in rows]
    return found or [str(one) for check in said.get("checks", ()) for one in check["finding_ids"]]


def _short(name: str, said: Mapping[str, Any]) -> Iterator[str]:
    """For a diff that a person reads; the digest covers the rest, and `analyze` lists the findings."""
    if word := said.get("refused", said.get("not_asked")):
        yield str(word)
    if name != "errors":
        for row in (*said.get("findings", ()), *said.get("top_findings", ())):
            yield f"{row.get('finding_id', row.get('id'))} {row['severity']} {row['pattern']} x{row['count']}"
    for row in said.get("checks", ()):
        yield f"{row['check']} {row['status']} {' '.join(row['finding_ids'])}".rstrip()
    for row in said.get("claims", ()):
        yield f"{row['finding_id']} {row['verdict']}"
    counts = {**said, **said.get("pagination", {})}
    yield from (f"{count} {counts[count]}" for count in _COUNTS if count in counts)


def _stable(value: Any, index_id: str) -> Any:
    if isinstance(value, dict):
        inside = cast("dict[str, Any]", value)
        return {key: _stable(each, index_id) for key, each in inside.items() if key not in _VOLATILE}
    if isinstance(value, list):
        return [_stable(each, index_id) for each in cast("list[Any]", value)]
    return value.replace(index_id, "INDEX") if isinstance(value, str) else value
