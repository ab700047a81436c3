"""Collecting from nodes and finding them, through the real clients, over HTTP, on the sandbox's simulators."""

import time
import uuid
from dataclasses import replace
from datetime import UTC

import pytest

from affidavit.adapters.aws.clients import AwsClients
from affidavit.adapters.aws.collector import SsmNodeCollector
from affidavit.adapters.aws.node_directory import Ec2NodeDirectory
from affidavit.errors import Conflict, InputRefused, NotFound, Throttled, UpstreamFailed
from affidavit.ports.node_collector import Execution, NodeCollector
from affidavit.ports.node_directory import NodeDirectory
from affidavit.sandbox.account.nodes import FleetNode
from affidavit.sandbox.aws.automation import Conduct
from affidavit.sandbox.aws.resources import BUCKET
from affidavit.sandbox.sandbox import Sandbox

REGION = "ca-central-1"
ENDED = {"Success", "Failed", "TimedOut", "Cancelled"}


@pytest.fixture
def node(sandbox: Sandbox) -> FleetNode:
    """A node of its own for each test."""
    node = FleetNode(instance_id=f"i-{uuid.uuid4().hex[:17]}", faults=("oom",), cluster=f"c-{uuid.uuid4().hex[:8]}")
    sandbox.fleet.add(node)
    return node


@pytest.fixture
def collector(aws_environment: dict[str, str]) -> NodeCollector:
    return SsmNodeCollector(AwsClients(REGION), BUCKET)


@pytest.fixture
def directory(aws_environment: dict[str, str]) -> NodeDirectory:
    return Ec2NodeDirectory(AwsClients(REGION))


def token() -> str:
    return str(uuid.uuid4())


def start(collector: NodeCollector, node: FleetNode, client_token: str | None = None) -> str:
    return collector.start(node.instance_id, region=node.region, client_token=client_token or token())


def ended(collector: NodeCollector, execution_id: str) -> Execution:
    for _ in range(1000):
        execution = collector.find(execution_id, region=REGION)
        assert execution is not None
        if execution.status in ENDED:
            return execution
        time.sleep(0.02)
    raise AssertionError("it does not end")


def test_a_collection_ends_with_an_archive_in_the_bucket(
    sandbox: Sandbox, collector: NodeCollector, node: FleetNode
) -> None:
    execution = ended(collector, start(collector, node))
    assert (execution.status, execution.instance_id, execution.failure) == ("Success", node.instance_id, None)
    assert {step.status for step in execution.steps} == {"Success"}
    assert execution.started is not None
    assert execution.ended is not None
    assert execution.started <= execution.ended
    assert execution.started.tzinfo is UTC
    assert execution.archive_key == f"eks_{node.instance_id}/{node.instance_id}_eks-log-collector.tar.gz"
    assert sandbox.client("s3").head_object(Bucket=BUCKET, Key=execution.archive_key)["ContentLength"] > 10_000


def test_the_same_token_gives_the_same_execution(sandbox: Sandbox, collector: NodeCollector, node: FleetNode) -> None:
    same = token()
    first = start(collector, node, same)
    assert start(collector, node, same) == first
    ended(collector, first)
    assert start(collector, node, same) == first
    assert start(collector, node) != first
    assert len(sandbox.automation.runs_of(node.instance_id)) == 2


def test_a_token_of_another_request_is_a_conflict(collector: NodeCollector, node: FleetNode) -> None:
    same = token()
    start(collector, node, same)
    with pytest.raises(Conflict):
        collector.start("i-0123456789abcdef0", region=REGION, client_token=same)


@pytest.mark.parametrize("status", ["Failed", "TimedOut"])
def test_a_collection_that_fails_says_why(
    sandbox: Sandbox, collector: NodeCollector, node: FleetNode, status: str
) -> None:
    sandbox.automation.conduct(node.instance_id, Conduct(ends=status, failure="no room on the root volume"))
    execution = ended(collector, start(collector, node))
    assert (execution.status, execution.failure) == (status, "no room on the root volume")
    assert execution.archive_key is None


def test_an_instance_that_nobody_manages_fails(collector: NodeCollector) -> None:
    execution_id = collector.start("i-0123456789abcdef0", region=REGION, client_token=token())
    assert ended(collector, execution_id).status == "Failed"


def test_a_stopped_collection_is_cancelled(sandbox: Sandbox, collector: NodeCollector, node: FleetNode) -> None:
    sandbox.automation.conduct(node.instance_id, Conduct(is_hanging=True))
    execution_id = start(collector, node)
    running = collector.find(execution_id, region=REGION)
    assert running is not None
    assert running.status in {"Pending", "InProgress"}
    collector.stop(execution_id, region=REGION)
    assert ended(collector, execution_id).status == "Cancelled"


def test_an_unknown_execution_is_none_and_cannot_be_stopped(collector: NodeCollector, node: FleetNode) -> None:
    assert collector.find(token(), region=REGION) is None
    with pytest.raises(NotFound):
        collector.stop(token(), region=REGION)
    assert collector.find(start(collector, node), region="eu-west-1") is None


def test_a_lost_answer_starts_no_second_execution(sandbox: Sandbox, collector: NodeCollector, node: FleetNode) -> None:
    sandbox.automation.conduct(node.instance_id, Conduct(lost_answers=1))
    execution_id = start(collector, node)
    assert [run.execution_id for run in sandbox.automation.runs_of(node.instance_id)] == [execution_id]


def test_answers_that_stay_lost_are_retryable_and_the_token_finds_the_execution(
    sandbox: Sandbox, collector: NodeCollector, node: FleetNode
) -> None:
    sandbox.automation.conduct(node.instance_id, Conduct(lost_answers=3))
    same = token()
    with pytest.raises(UpstreamFailed) as failure:
        start(collector, node, same)
    assert failure.value.is_retryable
    assert [run.execution_id for run in sandbox.automation.runs_of(node.instance_id)] == [start(collector, node, same)]


def test_a_throttle_that_stays_is_throttled(sandbox: Sandbox, collector: NodeCollector, node: FleetNode) -> None:
    sandbox.automation.conduct(node.instance_id, Conduct(refusals=("ThrottlingException",) * 3))
    with pytest.raises(Throttled):
        start(collector, node)
    assert sandbox.automation.runs_of(node.instance_id) == []
    assert start(collector, node)


def test_a_denial_names_the_call_and_none_of_the_policy(
    sandbox: Sandbox, collector: NodeCollector, node: FleetNode
) -> None:
    sandbox.automation.conduct(node.instance_id, Conduct(refusals=("AccessDeniedException",)))
    with pytest.raises(UpstreamFailed) as failure:
        start(collector, node)
    assert not failure.value.is_retryable
    assert "StartAutomationExecution" in str(failure.value)
    assert "scripted" not in f"{failure.value} {failure.value.hint}"


def test_nodes_of_a_cluster_come_with_place_and_health(
    sandbox: Sandbox, directory: NodeDirectory, node: FleetNode
) -> None:
    others = [
        replace(node, instance_id=f"i-{uuid.uuid4().hex[:17]}", is_healthy=False, zone="ca-central-1b"),
        replace(node, instance_id=f"i-{uuid.uuid4().hex[:17]}", state="stopped"),
        replace(node, instance_id=f"i-{uuid.uuid4().hex[:17]}", state="terminated"),
        replace(node, instance_id=f"i-{uuid.uuid4().hex[:17]}", region="eu-west-1"),
    ]
    sandbox.fleet.add(*others)
    found = {each.instance_id: each for each in directory.nodes_of(node.cluster, region=REGION)}
    assert set(found) == {node.instance_id, others[0].instance_id, others[1].instance_id}
    assert [found[each.instance_id].is_healthy for each in (node, *others[:2])] == [True, False, None]
    assert found[others[0].instance_id].zone == "ca-central-1b"
    assert found[node.instance_id].instance_type == "m6i.large"
    assert list(found) == sorted(found)


def test_an_unknown_cluster_is_refused(directory: NodeDirectory, node: FleetNode) -> None:
    for cluster, region in (("no-such-cluster", REGION), (node.cluster, "eu-west-1")):
        with pytest.raises(InputRefused) as refused:
            directory.nodes_of(cluster, region=region)
        assert region in str(refused.value)


def test_a_node_is_found_in_whatever_region_it_is(sandbox: Sandbox, directory: NodeDirectory, node: FleetNode) -> None:
    far = replace(node, instance_id=f"i-{uuid.uuid4().hex[:17]}", region="us-east-1")
    sandbox.fleet.add(far)
    assert directory.region_of(node.instance_id) == REGION
    assert directory.region_of(far.instance_id) == "us-east-1"
    assert directory.cluster_of(far.instance_id, region="us-east-1") == node.cluster
    assert directory.cluster_of(far.instance_id, region=REGION) is None
    assert directory.region_of("i-0123456789abcdef0") is None
