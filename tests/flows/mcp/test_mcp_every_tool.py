"""Every tool through the real client: over stdio and HTTP, over a folder and over S3 and DynamoDB, on every layout."""

import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tests.support.archives.scenario_bundles import NODES, write_scenarios
from tests.support.peers.mcp_client import Talk, over_http, over_stdio, wait_until

from affidavit.bootstrap import build_app
from affidavit.entrypoints.mcp.tools.catalog import COLLECTION, LAMBDA, TOOLS
from affidavit.entrypoints.mcp.tools.catalog import NODES as NODE_TOOLS
from affidavit.evaluation.generator import Layout
from affidavit.evaluation.nodes.scenario import load_scenarios
from affidavit.investigation import analyze
from affidavit.knowledge import load_knowledge
from affidavit.nodes.ingest.bundle_intake import ingest
from affidavit.nodes.ingest.store_bundle import Origin
from affidavit.nodes.library.indexed_bundles import Library
from affidavit.sandbox.account.function_account import FUNCTION, seed_account
from affidavit.sandbox.account.nodes import FleetNode
from affidavit.sandbox.aws.automation import Conduct
from affidavit.sandbox.sandbox import Sandbox
from affidavit.settings import Settings

CLUSTER = "acceptance"
WITHOUT_BUNDLE = "i-0dead0000000000ff"
DOORS = ("stdio-folder", "http-folder", "stdio-aws", "http-aws")
STORED = tuple(NODES.values())


@dataclass(frozen=True, kw_only=True)
class Door:
    name: str
    talk: Talk
    cluster: str
    nodes: tuple[str, ...] = tuple(NODES.values())
    indexes: dict[str, dict[str, Any]] = field(default_factory=dict)

    def index_of(self, node: str) -> dict[str, Any]:
        """What `errors` says of it, asked once: every question but that one begins with it."""
        if node not in self.indexes:
            self.indexes[node] = self.talk.ask("errors", instanceId=node)
        return self.indexes[node]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("bundles")
    write_scenarios(made)
    return made


@pytest.fixture(scope="module")
def account(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    """A sandbox whose bucket indexes what nodes upload, with every bundle of the folder in it already."""
    with pytest.MonkeyPatch.context() as patched, Sandbox(tmp_path_factory.mktemp("aws")) as sandbox:
        patched.delenv("AWS_PROFILE", raising=False)
        for name, value in sandbox.environment.items():
            patched.setenv(name, value)
        library = _library()
        sandbox.automation.on_upload = lambda _bucket, key: _take_in(library, key)
        sandbox.fleet.add(*(FleetNode(instance_id=node, cluster=CLUSTER, state="stopped") for node in STORED))
        seed_account(sandbox, region=sandbox.region)
        _write_logs(sandbox)
        for node in STORED:
            _take_in(library, next(folder.glob(f"{node}*")))
        yield sandbox


def _write_logs(sandbox: Sandbox) -> None:
    logs, group = sandbox.client("logs"), f"/aws/lambda/{FUNCTION}"
    logs.create_log_group(logGroupName=group)
    logs.create_log_stream(logGroupName=group, logStreamName="one")
    event = {"timestamp": int(time.time() * 1000), "message": "Task timed out after 20.00 seconds"}
    logs.put_log_events(logGroupName=group, logStreamName="one", logEvents=[event])


def _library() -> Library:
    app = build_app(Settings.from_environment())
    return Library(objects=app.objects, state=app.state, clock=app.clock, knowledge=load_knowledge())


def _take_in(library: Library, source: str | Path) -> None:
    ingest(source, library, analyze=analyze, origin=Origin(cluster=CLUSTER), workers=1)


@pytest.fixture(scope="module")
def doors(folder: Path, account: Sandbox) -> Iterator[dict[str, Door]]:
    on_aws = {**account.environment, "ALLOWED_CLUSTERS": CLUSTER}
    bundles, local = ("--bundles", str(folder)), {"LOGS_BUCKET": ""}
    ways = {
        "stdio-folder": (over_stdio(bundles, local), "local"),
        "http-folder": (over_http(bundles, local), "local"),
        "stdio-aws": (over_stdio((), on_aws), CLUSTER),
        "http-aws": (over_http((), on_aws), CLUSTER),
    }
    with ExitStack() as opened:
        yield {
            name: Door(name=name, talk=opened.enter_context(way), cluster=cluster, nodes=_nodes_for(name))
            for name, (way, cluster) in ways.items()
        }


def _nodes_for(door: str) -> tuple[str, ...]:
    """Every layout on both back ends; the other way in to each of them changes nothing about layouts."""
    return STORED if door in ("stdio-folder", "http-aws") else STORED[:1]


@pytest.fixture(params=DOORS)
def door(request: pytest.FixtureRequest, doors: dict[str, Door]) -> Door:
    return doors[request.param]


@pytest.fixture(params=["stdio-aws", "http-aws"])
def aws_door(request: pytest.FixtureRequest, doors: dict[str, Door]) -> Door:
    return doors[request.param]


def arguments_for(tool: str, node: str, door: Door) -> dict[str, Any]:
    """What somebody would ask who has looked at the node before."""
    index = door.index_of(node)
    first = index["findings"][0]
    claim = {"finding_id": first["finding_id"], "quote": first["evidence"]["excerpt"]}
    pinned = {"instanceId": node, "index_id": index["index_id"]}
    special: dict[str, dict[str, Any]] = {
        "search": {"instanceId": node, "query": "(?i)error|fail"},
        "read": {"logKey": first["evidence"]["full_key"], "startLine": first["evidence"]["line_range"]["start"]},
        "artifact": {"logKey": first["evidence"]["full_key"]},
        "summarize": {**pinned, "finding_ids": [first["finding_id"]]},
        "verify_report": {**pinned, "claims": [claim]},
        "compare_nodes": {"instanceIds": [node, *[other for other in STORED if other != node][:2]]},
        "cluster_health": {"clusterName": door.cluster},
    }
    return special.get(tool, {"instanceId": node})


def test_the_scenarios_stand_for_every_layout() -> None:
    assert {scenario.layout for scenario in load_scenarios() if scenario.id in NODES} == set(Layout)


def test_a_folder_offers_the_questions_and_an_account_every_tool(doors: dict[str, Door]) -> None:
    questions, everything = ({tool.name for tool in tools} for tools in (NODE_TOOLS, TOOLS))
    for name, door in doors.items():
        assert set(door.talk.tools) == (questions if name.endswith("folder") else everything)


@pytest.mark.parametrize("tool", [tool.name for tool in NODE_TOOLS])
def test_every_question_is_answered_in_its_schema_on_every_layout(tool: str, door: Door) -> None:
    for node in door.nodes:
        answer = door.talk.ask(tool, **arguments_for(tool, node, door))
        has_looked = answer.get("coverage_report", {}).get("files_scanned", 1) > 0
        # A layout may lack what a check would read: then nothing passes, and nobody is confident.
        unseen = [check["status"] for check in answer.get("checks", [])]
        assert has_looked or (set(unseen) == {"not_available"} and answer["confidence"]["level"] == "low"), answer


@pytest.mark.parametrize("tool", [tool.name for tool in LAMBDA])
def test_every_question_about_a_function_is_answered_in_its_schema(tool: str, aws_door: Door) -> None:
    aws_door.talk.ask(tool, lambda_name=FUNCTION)
    assert aws_door.talk.refused(tool, lambda_name="nobody-knows-it")["statusCode"] == 404


@pytest.mark.parametrize("tool", [tool.name for tool in NODE_TOOLS])
def test_every_error_has_one_shape(tool: str, door: Door) -> None:
    assert door.talk.refused(tool, stranger=1)["statusCode"] == 400
    lost = {
        "read": {"logKey": f"eks_{WITHOUT_BUNDLE}/extracted/x.log"},
        "artifact": {"logKey": f"eks_{WITHOUT_BUNDLE}/extracted/x.log"},
        "search": {"instanceId": WITHOUT_BUNDLE, "query": "x"},
        "summarize": {"instanceId": WITHOUT_BUNDLE, "finding_ids": ["F-001"]},
        "verify_report": {"instanceId": WITHOUT_BUNDLE, "claims": [{"finding_id": "F-001", "quote": "x"}]},
        "compare_nodes": {"instanceIds": [WITHOUT_BUNDLE, "i-0dead0000000000fe"]},
        "cluster_health": {"clusterName": "nobody-has-it"},
    }
    assert door.talk.refused(tool, **lost.get(tool, {"instanceId": WITHOUT_BUNDLE}))["statusCode"] == 404


def test_both_back_ends_say_the_same(doors: dict[str, Door]) -> None:
    for node in STORED:
        local, stored = (doors[name].talk.ask("errors", instanceId=node, pageSize=200) for name in DOORS[::3])
        assert local["index_id"] == stored["index_id"]
        assert local["findings"] == stored["findings"]


def test_a_node_is_collected_validated_questioned_and_reported(account: Sandbox, aws_door: Door) -> None:
    talk = aws_door.talk
    node = f"i-0c011ec7{DOORS.index(aws_door.name):09x}"
    account.fleet.add(FleetNode(instance_id=node, cluster=CLUSTER, faults=("oom",)))
    begun = talk.ask("collect", instanceId=node, idempotencyToken="lifecycle")
    assert begun["idempotent"] is False and begun["task"]["state"] == "working"
    again = talk.ask("collect", instanceId=node, idempotencyToken="lifecycle")
    assert again["idempotent"] is True and again["executionId"] == begun["executionId"]
    execution = begun["executionId"]
    wait_until(lambda: talk.ask("status", executionId=execution)["task"]["state"] != "working")
    assert talk.ask("status", executionId=execution)["task"]["state"] == "completed"
    whole = talk.ask("validate", executionId=execution)
    assert whole["complete"] is True and whole["verified_files"] == whole["total_expected"] > 50
    found = talk.ask("errors", instanceId=node, severity="high")
    ids = [finding["finding_id"] for finding in found["findings"]]
    report = talk.ask("summarize", instanceId=node, finding_ids=ids, index_id=found["index_id"])
    assert "OOM killer invoked" in {finding["pattern"] for finding in report["findings"]}
    past = talk.ask("history", instanceId=node)["collections"]
    assert [(each["executionId"], each["state"]) for each in past] == [(execution, "completed")]


def test_a_batch_tells_of_each_node_and_a_collection_can_be_cancelled(account: Sandbox, aws_door: Door) -> None:
    talk, cluster = aws_door.talk, CLUSTER
    hanging = f"i-0ba7c4{DOORS.index(aws_door.name):011x}"
    account.fleet.add(FleetNode(instance_id=hanging, cluster=cluster))
    account.automation.conduct(hanging, Conduct(is_hanging=True))
    batch = talk.ask("batch_collect", clusterName=cluster, strategy="all", idempotencyToken=aws_door.name)
    assert hanging in {node["instanceId"] for node in batch["nodes"]}
    execution = next(node["executionId"] for node in batch["nodes"] if node["instanceId"] == hanging)
    talk.ask("cancel", executionId=execution)
    wait_until(lambda: talk.ask("status", executionId=execution)["task"]["state"] == "cancelled")
    after = talk.ask("batch_status", batchId=batch["batchId"])
    assert after["counts"]["cancelled"] >= 1 and after["counts"]["total"] == len(after["nodes"])


@pytest.mark.parametrize(
    ("tool", "arguments", "status"),
    [
        ("collect", {"instanceId": "i-xyz"}, 400),
        ("collect", {"instanceId": WITHOUT_BUNDLE}, 404),
        ("status", {"executionId": "no-such-execution"}, 404),
        ("history", {"limit": 0}, 400),
        ("batch_collect", {"clusterName": "somebody-elses"}, 400),
        ("batch_status", {"batchId": "no-such-batch"}, 404),
    ],
)
def test_what_cannot_be_collected_is_an_error_of_the_same_shape(
    aws_door: Door, tool: str, arguments: dict[str, Any], status: int
) -> None:
    assert tool in {known.name for known in COLLECTION}
    assert aws_door.talk.refused(tool, **arguments)["statusCode"] == status
