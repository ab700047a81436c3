"""Nodes that end: every one is collected before it goes, and no group is left waiting, in storms and after crashes."""

import json
import time
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

import pytest
from tests.support.storms import storm

from affidavit.entrypoints.lambdas import on_incident
from affidavit.incidents.evidence import termination_holds
from affidavit.incidents.incident import IncidentId
from affidavit.incidents.store.state import Status
from affidavit.sandbox.account.nodes import CLUSTER, FleetNode
from affidavit.sandbox.aws.automation import Conduct, archive_key
from affidavit.sandbox.aws.resources import BUCKET
from affidavit.sandbox.sandbox import Sandbox

numbers = count(1)


class Context:
    invoked_function_arn = ""

    def get_remaining_time_in_millis(self) -> int:
        return 300_000


@pytest.fixture
def handler(aws_environment: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("CHAT_PROVIDER", "offline")
    monkeypatch.setenv("MAX_INCIDENTS_PER_HOUR", "500")
    on_incident.application.cache_clear()
    yield
    on_incident.application.cache_clear()


pytestmark = pytest.mark.usefixtures("handler")


def a_node(sandbox: Sandbox, conduct: Conduct | None = None, cluster: str = CLUSTER) -> FleetNode:
    node = FleetNode(instance_id=f"i-0e4d00000{next(numbers):08x}", cluster=cluster)
    sandbox.fleet.add(node)
    sandbox.automation.conduct(node.instance_id, conduct or Conduct(step_seconds=0.0))
    return node


def ending(sandbox: Sandbox, node: FleetNode) -> tuple[str, dict[str, Any]]:
    token = str(uuid.uuid4())
    sandbox.lifecycle.begin(token)
    detail = {
        "EC2InstanceId": node.instance_id,
        "AutoScalingGroupName": "workers",
        "LifecycleHookName": "affidavit-save-logs",
        "LifecycleActionToken": token,
        "LifecycleTransition": "autoscaling:EC2_INSTANCE_TERMINATING",
    }
    return token, {
        "id": token,
        "detail-type": "EC2 Instance-terminate Lifecycle Action",
        "source": "aws.autoscaling",
        "account": "000000000000",
        "region": node.region,
        "time": datetime.now(UTC).isoformat(),
        "detail": detail,
    }


def handled(event: dict[str, Any]) -> dict[str, Any]:
    (done,) = json.loads(on_incident.handler(event, Context())["body"])
    return done


def rounds(sandbox: Sandbox, tokens: set[str], seconds: float = 60.0) -> None:
    """The watchdog's looks at the groups that wait, until none does."""
    held = on_incident.application("")[1].held
    assert held is not None
    until = time.monotonic() + seconds
    while sandbox.lifecycle.waiting & tokens:
        assert time.monotonic() < until, f"{len(sandbox.lifecycle.waiting & tokens)} groups are left waiting"
        held.tick()


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """A round of the watchdog is due at once."""
    monkeypatch.setattr(termination_holds, "LOOK_AGAIN", timedelta(seconds=-1))


def is_saved(sandbox: Sandbox, node: FleetNode) -> bool:
    listed = sandbox.client("s3").list_objects_v2(Bucket=BUCKET, Prefix=archive_key(node.instance_id))
    return listed["KeyCount"] == 1


@pytest.mark.usefixtures("eager")
@pytest.mark.slow
def test_every_node_has_its_bundle_before_it_is_let_go(sandbox: Sandbox) -> None:
    for _ in range(storm(10, full=50)):
        node = a_node(sandbox)
        token, event = ending(sandbox, node)
        handled(event)
        held = on_incident.application("")[1].held
        assert held is not None
        while token in sandbox.lifecycle.waiting:
            held.look(node.instance_id)
        assert is_saved(sandbox, node), "it was let go before its logs were saved"
        assert sandbox.lifecycle.results[token] == "CONTINUE"
        assert len(sandbox.automation.runs_of(node.instance_id)) == 1


@pytest.mark.usefixtures("eager")
@pytest.mark.slow
def test_a_storm_of_endings_leaves_nobody_waiting_and_collects_each_once(sandbox: Sandbox) -> None:
    """Every fourth start is throttled, every tenth node has no agent; each event comes twice."""
    nodes = [
        a_node(
            sandbox,
            Conduct(
                step_seconds=0.0,
                refusals=("ThrottlingException",) * 3 if number % 4 == 0 else (),
                ends="Failed" if number % 10 == 9 else "Success",
            ),
        )
        for number in range(storm(20, full=100))
    ]
    endings = [ending(sandbox, node) for node in nodes]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(handled, [event for _, event in endings] * 2))
    rounds(sandbox, {token for token, _ in endings})
    assert {sandbox.lifecycle.results[token] for token, _ in endings} == {"CONTINUE"}
    for number, node in enumerate(nodes):
        assert len(sandbox.automation.runs_of(node.instance_id)) == 1
        assert is_saved(sandbox, node) == (number % 10 != 9)


def test_a_node_of_a_foreign_cluster_is_let_go_at_once_and_not_collected(sandbox: Sandbox) -> None:
    node = a_node(sandbox, cluster=f"theirs-{uuid.uuid4().hex[:6]}")
    token, event = ending(sandbox, node)
    assert "not one of ALLOWED_CLUSTERS" in handled(event)["outcome"]
    assert sandbox.lifecycle.results[token] == "CONTINUE"
    assert sandbox.automation.runs_of(node.instance_id) == []


def test_a_spot_warning_starts_the_collection_at_once(sandbox: Sandbox) -> None:
    node = a_node(sandbox)
    warning = {
        "id": uuid.uuid4().hex,
        "detail-type": "EC2 Spot Instance Interruption Warning",
        "source": "aws.ec2",
        "account": "000000000000",
        "region": node.region,
        "time": datetime.now(UTC).isoformat(),
        "detail": {"instance-id": node.instance_id, "instance-action": "terminate"},
    }
    done = handled(warning)
    assert done["outcome"] == "awaiting evidence"
    assert len(sandbox.automation.runs_of(node.instance_id)) == 1
    state = on_incident.application("")[1].states.get_state(IncidentId(done["incident_id"]))
    assert state is not None
    assert state.status is Status.AWAITING_EVIDENCE
    while not is_saved(sandbox, node):
        time.sleep(0.02)
