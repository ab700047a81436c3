"""Asks every question of a stored bundle, to measure the answers and to notice when they change.

The bundle is added to a library as in a deployment, together with a second node that is always the same.
"""

import hashlib
import json
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, cast

from affidavit.errors import AffidavitError
from affidavit.evaluation.generator import BundleSpec, Form, Layout, generate, write
from affidavit.evaluation.nodes.evaluated_tools import MeasuredAnswer
from affidavit.evaluation.nodes.library_questions import CLUSTER, NEIGHBOUR, QUESTIONS, Ask, Asked
from affidavit.evidence.citation_check import check
from affidavit.investigation import analyze
from affidavit.knowledge import Knowledge
from affidavit.nodes.ingest.bundle_intake import ingest
from affidavit.nodes.ingest.store_bundle import Origin
from affidavit.nodes.library.indexed_bundles import Library
from affidavit.nodes.library.object_keys import instance_in

MakeLibrary = Callable[[Path, Knowledge], Library]
"""Opens the library that a folder holds, at first an empty one. The caller chooses its stores."""

NAMELESS = "i-00000000000000000"
_COUNTS = ("complete", "verified_files", "total_files", "total_findings", "files_matched", "total_matches", "lineCount")
# Fields that depend on the run or on the whole rule pack. Everything else in an answer must stay the same.
_VOLATILE = ("index_id", "search_id", "next_page_token", "indexed_at", "url", "expires_at")


def stock(folder: Path, knowledge: Knowledge, make: MakeLibrary) -> MakeLibrary:
    """Adds the second node to a library in `folder`, which `library_answers` then copies for each bundle."""
    library = make(folder, knowledge)
    with tempfile.TemporaryDirectory(prefix="affidavit-eval-") as name:
        _take_in(_neighbour(Path(name)), library)

    def stocked(place: Path, knows: Knowledge) -> Library:
        shutil.copytree(folder, place, dirs_exist_ok=True)
        return make(place, knows)

    return stocked


def library_answers(bundle: Path, knowledge: Knowledge, folder: Path, make: MakeLibrary) -> Iterator[MeasuredAnswer]:
    """Adds the bundle to a stocked library as a deployment does, then asks."""
    library = make(folder, knowledge)
    at = Asked(library=library, shelf=library.open(_take_in(_named(bundle, folder), library)))
    broken = {one.finding_id: check(one.evidence, at.shelf.lines).problems for one in at.shelf.index.findings}
    for name, ask in QUESTIONS.items():
        yield _answer(name, ask, at, {found: problems for found, problems in broken.items() if problems})


def _take_in(bundle: Path, library: Library) -> str:
    origin = Origin(cluster=CLUSTER)
    return ingest(bundle, library, analyze=analyze, origin=origin, workers=1, keeps_archive=False).marker.instance_id


def _neighbour(folder: Path) -> Path:
    """Another node of the cluster, with troubles that some scenarios share and others do not."""
    spec = BundleSpec(layout=Layout.AL2023, instance_id=NEIGHBOUR, seed=7, noise_lines=20, faults=("oom", "image_pull"))
    return write(generate(spec), folder / "neighbour", Form.TAR_GZ)


def _named(bundle: Path, folder: Path) -> Path:
    """A library stores by instance, but a user's own bundle may not name one."""
    if instance_in(bundle.name) is not None:
        return bundle
    copy = folder / f"eks_{NAMELESS}_{bundle.name}"
    return Path(shutil.copytree(bundle, copy) if bundle.is_dir() else shutil.copy(bundle, copy))


def _answer(name: str, ask: Ask, at: Asked, broken: Mapping[str, tuple[str, ...]]) -> MeasuredAnswer:
    started = time.perf_counter()
    said = _said(ask, at)
    spent = (time.perf_counter() - started) * 1000
    return MeasuredAnswer(
        tool=name,
        told=tuple(at.shelf.findings[found] for found in _cited(name, said, at) if found in at.shelf.findings),
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


def _cited(name: str, said: Mapping[str, Any], at: Asked) -> list[str]:
    """The findings that the answer presents as true; `verify_report` also lists those it refutes."""
    if shared := _shared(said):
        nodes = [node for row in shared for node in row["nodes"] if node["instanceId"] == at.instance]
        return [str(one) for node in nodes for one in node["finding_ids"]]
    key = {"errors": "findings", "quick_triage": "top_findings", "summarize": "findings"}.get(name)
    rows: list[dict[str, Any]] = said.get(key, []) if key is not None else []
    found = [str(one.get("finding_id", one.get("id"))) for row in rows for one in (row, *row.get("also_in", ()))]
    return found or [str(one) for check in said.get("checks", ()) for one in check["finding_ids"]]


def _shared(said: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The patterns of an answer that compares nodes, by node."""
    return [*said.get("common", ()), *said.get("partial", ())]


def _short(name: str, said: Mapping[str, Any]) -> Iterator[str]:
    """A short form for a readable diff. The digest covers the rest, and `analyze` lists the findings."""
    if word := said.get("refused", said.get("not_asked")):
        yield str(word)
    if name != "errors":
        for row in (*said.get("findings", ()), *said.get("top_findings", ())):
            also = "".join(f" {other['finding_id']}" for other in row.get("also_in", ()))
            yield f"{row.get('finding_id', row.get('id'))}{also} {row['severity']} {row['pattern']} x{row['count']}"
    for row in said.get("checks", ()):
        yield f"{row['check']} {row['status']} {' '.join(row['finding_ids'])}".rstrip()
    for row in said.get("claims", ()):
        yield f"{row['finding_id']} {row['verdict']}"
    for row in said.get("nodes", ()):
        yield " ".join([row["instanceId"], *(f"{level} {count}" for level, count in row["summary"].items() if count)])
    yield from (f"common {row['severity']} {row['pattern']}" for row in said.get("common", ()))
    if "partial" in said:
        yield f"partial {len(said['partial'])}"
    if found := said.get("leads_to_sha256"):
        yield f"leads to {found[:16]}"
    counts = {**said, **said.get("pagination", {})}
    yield from (f"{count} {counts[count]}" for count in _COUNTS if count in counts)


def _stable(value: Any, index_id: str) -> Any:
    if isinstance(value, dict):
        inside = cast("dict[str, Any]", value)
        return {key: _stable(each, index_id) for key, each in inside.items() if key not in _VOLATILE}
    if isinstance(value, list):
        return [_stable(each, index_id) for each in cast("list[Any]", value)]
    return value.replace(index_id, "INDEX") if isinstance(value, str) else value
