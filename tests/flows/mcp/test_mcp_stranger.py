"""Mistakes that somebody makes who knows the server by its schemas alone, and what they are told."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.knowledge.libraries import INSTANCE, an_archive
from tests.support.peers.mcp_client import Talk, in_memory
from tests.support.peers.mcp_server import calls_over

from affidavit.entrypoints.mcp.tools.catalog import NODES

LOG = "kubelet/kubelet.log"
KEY = f"eks_{INSTANCE}/extracted/{LOG}"
LINES = b"".join(b"Jan 15 10:30:%02d ip-10-0-0-1 kubelet[1]: line %d\n" % (n, n) for n in range(20))
OOM = b"Jan 15 10:30:00 ip-10-0-0-1 kernel: Out of memory: Killed process 4242 (java) total-vm:1kB\n"


@pytest.fixture(scope="module")
def talk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Talk]:
    folder: Path = tmp_path_factory.mktemp("bundles")
    an_archive(folder, {LOG: LINES, "var_log/messages": OOM})
    with in_memory(calls_over(folder, tools=NODES)) as talking:
        yield talking


@pytest.mark.parametrize(
    ("tool", "arguments", "status", "said"),
    [
        ("errors", {"instanceId": INSTANCE, "responseFormat": "concise"}, 400, "response_format"),
        ("errors", {"instanceId": INSTANCE, "severity": "warning"}, 400, "severity: Input should be 'all', 'critical'"),
        ("errors", {"instanceId": "i-0dead0000000000ff"}, 404, INSTANCE),
        ("validate", {}, 400, "arguments: give instanceId or executionId"),
        ("verify_report", {"instanceId": INSTANCE, "claims": ["F-001"]}, 400, "claims.0: it should be an object"),
        (
            "verify_report",
            {"instanceId": INSTANCE, "claims": [{"logKey": KEY, "line": 3, "quote": "line 2"}]},
            400,
            "search for the line and cite its S- id",
        ),
        ("correlate", {"instanceId": INSTANCE, "pivotEvent": "F-999"}, 400, "without pivotEvent"),
        ("correlate", {"instanceId": INSTANCE, "components": ["kernal"]}, 400, "kernel"),
        ("read", {"logKey": LOG}, 400, "list_bundle_files"),
        ("read", {"logKey": KEY, "startByte": 0, "lineCount": 3}, 400, "startLine and lineCount"),
        ("list_bundle_files", {"instanceId": INSTANCE, "under": "nope/"}, 404, "kubelet, var_log"),
        ("summarize", {"instanceId": INSTANCE}, 400, "call errors or search first"),
        ("cluster_health", {"clusterName": "production"}, 404, "local"),
        ("search", {"instanceId": INSTANCE, "query": "(?=x)y"}, 400, "look-around"),
        ("search", {"instanceId": INSTANCE, "query": "x", "logTypes": ["nginx"]}, 400, "kubelet"),
    ],
)
def test_a_mistake_is_answered_with_what_to_do_instead(
    talk: Talk, tool: str, arguments: dict[str, Any], status: int, said: str
) -> None:
    refused = talk.refused(tool, **arguments)
    assert refused["statusCode"] == status
    assert said in refused["error"] + refused["hint"]


def test_a_schema_asks_for_what_the_call_needs(talk: Talk) -> None:
    asked = talk.tools["summarize"].input_schema
    assert asked["required"] == ["instanceId", "finding_ids"] and asked["properties"]["finding_ids"]["minItems"] == 1


def test_the_path_of_a_local_file_does_not_expire(talk: Talk) -> None:
    answer = talk.ask("artifact", logKey=KEY)
    assert (Path(answer["url"]).read_bytes(), answer["expires_at"]) == (LINES, None)


def test_a_number_of_lines_alone_counts_from_the_first(talk: Talk) -> None:
    answer = talk.ask("read", logKey=KEY, lineCount=3)
    assert answer["content"].encode() == b"".join(LINES.splitlines(keepends=True)[:3])
    assert answer["hasMore"] is True
    assert talk.ask("read", logKey=KEY)["content"].encode() == LINES


def test_a_component_that_reports_nothing_is_a_gap_beside_one_that_does(talk: Talk) -> None:
    both = talk.ask("correlate", instanceId=INSTANCE, components=["kernel", "kublet"])
    alone = talk.ask("correlate", instanceId=INSTANCE, components=["kernel"])
    assert both["timeline"] == alone["timeline"] != []
    assert [gap for gap in both["confidence"]["gaps"] if "kublet" in gap]
    assert not [gap for gap in alone["confidence"]["gaps"] if "reported by" in gap]


def test_lines_of_a_resource_do_not_run_backwards(talk: Talk) -> None:
    with pytest.raises(Exception, match="line 2 is before line 5"):
        talk.resource(f"affidavit://log/{KEY}#L5-2")


# What a chat model reads decides whether it cites: the tools that hand out findings all say so.
@pytest.mark.parametrize(
    "tool", ["quick_triage", "errors", "search", "correlate", "summarize", "network_diagnostics", "storage_diagnostics"]
)
def test_a_tool_that_hands_out_findings_asks_to_cite_and_to_quote(talk: Talk, tool: str) -> None:
    text = talk.tools[tool].description
    assert "must cite" in text and "verbatim" in text and "index_id" in text and "never an instruction" in text
