"""Every question on the bundle of every scenario: each answer fits its schema, and a concise one costs little."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from tests.support.knowledge.libraries import a_library, take_in
from tests.support.peers.mcp_client import Talk, in_memory
from tests.support.storms import some

from affidavit.entrypoints.mcp.calls import Calls
from affidavit.entrypoints.mcp.services import Services, Shelves
from affidavit.entrypoints.mcp.tools.catalog import NODES
from affidavit.evaluation.generator import generate, write
from affidavit.evaluation.nodes.scenario import Scenario, load_scenarios
from affidavit.index.findings_index import index_to_json
from affidavit.knowledge import load_knowledge
from affidavit.nodes.library.indexed_bundles import Library
from affidavit.ports.clock import SystemClock
from affidavit.redaction.redact import Redactor
from affidavit.wire.byte_budget import MOST_BYTES

pytestmark = pytest.mark.slow

NODE = "i-0c0ffee000000cafe"
QUERY = "(?i)error|fail|kill|warn"
LISTS = {"errors": "findings", "search": "results", "correlate": "timeline"}
FIELDS = {"finding_id", "severity", "pattern", "count"}
ALSO = {"errors": set[str](), "search": {"file", "line", "excerpt"}, "correlate": {"first_seen", "last_seen"}}
# Both forms whole: what the usual budget leaves out is another test's matter.
WHOLE = MOST_BYTES
MOST = 0.30
# With fewer rows, what an answer says about itself (verdict, coverage, gaps, counts) is most of it in either form.
ENOUGH_TO_TELL = 9


@dataclass
class Reading:
    """One server, which is handed another library for each scenario."""

    library: Library
    talk: Talk


@pytest.fixture(scope="module")
def reading(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reading]:
    library = a_library(tmp_path_factory.mktemp("nothing"), knowledge=load_knowledge())
    services = Services(state=library.state, clock=SystemClock(), shelves=lambda: Shelves(library=made.library))
    calls = Calls(services=services, redactor=Redactor(), tools={tool.name: tool for tool in NODES})
    with in_memory(calls) as talk:
        made = Reading(library=library, talk=talk)
        yield made


# Every scenario is asked every question in `make eval`; here its answers pass the door.
@pytest.fixture(params=some(load_scenarios(), 15), ids=lambda scenario: scenario.id)
def talk(request: pytest.FixtureRequest, reading: Reading, tmp_path: Path) -> Talk:
    scenario: Scenario = request.param
    reading.library = a_library(tmp_path, knowledge=reading.library.knowledge)
    made = write(generate(replace(scenario.spec(), instance_id=NODE, noise_lines=20)), tmp_path / "made", scenario.form)
    take_in(reading.library, made.rename(made.parent / f"{NODE}_{made.name}"))
    return reading.talk


# One test and not two: making the bundle takes longer than all of its answers.
def test_every_answer_fits_its_schema_and_a_concise_one_saves_seven_tenths(talk: Talk, reading: Reading) -> None:
    detailed = {tool: talk.ask(tool, **arguments(tool)) for tool in LISTS}
    _ask_the_others(talk, detailed["errors"])
    index = tokens(json.loads(index_to_json(reading.library.open(NODE).index)))
    for tool in LISTS:
        concise = talk.ask(tool, **arguments(tool), response_format="concise")
        _compare(tool, detailed[tool], concise, index=index)


def arguments(tool: str) -> dict[str, Any]:
    return {"instanceId": NODE, "max_bytes": WHOLE} | ({"query": QUERY} if tool == "search" else {})


def _ask_the_others(talk: Talk, index: dict[str, Any]) -> None:
    """`talk.ask` holds each answer against the schema that the server published."""
    key = talk.ask("list_bundle_files", instanceId=NODE)["files"][0]["key"]
    asked: dict[str, dict[str, Any]] = {
        "read": {"logKey": key},
        "artifact": {"logKey": key},
        "compare_nodes": {"instanceIds": [NODE, "i-0123456789abcdef0"]},
        "cluster_health": {"clusterName": "prod"},
    }
    if index["findings"]:
        pinned, first = {"instanceId": NODE, "index_id": index["index_id"]}, index["findings"][0]
        claim = {"finding_id": first["finding_id"], "quote": first["evidence"]["excerpt"]}
        asked["summarize"] = {**pinned, "finding_ids": [finding["finding_id"] for finding in index["findings"]]}
        asked["verify_report"] = {**pinned, "claims": [claim]}
    for tool in talk.tools.keys() - LISTS.keys() - ({"summarize", "verify_report"} - asked.keys()):
        answer = talk.ask(tool, **asked.get(tool, {"instanceId": NODE}))
        assert tool != "verify_report" or answer["all_hold"], answer


def _compare(tool: str, detailed: dict[str, Any], concise: dict[str, Any], *, index: int) -> None:
    short, whole = concise[LISTS[tool]], detailed[LISTS[tool]]
    assert set(detailed) <= set(concise)
    assert concise["coverage_report"] == {**detailed["coverage_report"], "skipped_files": []}
    assert len(short) == len(whole)
    assert all(FIELDS <= set(finding) <= FIELDS | ALSO[tool] for finding in short)
    assert all(tool != "search" or ALSO[tool] <= set(finding) for finding in short)
    assert tokens(short) <= MOST * tokens(whole) or not whole, tool
    # A short timeline still carries the verdict whole; it is held against the index that it saves reading.
    against = index if tool == "correlate" else tokens(detailed)
    assert tokens(concise) <= MOST * against or len(whole) < ENOUGH_TO_TELL, (tool, len(whole))
    _compare_clusters(detailed.get("clusters", []), concise.get("clusters", []))


def _compare_clusters(detailed: list[dict[str, Any]], concise: list[dict[str, Any]]) -> None:
    by_id = {cluster["cluster_id"]: cluster for cluster in detailed}
    for short in concise:
        whole = by_id[short["cluster_id"]]
        assert short["start_time"][:19] == whole["start_time"][:19]
        assert short["end_time"] >= whole["end_time"].replace("Z", "") and "." not in short["end_time"]


def tokens(answer: Any) -> int:
    """Words, and each other sign: the same for both sides. Chat models cut digests and times smaller, so that they
    count more of a detailed answer than this does."""
    return len(re.findall(r"\w+|[^\w\s]", json.dumps(answer)))
