"""What the server promises about evidence, asked for through the real client over stdio."""

import json
import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from tests.support.archives.scenario_bundles import NODES, write_scenarios
from tests.support.peers.mcp_client import Talk, over_stdio

NODE = NODES["mixed-memory-network"]
DAMAGED = NODES["pressure"]
OLD = "i-0b01d00000000001"
COVERAGE = {
    "files_scanned",
    "total_files",
    "coverage_pct",
    "bytes_scanned",
    "total_bytes",
    "skipped_files",
    "skipped_total",
}
V1 = {
    "instanceId": OLD,
    "indexedAt": "2025-06-01T10:00:00Z",
    "findings": [
        {
            "file": "kubelet/kubelet.log",
            "severity": "warning",
            "pattern": "probe",
            "count": 2,
            "sample": "probe failed",
            "fullKey": f"eks_{OLD}/extracted/kubelet/kubelet.log",
        },
        {"file": "kernel/dmesg", "severity": "critical", "pattern": "oom", "count": 1, "sample": "Out of memory"},
        {"file": "kernel/dmesg", "severity": "info", "pattern": "boot", "count": 1, "sample": "booted"},
    ],
}
# Enough for everything there is to say about these nodes.
WHOLE = 8 << 20


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("bundles")
    write_scenarios(made)
    old = made / ".affidavit" / "objects" / f"eks_{OLD}"
    old.mkdir(parents=True)
    (old / "findings_index.json").write_text(json.dumps(V1))
    return made


@pytest.fixture(scope="module")
def talk(folder: Path) -> Iterator[Talk]:
    with over_stdio(("--bundles", str(folder)), {"LOGS_BUCKET": ""}) as talking:
        yield talking


@pytest.fixture(scope="module")
def index(talk: Talk) -> dict[str, Any]:
    return talk.ask("errors", instanceId=NODE, pageSize=200, max_bytes=WHOLE)


def stored(folder: Path, key: str) -> Path:
    return folder / ".affidavit" / "objects" / key


# --- summarize -------------------------------------------------------------------------------------------------------


def test_a_summary_holds_exactly_what_is_cited(talk: Talk, index: dict[str, Any]) -> None:
    ids = [finding["finding_id"] for finding in index["findings"]]
    for cited in (ids[:1], ids[1:4], list(reversed(ids)), ids[-1:]):
        report = talk.ask("summarize", instanceId=NODE, finding_ids=cited, index_id=index["index_id"], max_bytes=WHOLE)
        assert sorted(finding["finding_id"] for finding in report["findings"]) == sorted(cited)
        assert report["finding_ids_resolved"] == len(cited) and sorted(report["finding_ids_requested"]) == sorted(cited)
        assert all(set(advice["finding_ids"]) <= set(cited) for advice in report["recommendations"])


def test_a_summary_without_ids_is_refused_and_says_what_to_call(talk: Talk) -> None:
    for nothing in ({}, {"finding_ids": []}, {"finding_ids": None}):
        refused = talk.refused("summarize", instanceId=NODE, **nothing)
        assert refused["statusCode"] == 400 and "errors" in refused["hint"] and "search" in refused["hint"]
        assert "finding_ids is required" in refused["error"]


def test_an_unknown_id_is_refused_by_name(talk: Talk, index: dict[str, Any]) -> None:
    refused = talk.refused("summarize", instanceId=NODE, finding_ids=["F-001", "F-999", "S-777"])
    assert refused["statusCode"] == 400
    assert "F-999" in refused["error"] and "S-777" in refused["error"]
    assert index["findings"][0]["finding_id"] in refused["error"] + refused["hint"]


@pytest.mark.parametrize(
    ("cited", "pin"),
    [(["F-001", "F-002"], {"index_id": "ix-of-yesterday"}), (["S-001", "F-002"], {"search_id": "se-of-yesterday"})],
)
def test_ids_of_an_index_or_a_search_that_is_gone_are_refused_by_name(
    talk: Talk, cited: list[str], pin: dict[str, str]
) -> None:
    refused = talk.refused("summarize", instanceId=NODE, finding_ids=cited, **pin)
    assert refused["statusCode"] == 400
    assert all(name in refused["error"] for name in (*cited, *pin.values()))


def test_a_stale_index_is_told_the_present_one(talk: Talk, index: dict[str, Any]) -> None:
    refused = talk.refused("summarize", instanceId=NODE, finding_ids=["F-001"], index_id="ix-of-yesterday")
    assert index["index_id"] in refused["error"]
    assert talk.refused("errors", instanceId=NODE, index_id="ix-of-yesterday")["statusCode"] == 404


def test_evidence_that_changed_under_its_id_is_refused_by_name(talk: Talk, folder: Path) -> None:
    index = talk.ask("errors", instanceId=DAMAGED)
    changed = index["findings"][0]
    path = stored(folder, changed["evidence"]["full_key"])
    before, at = path.read_bytes(), changed["evidence"]["byte_offset"]["start"]
    path.write_bytes(before[:at] + bytes([before[at] ^ 1]) + before[at + 1 :])
    ids = [finding["finding_id"] for finding in index["findings"]]
    try:
        refused = talk.refused("summarize", instanceId=DAMAGED, finding_ids=ids, index_id=index["index_id"])
        claim = {"finding_id": changed["finding_id"], "quote": changed["evidence"]["excerpt"]}
        judged = talk.ask("verify_report", instanceId=DAMAGED, claims=[claim], index_id=index["index_id"])
    finally:
        path.write_bytes(before)
    assert refused["statusCode"] == 400 and changed["finding_id"] in refused["error"]
    assert [each["verdict"] for each in judged["claims"]] == ["evidence_changed"]
    talk.ask("summarize", instanceId=DAMAGED, finding_ids=ids, index_id=index["index_id"])


def test_what_a_search_found_can_be_summarized(talk: Talk) -> None:
    found = talk.ask("search", instanceId=NODE, query="(?i)out of memory|oom")
    ids = [result["finding_id"] for result in found["results"]]
    assert ids and all(re.fullmatch(r"S-\d{3,}", each) for each in ids)
    pins = {"index_id": found["index_id"], "search_id": found["search_id"]}
    report = talk.ask("summarize", instanceId=NODE, finding_ids=ids, **pins)
    assert sorted(finding["finding_id"] for finding in report["findings"]) == sorted(ids)
    quoted = {finding["finding_id"]: finding["evidence"] for finding in report["findings"]}
    assert quoted == {result["finding_id"]: result["evidence"] for result in found["results"]}


# --- validate --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("damage", ["missing", "changed", "truncated"])
def test_damage_is_found_by_its_file(talk: Talk, folder: Path, damage: str) -> None:
    whole = talk.ask("validate", instanceId=DAMAGED)
    assert whole["complete"] is True and whole["missing_files"] == [] == whole["corrupted_files"]
    listed = talk.ask("list_bundle_files", instanceId=DAMAGED, max_bytes=WHOLE)["files"]
    file = max(listed, key=lambda each: each["size_bytes"])
    path = stored(folder, file["key"])
    before = path.read_bytes()
    _damage(path, before, damage)
    try:
        found = talk.ask("validate", instanceId=DAMAGED)
    finally:
        path.write_bytes(before)
    assert found["complete"] is False and found["verified_files"] == whole["verified_files"] - 1
    if damage == "missing":
        assert found["missing_files"] == [file["path"]]
    else:
        (corrupted,) = found["corrupted_files"]
        assert corrupted["file"] == file["path"] and corrupted["actual_md5"] != corrupted["expected_md5"]
        assert (corrupted["actual_size"] < corrupted["expected_size"]) == (damage == "truncated")


def _damage(path: Path, before: bytes, damage: str) -> None:
    match damage:
        case "missing":
            path.unlink()
        case "changed":
            middle = len(before) // 2
            path.write_bytes(before[:middle] + bytes([before[middle] ^ 1]) + before[middle + 1 :])
        case _:
            path.write_bytes(before[:-10])


# --- read ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("chunk", [700, 1 << 20])
def test_chunks_reproduce_a_file(talk: Talk, folder: Path, chunk: int) -> None:
    files = talk.ask("list_bundle_files", instanceId=NODE, max_bytes=WHOLE)["files"]
    for file in sorted(files, key=lambda each: each["size_bytes"])[:: max(1, len(files) // 6)]:
        content, at, hidden = "", 0, False
        while at is not None:
            part = talk.ask("read", logKey=file["key"], startByte=at, endByte=at + chunk)
            assert part["startByte"] == at and part["lineAligned"] is True and part["truncated"] is False
            content, hidden = content + part["content"], hidden or bool(part["redacted"])
            assert part["endByte"] == (part["nextChunkStart"] or part["totalSize"])
            at = part["nextChunkStart"]
        assert hidden or content == stored(folder, file["key"]).read_bytes().decode("utf-8", "replace"), file["path"]


# --- errors ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 4])
def test_pages_together_are_every_finding_once(talk: Talk, index: dict[str, Any], size: int) -> None:
    found: list[str] = []
    token: dict[str, str] = {}
    while True:
        page = talk.ask("errors", instanceId=NODE, pageSize=size, **token)
        found.extend(finding["finding_id"] for finding in page["findings"])
        if page["pagination"]["next_page_token"] is None:
            break
        assert len(page["findings"]) == size and page["truncated"] and page["pagination"]["has_more"]
        token = {"pageToken": page["pagination"]["next_page_token"]}
    assert found == [finding["finding_id"] for finding in index["findings"]]
    assert page["pagination"]["total_findings"] == len(found) > 5


def test_a_token_of_another_question_is_refused(talk: Talk) -> None:
    token = talk.ask("errors", instanceId=NODE, pageSize=1)["pagination"]["next_page_token"]
    assert talk.refused("errors", instanceId=NODES["mixed-everything"], pageToken=token)["statusCode"] == 400
    assert talk.refused("errors", instanceId=NODE, severity="high", pageToken=token)["statusCode"] == 400
    assert talk.refused("errors", instanceId=NODE, pageToken=token[:-3])["statusCode"] == 400


def tokens(answer: Any) -> int:
    """Words, and each other sign: near what chat models count, and the same for both sides."""
    return len(re.findall(r"\w+|[^\w\s]", json.dumps(answer)))


@pytest.mark.parametrize("name", NODES)
def test_concise_is_at_most_three_tenths_of_detailed(talk: Talk, name: str) -> None:
    detailed, concise = (
        talk.ask("errors", instanceId=NODES[name], pageSize=200, response_format=form, max_bytes=WHOLE)
        for form in ("detailed", "concise")
    )
    fields = {"finding_id", "severity", "pattern", "count"}
    assert all(set(finding) == fields for finding in concise["findings"])
    assert tokens(concise["findings"]) <= 0.3 * tokens(detailed["findings"])
    assert len(concise["findings"]) == len(detailed["findings"])
    assert tokens(concise) <= 0.3 * tokens(detailed), (tokens(concise), tokens(detailed))


def test_most_of_the_indexes_are_large_enough_to_tell(talk: Talk) -> None:
    totals = [talk.ask("errors", instanceId=node)["summary"]["total"] for node in NODES.values()]
    assert sum(total >= 10 for total in totals) >= 4, totals


def test_an_index_of_version_one_is_read_as_version_two(talk: Talk) -> None:
    found = talk.ask("errors", instanceId=OLD)
    assert [finding["severity"] for finding in found["findings"]] == ["critical", "medium", "info"]
    assert found["findings"][1]["evidence"]["source_file"] == "kubelet/kubelet.log"
    assert found["findings"][1]["evidence"]["excerpt"] == "probe failed"
    assert found["findings"][1]["evidence"]["full_key"] == f"eks_{OLD}/extracted/kubelet/kubelet.log"
    assert found["summary"]["medium"] == 1 and found["gaps"]


# --- correlate, and how far to trust it ------------------------------------------------------------------------------


@pytest.mark.parametrize("window", [1, 60, 600, 3600])
def test_clusters_part_where_the_gap_is_longer_than_the_window(talk: Talk, window: int) -> None:
    answer = talk.ask("correlate", instanceId=NODE, timeWindow=window, max_bytes=WHOLE)
    times = [datetime.fromisoformat(event["timestamp"]) for event in answer["timeline"]]
    assert times == sorted(times)
    breaks = sum(later - earlier > timedelta(seconds=window) for earlier, later in pairwise(times))
    assert len(answer["clusters"]) == breaks + 1
    assert [each["cluster_id"] for each in answer["clusters"]] == [f"C-{n:03d}" for n in range(1, breaks + 2)]
    assert sum(each["event_count"] for each in answer["clusters"]) == len(times)


@pytest.mark.parametrize(
    ("name", "step"), [("mixed-memory-network", "OOM"), ("cni-failure", "IP"), ("oom-bottlerocket", "OOM")]
)
def test_a_chain_is_made_of_findings_of_the_index(talk: Talk, name: str, step: str) -> None:
    answer = talk.ask("correlate", instanceId=NODES[name], timeWindow=600, max_bytes=WHOLE)
    known = {
        finding["finding_id"]
        for finding in talk.ask("errors", instanceId=NODES[name], pageSize=200, max_bytes=WHOLE)["findings"]
    }
    chains = answer["potential_root_cause_chains"]
    assert any(step in " ".join(chain["chain"]) for chain in chains), chains
    for chain in chains:
        assert set(chain["finding_ids"]) <= known and len(chain["chain"]) == len(chain["finding_ids"])
        assert chain["cluster_id"] in {cluster["cluster_id"] for cluster in answer["clusters"]}


def test_every_answer_that_interprets_says_how_far_to_trust_it(talk: Talk, index: dict[str, Any]) -> None:
    asked = {
        "correlate": {"instanceId": NODE},
        "summarize": {"instanceId": NODE, "finding_ids": ["F-001"], "index_id": index["index_id"]},
        "network_diagnostics": {"instanceId": NODE},
        "storage_diagnostics": {"instanceId": NODE},
        "compare_nodes": {"instanceIds": [NODE, DAMAGED]},
        "cluster_health": {"clusterName": "local"},
        "quick_triage": {"instanceId": NODE},
    }
    for tool, arguments in asked.items():
        answer = talk.ask(tool, **arguments)
        assert answer["confidence"]["level"] in ("high", "medium", "low") and answer["confidence"]["basis"], tool
        assert answer["caveat"] and set(answer["coverage_report"]) == COVERAGE, tool


def test_every_bundle_is_a_resource_that_can_be_read(talk: Talk) -> None:
    """Also one whose index another program wrote; it says what it lacks."""
    listed = [str(resource.uri) for resource in talk.resources()]
    assert listed == sorted(f"affidavit://bundle/{node}" for node in (*NODES.values(), OLD))
    for uri in listed:
        assert (json.loads(talk.resource(uri))["total_files"] > 0) == (OLD not in uri)


# --- from an alarm to quotes that hold -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NODES)
def test_two_calls_and_eight_kilobytes_lead_from_a_sick_node_to_quotes_that_hold(talk: Talk, name: str) -> None:
    first = talk.ask("quick_triage", instanceId=NODES[name])
    claims = [
        {"finding_id": found["finding_id"], "quote": found["evidence"]["excerpt"]} for found in first["top_findings"]
    ]
    assert claims, "a scenario of a sick node"
    second = talk.ask("verify_report", instanceId=NODES[name], index_id=first["index_id"], claims=claims)
    assert second["all_hold"] and second["held"] == len(claims)
    assert sum(len(json.dumps(each, ensure_ascii=False).encode()) for each in (first, second)) <= 8 << 10
