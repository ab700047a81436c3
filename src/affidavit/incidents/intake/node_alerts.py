"""What alerts about a node mean: alarms, events of EC2, Auto Scaling, Health and Kubernetes, Alertmanager, reports.

A node may be named by its instance id or by its Kubernetes name. Which instance a name stands for is not decided
here: that takes asking AWS (`node_gate`).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeGuard, cast

from affidavit.evidence.incident_subject import SubjectKind
from affidavit.incidents.incident import Incident, LifecycleAction, Signal
from affidavit.incidents.intake.alert_incident import (
    INSTANCE_ID,
    Envelope,
    NamedSubjects,
    NotAFault,
    UnreadableAlert,
    incident_from,
)
from affidavit.incidents.intake.alert_shapes import (
    AlertmanagerAlert,
    BusEvent,
    HealthDetail,
    KubernetesEvent,
    LifecycleDetail,
    NodeReport,
    dimensions,
)

ENDING = frozenset({"shutting-down", "stopping", "terminated"})
LIFECYCLE = "EC2 Instance-terminate Lifecycle Action"
SPOT = "EC2 Spot Instance Interruption Warning"
STATE_CHANGE = "EC2 Instance State-change Notification"
HEALTH = "AWS Health Event"
RESOLVED = "resolved"
_REPORT_FIELDS = frozenset({"instance_id", "instanceId", "InstanceId", "node_name", "nodeName", "NodeName", "node"})
_FUNCTION_FIELDS = frozenset({"function_name", "lambda_name", "functionName", "FunctionName", "function"})


def named_node(*names: object, cluster: object = "") -> NamedSubjects:
    """The first instance id among the names, else the first name."""
    given = [str(name) for name in names if name]
    instance = next((name for name in given if INSTANCE_ID.fullmatch(name)), None)
    return NamedSubjects(
        names=(instance,) if instance else tuple(given[:1]), kind=SubjectKind.NODE, cluster=str(cluster or "")
    )


def watched_node(trigger: Mapping[str, Any]) -> NamedSubjects:
    """EC2's own metrics have the dimension InstanceId; Container Insights has ClusterName and NodeName as well."""
    instances, names = tuple(dimensions(trigger, "InstanceId")), tuple(dimensions(trigger, "NodeName"))
    cluster = next(dimensions(trigger, "ClusterName"), "")
    several = dict.fromkeys(instances or names)
    if len(several) > 1:
        raise UnreadableAlert(
            f"the alarm watches {len(several)} nodes: {', '.join(list(several)[:5])}",
            hint="make one alarm for each node, so that it is clear which one is meant",
        )
    return named_node(*instances, *names, cluster=cluster)


# --- EventBridge -----------------------------------------------------------------------------------------------------


def of_node_event(event: BusEvent, envelope: Envelope) -> Incident | NotAFault | None:
    """None when the event is not about a node."""
    if is_of_kubernetes(event.detail):
        return of_kubernetes(event.detail, envelope, event)
    if is_node_report(event.detail) and not event.source.startswith("aws."):
        return of_node_report(event.detail, envelope, event)
    read = _READERS.get(event.detail_type)
    return read(event, envelope) if read is not None else None


def _of_state_change(event: BusEvent, envelope: Envelope) -> Incident | NotAFault:
    state = str(event.detail.get("state", ""))
    if state not in ENDING:
        return NotAFault(delivery_id=envelope.delivery_id, why=f"the instance went to {state or 'no known state'}")
    return _event(event, envelope, event.detail.get("instance-id"), name="instance-ending", says=f"it went to {state}")


def _of_spot(event: BusEvent, envelope: Envelope) -> Incident:
    action = event.detail.get("instance-action", "terminate")
    says = f"EC2 takes the spot instance back in two minutes: {action}"
    return _event(event, envelope, event.detail.get("instance-id"), name="spot-interruption", says=says)


def _of_lifecycle(event: BusEvent, envelope: Envelope) -> Incident:
    detail = LifecycleDetail.model_validate(event.detail)
    action = LifecycleAction(group=detail.group, hook=detail.hook, token=detail.token)
    says = f"Auto Scaling group {detail.group} ends the node and waits for hook {detail.hook}"
    return _event(event, envelope, detail.instance, name="instance-ending", says=says, lifecycle=action)


def _of_health(event: BusEvent, envelope: Envelope) -> Incident | NotAFault:
    detail = HealthDetail.model_validate(event.detail)
    instances = [one for one in detail.entities if INSTANCE_ID.fullmatch(one)]
    if detail.service != "EC2" or not instances:
        return NotAFault(delivery_id=envelope.delivery_id, why=f"AWS Health tells of no instance: {detail.code}")
    if len(instances) > 1:
        raise UnreadableAlert(f"AWS Health names {len(instances)} instances at once", hint="read it one by one")
    return _event(event, envelope, instances[0], name=detail.code or "health", says=detail.says)


def _event(
    event: BusEvent,
    envelope: Envelope,
    instance: object,
    *,
    name: str,
    says: str,
    lifecycle: LifecycleAction | None = None,
) -> Incident:
    return incident_from(
        envelope,
        named_node(instance),
        signal=Signal.NODE_EVENT,
        signal_name=name,
        message=says,
        at=event.time,
        region=event.region,
        account=event.account,
        error_type=name,
        lifecycle=lifecycle,
    )


_READERS: Mapping[str, Callable[[BusEvent, Envelope], Incident | NotAFault]] = {
    STATE_CHANGE: _of_state_change,
    SPOT: _of_spot,
    LIFECYCLE: _of_lifecycle,
    HEALTH: _of_health,
}


# --- Kubernetes, Alertmanager, reports -------------------------------------------------------------------------------


def is_of_kubernetes(fields: Mapping[str, Any]) -> bool:
    """A forwarded event of the cluster that is about a node, such as one of the node monitoring agent."""
    about = fields.get("involvedObject") or fields.get("regarding")
    return isinstance(about, Mapping) and cast("Mapping[str, Any]", about).get("kind") == "Node"


def of_kubernetes(fields: Mapping[str, Any], envelope: Envelope, bus: BusEvent | None = None) -> Incident | NotAFault:
    event = KubernetesEvent.model_validate(fields)
    if event.type != "Warning":
        why = f"the node's event {event.reason} is of type {event.type or 'unknown'}"
        return NotAFault(delivery_id=envelope.delivery_id, why=why)
    return incident_from(
        envelope,
        named_node(event.about.name, cluster=event.cluster),
        signal=Signal.NODE_EVENT,
        signal_name=event.reason or "node-event",
        message=event.message,
        at=event.at or (bus.time if bus is not None else ""),
        region=bus.region if bus is not None else "",
        account=bus.account if bus is not None else "",
        error_type=event.reason or "unknown",
    )


def is_alertmanager(fields: Mapping[str, Any]) -> bool:
    """One alert of Alertmanager's webhook. A whole delivery is parted before (`parts_of`)."""
    return isinstance(fields.get("labels"), Mapping) and "startsAt" in fields


def of_alertmanager(fields: Mapping[str, Any], envelope: Envelope) -> Incident | NotAFault:
    alert = AlertmanagerAlert.model_validate(fields)
    labels, name = alert.labels, alert.labels.get("alertname", "alert")
    incident = incident_from(
        envelope,
        _labelled(labels),
        signal=Signal.ALARM,
        signal_name=name,
        message=alert.annotations.get("description") or alert.annotations.get("summary", ""),
        at=alert.starts_at,
        region=labels.get("region", ""),
        account=labels.get("account") or labels.get("account_id", ""),
    )
    if alert.status != RESOLVED:
        return incident
    return NotAFault(delivery_id=envelope.delivery_id, why=f"alert {name} is resolved", ok_again=incident)


def _labelled(labels: Mapping[str, str]) -> NamedSubjects:
    function = labels.get("function_name") or labels.get("functionname")
    if function:
        return NamedSubjects(names=(function,))
    # Prometheus writes the address it scraped with its port.
    scraped = labels.get("instance", "").rpartition(":")
    address = scraped[0] if scraped[2].isdigit() and scraped[0] else labels.get("instance", "")
    return named_node(labels.get("instance_id"), labels.get("node"), address, cluster=labels.get("cluster"))


def is_node_report(fields: Mapping[str, Any]) -> bool:
    return not _REPORT_FIELDS.isdisjoint(fields) and _FUNCTION_FIELDS.isdisjoint(fields)


def of_node_report(fields: Mapping[str, Any], envelope: Envelope, bus: BusEvent | None = None) -> Incident:
    report = NodeReport.model_validate(fields)
    return incident_from(
        envelope,
        named_node(report.instance, report.node_name, cluster=report.cluster),
        signal=Signal.FAILURE_REPORT,
        signal_name=report.error_type or "failure",
        message=report.message,
        at=report.timestamp or (bus.time if bus is not None else ""),
        region=report.region or (bus.region if bus is not None else ""),
        account=report.account or (bus.account if bus is not None else ""),
        error_type=report.error_type or "unknown",
        named=report.incident_id,
    )


# --- one delivery, several alerts ------------------------------------------------------------------------------------


def parts_of(body: Any) -> list[Any]:
    """Each alert of a delivery by itself: Alertmanager groups them, AWS Health names several instances at once."""
    if not isinstance(body, Mapping):
        return [body]
    fields = cast("Mapping[str, Any]", body)
    alerts = fields.get("alerts")
    if _is_list(alerts) and alerts and all(isinstance(one, Mapping) for one in alerts):
        return list(alerts)
    if fields.get("detail-type") == HEALTH:
        return list(_by_entity(fields)) or [body]
    return [body]


def _by_entity(fields: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    detail = fields.get("detail")
    entities = cast("Mapping[str, Any]", detail).get("affectedEntities") if isinstance(detail, Mapping) else None
    for entity in entities if _is_list(entities) else ():
        yield {**fields, "detail": {**cast("Mapping[str, Any]", detail), "affectedEntities": [entity]}}


def _is_list(value: object) -> TypeGuard[Sequence[Any]]:
    return isinstance(value, Sequence) and not isinstance(value, str)
