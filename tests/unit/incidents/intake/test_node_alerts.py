"""Alerts that name a node, in every shape, and what they are not."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from affidavit.evidence.incident_subject import Subject, SubjectKind
from affidavit.incidents.incident import Incident, LifecycleAction, Signal, incident_from_json, incident_to_json
from affidavit.incidents.intake.event_reader import BadRecord, BundleNews, NotAFault, bundle_news, readings_of

NOW = datetime(2026, 1, 15, 12, 0, tzinfo=UTC)
NODE = "i-0a11ce0000000001"
NAME = "ip-10-0-0-1.ca-central-1.compute.internal"
AT = "2026-01-15T10:00:00Z"


def on_bus(detail_type: str, detail: dict[str, Any], source: str = "aws.ec2") -> dict[str, Any]:
    place = {"account": "123456789012", "region": "ca-central-1", "time": AT}
    return {"id": "e-1", "detail-type": detail_type, "source": source, "detail": detail, **place}


def alarm(**dimensions: str) -> dict[str, Any]:
    return {
        "AlarmName": "node-status",
        "AlarmArn": "arn:aws:cloudwatch:ca-central-1:123456789012:alarm:node-status",
        "NewStateValue": "ALARM",
        "NewStateReason": "Threshold Crossed",
        "StateChangeTime": AT,
        "AWSAccountId": "123456789012",
        "Trigger": {
            "MetricName": "StatusCheckFailed",
            "Dimensions": [{"name": key, "value": value} for key, value in dimensions.items()],
        },
    }


def firing(status: str = "firing", **labels: str) -> dict[str, Any]:
    alert = {"status": status, "labels": {"alertname": "NodeNotReady", **labels}, "startsAt": AT, "annotations": {}}
    return {"version": "4", "receiver": "affidavit", "status": status, "alerts": [alert]}


LIFECYCLE = on_bus(
    "EC2 Instance-terminate Lifecycle Action",
    {
        "EC2InstanceId": NODE,
        "AutoScalingGroupName": "workers",
        "LifecycleHookName": "save-logs",
        "LifecycleActionToken": "87654321-4321-4321-4321-210987654321",
        "LifecycleTransition": "autoscaling:EC2_INSTANCE_TERMINATING",
    },
    "aws.autoscaling",
)
SPOT = on_bus("EC2 Spot Instance Interruption Warning", {"instance-id": NODE, "instance-action": "terminate"})
HEALTH = on_bus(
    "AWS Health Event",
    {
        "service": "EC2",
        "eventTypeCode": "AWS_EC2_INSTANCE_RETIREMENT_SCHEDULED",
        "affectedEntities": [{"entityValue": NODE}],
    },
    "aws.health",
)
KUBERNETES = {
    "kind": "Event",
    "type": "Warning",
    "reason": "ContainerRuntimeNotReady",
    "message": "containerd does not answer",
    "lastTimestamp": AT,
    "involvedObject": {"kind": "Node", "name": NAME},
    "cluster": "demo",
}

SHAPES = {
    "EC2 alarm": (alarm(InstanceId=NODE), NODE, "", Signal.ALARM),
    "Container Insights by instance": (
        alarm(ClusterName="demo", NodeName=NAME, InstanceId=NODE),
        NODE,
        "demo",
        Signal.ALARM,
    ),
    "Container Insights by name": (alarm(ClusterName="demo", NodeName=NAME), NAME, "demo", Signal.ALARM),
    "shutting down": (
        on_bus("EC2 Instance State-change Notification", {"instance-id": NODE, "state": "shutting-down"}),
        NODE,
        "",
        Signal.NODE_EVENT,
    ),
    "lifecycle action": (LIFECYCLE, NODE, "", Signal.NODE_EVENT),
    "spot warning": (SPOT, NODE, "", Signal.NODE_EVENT),
    "AWS Health": (HEALTH, NODE, "", Signal.NODE_EVENT),
    "Kubernetes event": (KUBERNETES, NAME, "demo", Signal.NODE_EVENT),
    "Kubernetes event on a bus": (on_bus("NodeEvent", KUBERNETES, "my.cluster"), NAME, "demo", Signal.NODE_EVENT),
    "Alertmanager by node": (firing(node=NAME, cluster="demo"), NAME, "demo", Signal.ALARM),
    "Alertmanager by address": (firing(instance="10.0.0.1:9100", cluster="demo"), "10.0.0.1", "demo", Signal.ALARM),
    "Alertmanager by instance id": (firing(instance_id=NODE, node=NAME), NODE, "", Signal.ALARM),
    "report by instance": (
        {"Records": [{"Sns": {"MessageId": "m", "Message": json.dumps({"instance_id": NODE, "message": "slow"})}}]},
        NODE,
        "",
        Signal.FAILURE_REPORT,
    ),
    "report by name": (
        {"Records": [{"Sns": {"MessageId": "m", "Message": json.dumps({"node_name": NAME, "cluster": "demo"})}}]},
        NAME,
        "demo",
        Signal.FAILURE_REPORT,
    ),
}


def only(event: dict[str, Any]) -> Incident:
    (reading,) = readings_of(event, now=NOW)
    assert isinstance(reading, Incident), reading
    return reading


@pytest.mark.parametrize("shape", SHAPES)
def test_an_alert_that_names_a_node_becomes_an_incident_of_it(shape: str) -> None:
    event, name, cluster, signal = SHAPES[shape]
    incident = only(event)
    assert incident.subject == Subject(kind=SubjectKind.NODE, id=name)
    assert (incident.resources, incident.cluster, incident.signal) == ((name,), cluster, signal)
    assert incident_from_json(incident_to_json(incident)) == incident


def test_a_lifecycle_action_keeps_what_it_takes_to_complete_it() -> None:
    token = "87654321-4321-4321-4321-210987654321"
    assert only(LIFECYCLE).lifecycle == LifecycleAction(group="workers", hook="save-logs", token=token)


QUIET = {
    "running": on_bus("EC2 Instance State-change Notification", {"instance-id": NODE, "state": "running"}),
    "launch": on_bus("EC2 Instance-launch Lifecycle Action", {"EC2InstanceId": NODE}, "aws.autoscaling"),
    "normal event": {**KUBERNETES, "type": "Normal"},
    "health of another service": on_bus("AWS Health Event", {"service": "S3", "affectedEntities": []}, "aws.health"),
    "resolved": firing("resolved", node=NAME),
}


@pytest.mark.parametrize("event", QUIET.values(), ids=QUIET)
def test_good_news_of_a_node_opens_no_incident(event: dict[str, Any]) -> None:
    (reading,) = readings_of(event, now=NOW)
    assert isinstance(reading, NotAFault)


def test_an_alert_that_is_resolved_is_the_same_that_fired() -> None:
    (resolved,) = readings_of(firing("resolved", node=NAME), now=NOW)
    assert isinstance(resolved, NotAFault)
    assert resolved.ok_again == only(firing(node=NAME))


def test_each_alert_of_a_group_and_each_instance_of_a_health_event_is_an_incident_of_its_own() -> None:
    group = {**firing(node=NAME), "alerts": [*firing(node=NAME)["alerts"], *firing(instance_id=NODE)["alerts"]]}
    both = [{"entityValue": NODE}, {"entityValue": "i-0a11ce0000000002"}]
    health = {**HEALTH, "detail": {**HEALTH["detail"], "affectedEntities": both}}
    assert [str(one.subject) for one in readings_of(group, now=NOW) if isinstance(one, Incident)] == [
        f"node:{NAME}",
        f"node:{NODE}",
    ]
    assert [one.subject.id for one in readings_of(health, now=NOW) if isinstance(one, Incident)] == [
        NODE,
        "i-0a11ce0000000002",
    ]


def test_a_bad_alert_of_a_group_harms_no_other() -> None:
    group = {**firing(node=NAME), "alerts": [*firing()["alerts"], *firing(node=NAME)["alerts"]]}
    bad, good = readings_of(group, now=NOW)
    assert isinstance(bad, BadRecord)
    assert "names no function and no node" in bad.problem
    assert isinstance(good, Incident)


def test_an_alarm_over_two_nodes_is_put_aside_because_nobody_can_tell_which_is_meant() -> None:
    twice = [{"name": "InstanceId", "value": value} for value in (NODE, "i-0a11ce0000000002")]
    (reading,) = readings_of({**alarm(), "Trigger": {"Dimensions": twice}}, now=NOW)
    assert isinstance(reading, BadRecord)
    assert "watches 2 nodes" in reading.problem


@pytest.mark.parametrize("name", ["i-0a11ce\n0000000001", "x" * 300, "../etc", "node name", "-"])
def test_what_cannot_be_the_name_of_a_node_is_put_aside(name: str) -> None:
    event = {"Records": [{"Sns": {"MessageId": "m", "Message": json.dumps({"node_name": name})}}]}
    (reading,) = readings_of(event, now=NOW)
    assert isinstance(reading, BadRecord)
    assert "cannot be the name of a node" in reading.problem


def test_all_that_tells_of_the_end_of_a_node_within_minutes_has_one_identity() -> None:
    """The lifecycle action comes first, the changes of state follow."""
    ending = on_bus("EC2 Instance State-change Notification", {"instance-id": NODE, "state": "terminated"})
    later = {**ending, "time": (datetime(2026, 1, 15, 10, 2, tzinfo=UTC) + timedelta()).isoformat()}
    assert only(LIFECYCLE).incident_id == only(ending).incident_id == only(later).incident_id


def test_news_of_a_bundle_is_no_alert_and_names_its_node() -> None:
    event = {"Records": [{"Sns": {"MessageId": "m", "Message": bundle_news(NODE)}}]}
    assert readings_of(event, now=NOW) == [BundleNews(instance_id=NODE)]
    (bad,) = readings_of({"event": "bundle_indexed", "instance_id": "x"}, now=NOW)
    assert isinstance(bad, BadRecord)
