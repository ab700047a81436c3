"""A sick node, from its alarm to a proven diagnosis: real DynamoDB, S3 and SSM over HTTP, our Lambda functions."""

import uuid
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from tests.support.investigations.node_incidents import (
    OFFLINE,
    Context,
    a_node,
    alarm,
    collected,
    delivered,
    diagnosis_of,
    ended,
    indexed,
    ledger_of,
    state_of,
    supervisor,
    through,
    uploaded,
)

from affidavit.entrypoints.lambdas import on_watchdog_tick
from affidavit.evidence.diagnosis import FaultType, Grade
from affidavit.incidents.incident import IncidentId
from affidavit.incidents.intake.event_reader import bundle_news
from affidavit.incidents.store.state import Status, state_key
from affidavit.ports.table import Update
from affidavit.sandbox.account.node_archives import archive_of
from affidavit.sandbox.account.nodes import CLUSTER
from affidavit.sandbox.aws.automation import Conduct
from affidavit.sandbox.aws.resources import BUCKET
from affidavit.sandbox.sandbox import Sandbox

pytestmark = pytest.mark.usefixtures("offline")


FAULTS = {
    "oom": FaultType.WORKLOAD,
    "cni_failure": FaultType.NODE_CAPACITY,
    "disk_pressure": FaultType.NODE_DISK,
    "cert_expiry": FaultType.NODE_CREDENTIALS,
    "kernel_hang": FaultType.NODE_KERNEL,
    "storage_io": FaultType.NODE_HARDWARE,
    "image_pull": FaultType.NODE_CREDENTIALS,
    "bootstrap": FaultType.NODE_BOOTSTRAP,
    # What is usually an effect, and whose cause is not seen, is not called a cause.
    "dns": FaultType.UNKNOWN,
    "probes": FaultType.UNKNOWN,
    "disk_pressure+kernel_hang": FaultType.NODE_DISK,
    "cert_expiry+storage_io": FaultType.NODE_HARDWARE,
}


@pytest.mark.parametrize("fault", FAULTS)
def test_an_alarm_about_a_sick_node_leads_to_a_diagnosis_with_lines_that_re_read(sandbox: Sandbox, fault: str) -> None:
    """A plus joins two that a node has at once."""
    node = a_node(sandbox, *fault.split("+"))
    name = through(sandbox, node)
    assert state_of(name).status is Status.DIAGNOSED
    diagnosis = diagnosis_of(name)
    assert FAULTS[fault] in diagnosis.fault_types
    assert any(one.field.endswith("/evidence/excerpt") for one in diagnosis.evidence)
    assert len(sandbox.automation.runs_of(node.instance_id)) == 1
    assert not any("origin" in gap or "this rests on a bundle" in gap for gap in diagnosis.gaps)


def test_the_diagnosis_says_what_the_control_plane_saw_beside_what_the_node_logged(sandbox: Sandbox) -> None:
    node = a_node(sandbox, "disk_pressure")
    name = through(sandbox, node)
    (state,) = [one.answer for one in ledger_of(name) if one.tool == "get_node_state"]
    assert isinstance(state, dict)
    assert state["node_name"] == node.name
    assert [one["reason"] for one in state["events"]] == ["EvictionThresholdMet"]
    said = {one.value for one in diagnosis_of(name).evidence if one.tool == "get_node_state"}
    assert said == {"kubelet has disk pressure"}


def test_a_cluster_that_could_not_be_asked_is_a_gap_and_no_evidence(sandbox: Sandbox) -> None:
    node = a_node(sandbox, "oom")
    (received,) = delivered(alarm(node))
    indexed(collected(sandbox, node), by=node.instance_id)
    sandbox.cluster_api.refusals[:] = [403]
    delivered(bundle_news(node.instance_id))
    sandbox.cluster_api.refusals.clear()
    diagnosis = diagnosis_of(received["incident_id"])
    assert not any(one.tool == "get_node_state" for one in diagnosis.evidence)
    assert any("what the control plane saw of the node is not known: " in gap for gap in diagnosis.gaps)


def test_what_a_proven_bundle_shows_and_nothing_leaves_open_is_proven(sandbox: Sandbox) -> None:
    assert diagnosis_of(through(sandbox, a_node(sandbox, "oom"))).grade is Grade.PROVEN


def test_a_node_without_a_known_fault_is_told_so_and_never_called_healthy(sandbox: Sandbox) -> None:
    diagnosis = diagnosis_of(through(sandbox, a_node(sandbox)))
    assert diagnosis.fault_types == ()
    assert "No known fault is open" in diagnosis.root_cause
    assert "no proof of health" in diagnosis.root_cause


def test_duplicate_and_late_alerts_collect_nothing_more(sandbox: Sandbox) -> None:
    node = a_node(sandbox, "oom")
    first = alarm(node)
    (received,) = delivered(first)
    assert [one["outcome"] for one in delivered(first, first)] == ["already handled"] * 2
    indexed(collected(sandbox, node), by=node.instance_id)
    delivered(bundle_news(node.instance_id))
    assert delivered(first)[0]["outcome"] == "already handled"
    assert delivered(bundle_news(node.instance_id))[0]["outcome"] == f"nothing waits for {node.instance_id}"
    assert state_of(received["incident_id"]).status is Status.DIAGNOSED
    assert len(sandbox.automation.runs_of(node.instance_id)) == 1


def test_an_alert_by_node_name_is_of_the_same_node_and_joins_its_incident(sandbox: Sandbox) -> None:
    node = a_node(sandbox, "oom")
    (by_id,) = delivered(alarm(node))
    event = {"type": "Warning", "reason": "Unhealthy", "involvedObject": {"kind": "Node", "name": node.name}}
    (by_name,) = delivered({**event, "lastTimestamp": datetime.now(UTC).isoformat()})
    assert by_name["incident_id"] == by_id["incident_id"]
    other = a_node(sandbox, "oom")
    (received,) = delivered(alarm(other, ClusterName=CLUSTER, NodeName=other.name))
    incident = state_of(received["incident_id"]).incident
    assert (str(incident.subject), incident.node_name) == (f"node:{other.instance_id}", other.name)


def test_an_alert_for_a_node_of_a_foreign_cluster_is_put_aside_and_nothing_is_collected(sandbox: Sandbox) -> None:
    node = a_node(sandbox, "oom", cluster=f"theirs-{uuid.uuid4().hex[:6]}")
    (refused,) = delivered(alarm(node))
    assert refused["incident_id"] is None
    assert "which is not one of ALLOWED_CLUSTERS" in refused["outcome"]
    ours = a_node(sandbox)
    (claimed,) = delivered(alarm(ours, ClusterName="another", InstanceId=ours.instance_id))
    assert "as a node of cluster another" in claimed["outcome"]
    # A node of another cluster may have the name of one of ours.
    (named,) = delivered(alarm(ours, ClusterName="another", NodeName=ours.name))
    assert "as a node of cluster another" in named["outcome"]
    assert sandbox.automation.runs_of(ours.instance_id) == []
    assert sandbox.automation.runs_of(node.instance_id) == []


def test_a_failed_collection_ends_in_an_honest_failure_and_not_in_a_guess(sandbox: Sandbox) -> None:
    node = a_node(sandbox, "oom", conduct=Conduct(ends="Failed", failure="the agent is offline", step_seconds=0.0))
    (received,) = delivered(alarm(node))
    state = ended(node, received["incident_id"])
    assert state.status is Status.FAILED
    context = supervisor().contexts.get_context(state.incident_id)
    assert context is not None
    assert context.diagnosis is None
    entries = supervisor().records.entries(context.ledger)
    (chosen,) = [one.answer for one in entries if one.tool == "node_evidence"]
    assert isinstance(chosen, dict)
    assert "the agent is offline" in str(chosen["gaps"])


def test_an_uploaded_bundle_is_rested_on_only_where_there_is_no_other_and_that_is_said(sandbox: Sandbox) -> None:
    node = a_node(sandbox, conduct=OFFLINE)
    uploaded(sandbox, node, "oom")
    (received,) = delivered(alarm(node))
    assert ended(node, received["incident_id"]).status is Status.DIAGNOSED
    diagnosis = diagnosis_of(received["incident_id"])
    assert diagnosis.grade is Grade.SUPPORTED
    assert any("nothing proves that the bundle came from this node" in one for one in diagnosis.open_obligations)
    assert any("the origin of the bundle is not proven" in gap for gap in diagnosis.gaps)


def test_an_uploaded_bundle_never_takes_the_place_of_a_collected_one(sandbox: Sandbox) -> None:
    """It is newer, and tells of another fault."""
    node = a_node(sandbox, "disk_pressure")
    through(sandbox, node)
    uploaded(sandbox, node, "oom")
    sandbox.automation.conduct(node.instance_id, OFFLINE)
    (again,) = delivered({**alarm(node), "AlarmName": "another"})
    assert ended(node, again["incident_id"]).status is Status.DIAGNOSED
    diagnosis = diagnosis_of(again["incident_id"])
    assert diagnosis.fault_types == (FaultType.NODE_DISK,)
    assert not any("origin" in gap for gap in diagnosis.gaps)


def test_what_somebody_put_in_the_place_of_the_collected_archive_is_not_taken_for_it(sandbox: Sandbox) -> None:
    """Within a minute of the collection's end, so that times do not tell; S3 says who wrote it."""
    node = a_node(sandbox, "disk_pressure")
    (received,) = delivered(alarm(node))
    key = collected(sandbox, node)
    forged = archive_of(replace(node, faults=("oom",)))
    sandbox.client("s3").put_object(Bucket=BUCKET, Key=key, Body=forged)
    indexed(key, by="somebody")
    delivered(bundle_news(node.instance_id))
    ended(node, received["incident_id"])
    diagnosis = diagnosis_of(received["incident_id"])
    assert diagnosis.grade is Grade.SUPPORTED
    assert any("the origin of the bundle is not proven" in gap for gap in diagnosis.gaps)


def test_the_watchdog_brings_an_incident_on_whose_wake_was_lost(sandbox: Sandbox) -> None:
    node = a_node(sandbox, "oom")
    (received,) = delivered(alarm(node))
    indexed(collected(sandbox, node), by=node.instance_id)
    states = supervisor().states
    states.table.write(Update(key=state_key(IncidentId(received["incident_id"])), set={"due_at": 1.0}))
    on_watchdog_tick.handler({}, Context())
    assert state_of(received["incident_id"]).status is Status.DIAGNOSED
