"""A node that SSM cannot reach: its logs come by the next way that works, and the incident says which and why."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.support.investigations.node_incidents import (
    OFFLINE,
    a_node,
    alarm,
    awaited,
    delivered,
    diagnosis_of,
    ended,
    indexed,
    ledger_of,
    state_of,
)

from affidavit.evidence.diagnosis import FaultType
from affidavit.incidents.store.state import Status
from affidavit.sandbox.account.nodes import FleetNode
from affidavit.sandbox.aws.automation import Conduct
from affidavit.sandbox.aws.resources import BUCKET
from affidavit.sandbox.kubernetes.node_diagnostics import AgentConduct
from affidavit.sandbox.sandbox import Sandbox

PANIC = """\
[    0.000000] Linux version 6.1.119-129.201.amzn2023.x86_64 (mockbuild@ip-10-0-0-1)
[    1.204010] systemd[1]: Detected virtualization amazon.
[ 8123.551000] watchdog: BUG: soft lockup - CPU#1 stuck for 26s! [kworker/1:2:311]
[ 8150.100200] Kernel panic - not syncing: softlockup: hung tasks
"""

pytestmark = pytest.mark.usefixtures("offline")


def the_archive(sandbox: Sandbox, node: FleetNode, what: str) -> str:
    listed = sandbox.client("s3").list_objects_v2(
        Bucket=BUCKET, Prefix=f"eks_{node.instance_id}/{node.instance_id}_{what}"
    )
    (stored,) = listed["Contents"]
    return str(stored["Key"])


def chosen(name: str) -> dict[str, Any]:
    (answer,) = [one.answer for one in ledger_of(name) if one.tool == "node_evidence"]
    assert isinstance(answer, dict)
    return answer


def test_where_the_agent_of_ssm_is_out_the_node_monitoring_agent_brings_the_logs(sandbox: Sandbox) -> None:
    node = a_node(sandbox, "disk_pressure", conduct=OFFLINE, agent=AgentConduct.WORKS)
    (received,) = delivered(alarm(node))
    before = sandbox.cluster_api.diagnostics.created
    key = awaited(lambda: the_archive(sandbox, node, "nodediagnostic"), node)
    delivered(alarm(node))
    assert state_of(received["incident_id"]).status is Status.AWAITING_EVIDENCE
    indexed(key, by="supervisor")
    state = ended(node, received["incident_id"])
    assert state.status is Status.DIAGNOSED
    assert sandbox.cluster_api.diagnostics.created - before <= 1
    diagnosis = diagnosis_of(received["incident_id"])
    assert diagnosis.fault_types == (FaultType.NODE_DISK,)
    assert not any("origin" in gap for gap in diagnosis.gaps)
    (why,) = chosen(received["incident_id"])["tried"]
    assert why == "ssm_runbook: the collection ended as Failed: the agent is offline"


def test_a_node_that_is_gone_is_diagnosed_by_its_serial_console_and_that_is_said(sandbox: Sandbox) -> None:
    node = replace(a_node(sandbox, conduct=OFFLINE), state="terminated")
    sandbox.fleet.add(node)
    sandbox.fleet.consoles[node.instance_id] = PANIC.replace("\n", "\r\n")
    (received,) = delivered(alarm(node))
    indexed(awaited(lambda: the_archive(sandbox, node, "console_output"), node), by="supervisor")
    assert ended(node, received["incident_id"]).status is Status.DIAGNOSED
    diagnosis = diagnosis_of(received["incident_id"])
    assert diagnosis.fault_types == (FaultType.NODE_KERNEL,)
    assert any("Kernel panic" in one.value for one in diagnosis.evidence)
    gaps = " | ".join(diagnosis.gaps)
    assert "only the serial console of the node was to be had" in gaps
    assert "ssm_runbook: " in gaps
    assert f"node_diagnostic: {node.instance_id} is no node of cluster demo any more" in gaps


def test_the_last_resort_is_what_the_node_had_sent_to_cloudwatch_logs(sandbox: Sandbox) -> None:
    node = a_node(sandbox, conduct=OFFLINE)
    logs, group = sandbox.client("logs"), f"/aws/containerinsights/{node.cluster}/host"
    if not logs.describe_log_groups(logGroupNamePrefix=group)["logGroups"]:
        logs.create_log_group(logGroupName=group)
    stream = f"{node.name}.host.messages"
    logs.create_log_stream(logGroupName=group, logStreamName=stream)
    at = int((datetime.now(UTC) - timedelta(minutes=3)).timestamp() * 1000)
    line = '{"ident": "kernel", "message": "EXT4-fs error (device nvme0n1p1): ext4_find_entry:1455: inode #2: comm sh"}'
    logs.put_log_events(logGroupName=group, logStreamName=stream, logEvents=[{"timestamp": at, "message": line}])
    (received,) = delivered(alarm(node))
    indexed(awaited(lambda: the_archive(sandbox, node, "host_logs"), node), by="supervisor")
    assert ended(node, received["incident_id"]).status is Status.DIAGNOSED
    diagnosis = diagnosis_of(received["incident_id"])
    assert "only what the node had sent to CloudWatch Logs was to be had" in " ".join(diagnosis.gaps)
    assert [why.partition(":")[0] for why in chosen(received["incident_id"])["tried"]] == [
        "ssm_runbook",
        "node_diagnostic",
        "console_output",
    ]


def test_where_nothing_is_to_be_had_the_incident_fails_and_names_every_way_that_was_tried(sandbox: Sandbox) -> None:
    node = a_node(sandbox, "oom", conduct=Conduct(ends="Failed", failure="the agent is offline", step_seconds=0.0))
    (received,) = delivered(alarm(node))
    assert ended(node, received["incident_id"]).status is Status.FAILED
    told = chosen(received["incident_id"])
    assert [why.partition(":")[0] for why in told["tried"]] == [
        "ssm_runbook",
        "node_diagnostic",
        "console_output",
        "host_logs",
    ]
    assert all(why in told["gaps"] for why in told["tried"])


def test_what_somebody_else_wrote_under_the_name_of_a_console_is_not_taken_for_it(sandbox: Sandbox) -> None:
    from affidavit.incidents.evidence.node_evidence_port import collection_token
    from affidavit.node_evidence.archive_state import archive_name

    node = a_node(sandbox, conduct=OFFLINE)
    sandbox.fleet.consoles[node.instance_id] = PANIC
    (received,) = delivered(alarm(node))
    key = archive_name(node.instance_id, collection_token(state_of(received["incident_id"]).incident), "console_output")
    sandbox.client("s3").put_object(Bucket=BUCKET, Key=key, Body=b"forged")
    ended(node, received["incident_id"])
    assert f"console_output: somebody else wrote {key}" in chosen(received["incident_id"])["tried"]
