"""Decides what an alert means: which subject it is about, what raised it, whether it reports a fault at all."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, cast

from pydantic import ValidationError

from affidavit.incidents.incident import Incident, Signal
from affidavit.incidents.intake.alert_incident import (
    Envelope,
    NamedSubjects,
    NotAFault,
    UnreadableAlert,
    incident_from,
)
from affidavit.incidents.intake.alert_shapes import (
    AlarmNotice,
    BusEvent,
    FailureReport,
    InvocationResult,
    dimensions,
    metrics,
)
from affidavit.incidents.intake.node_alerts import (
    is_alertmanager,
    is_node_report,
    is_of_kubernetes,
    of_alertmanager,
    of_kubernetes,
    of_node_event,
    of_node_report,
    watched_node,
)
from affidavit.incidents.intake.pagerduty import is_pagerduty, of_pagerduty


class AlarmState(StrEnum):
    OK = "OK"
    ALARM = "ALARM"
    INSUFFICIENT_DATA = "INSUFFICIENT_DATA"


def meaning_of(body: Any, envelope: Envelope) -> Incident | NotAFault:
    """Raises UnreadableAlert, or ValidationError for a known shape without what it needs."""
    if not isinstance(body, Mapping):
        raise UnreadableAlert("an alert is a JSON object, and this is not", hint="publish an object")
    fields = cast(Mapping[str, Any], body)
    if "AlarmName" in fields:
        return _of_alarm(AlarmNotice.model_validate(fields), envelope)
    if "detail-type" in fields:
        return _of_bus(BusEvent.model_validate(fields), envelope)
    if "requestContext" in fields:
        return _of_invocation(InvocationResult.model_validate(fields), envelope)
    if is_pagerduty(fields):
        return of_pagerduty(fields, envelope)
    if is_alertmanager(fields):
        return of_alertmanager(fields, envelope)
    if is_of_kubernetes(fields):
        return of_kubernetes(fields, envelope)
    if is_node_report(fields):
        return of_node_report(fields, envelope)
    return _of_report(_report(fields), envelope)


def _report(fields: Mapping[str, Any]) -> FailureReport:
    try:
        return FailureReport.model_validate(fields)
    except ValidationError as error:
        raise UnreadableAlert(
            f"an alert of unknown shape: it has {', '.join(sorted(map(str, fields))) or 'no fields'}",
            hint="name the function in `function_name` or the node in `instance_id`, or send a CloudWatch alarm or an "
            "EventBridge event",
        ) from error


def _of_alarm(alarm: AlarmNotice, envelope: Envelope) -> Incident | NotAFault:
    parts = [*alarm.arn.split(":"), "", "", "", "", ""]
    return _of_transition(
        alarm.new_state,
        envelope,
        _Alarm(
            name=alarm.name,
            watches=alarm.trigger,
            reason=alarm.reason,
            at=alarm.changed_at,
            region=parts[3],
            account=alarm.account,
        ),
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class _Alarm:
    name: str
    watches: Mapping[str, Any]
    reason: str
    at: str
    region: str
    account: str


def _of_transition(state: str, envelope: Envelope, alarm: _Alarm) -> Incident | NotAFault:
    """Only an alarm that goes to ALARM reports a fault."""
    if state == AlarmState.ALARM:
        return _alarm_incident(envelope, alarm)
    why = f"alarm {alarm.name} went to {state}"
    try:
        ok_again = _alarm_incident(envelope, alarm) if state == AlarmState.OK else None
    except UnreadableAlert:
        ok_again = None  # it would not have been an incident either
    return NotAFault(delivery_id=envelope.delivery_id, why=why, ok_again=ok_again)


def _alarm_incident(envelope: Envelope, alarm: _Alarm) -> Incident:
    return incident_from(
        envelope,
        _watched(alarm.watches),
        signal=Signal.ALARM,
        signal_name=alarm.name,
        message=alarm.reason,
        at=alarm.at,
        region=alarm.region,
        account=alarm.account,
        metric=next(metrics(alarm.watches), ""),
    )


def _watched(trigger: Mapping[str, Any]) -> NamedSubjects:
    """The functions an alarm watches, else the node. One that watches both is about the function."""
    functions = tuple(dimensions(trigger, "FunctionName"))
    return NamedSubjects(names=functions) if functions else watched_node(trigger)


def _of_bus(event: BusEvent, envelope: Envelope) -> Incident | NotAFault:
    """An alarm's change of state, a failed invocation, news of a node, or a report; others report no fault."""
    if "requestContext" in event.detail:
        return _of_invocation(InvocationResult.model_validate(event.detail), envelope)
    state = event.detail.get("state")
    if "alarmName" in event.detail and isinstance(state, Mapping):
        change = cast(Mapping[str, Any], state)
        alarm = _Alarm(
            name=str(event.detail["alarmName"]),
            watches=event.detail,
            reason=str(change.get("reason", "")),
            at=event.time,
            region=event.region,
            account=event.account,
        )
        return _of_transition(str(change.get("value", "")), envelope, alarm)
    return of_node_event(event, envelope) or _of_reported(event, envelope)


def _of_reported(event: BusEvent, envelope: Envelope) -> Incident | NotAFault:
    """A report on a bus is one that names its function and an error. AWS's own events are none of these."""
    nothing = NotAFault(
        delivery_id=envelope.delivery_id,
        why=f"an event {event.detail_type!r} reports no fault of a function or node",
    )
    try:
        report = FailureReport.model_validate(event.detail)
    except ValidationError:
        return nothing
    if event.source.startswith("aws.") or not (report.message or report.error_type):
        return nothing
    known = {"account": report.account or event.account, "region": report.region or event.region}
    return _of_report(report.model_copy(update={**known, "timestamp": report.timestamp or event.time}), envelope)


def _of_invocation(result: InvocationResult, envelope: Envelope) -> Incident | NotAFault:
    if result.request_context.condition == "Success":
        return NotAFault(delivery_id=envelope.delivery_id, why="the invocation succeeded")
    parts = [*result.request_context.function_arn.split(":"), "", "", "", "", ""]
    response = result.response or {}
    error_type = str(response.get("errorType", result.request_context.condition or "unknown"))
    return incident_from(
        envelope,
        NamedSubjects(names=(_function_of_arn(result.request_context.function_arn),)),
        signal=Signal.INVOCATION_FAILURE,
        signal_name=error_type,
        message=str(response.get("errorMessage", "")),
        at=result.timestamp,
        region=parts[3],
        account=parts[4],
        error_type=error_type,
    )


def _of_report(report: FailureReport, envelope: Envelope) -> Incident:
    return incident_from(
        envelope,
        NamedSubjects(names=(_function_of_arn(report.function) or report.function,)),
        signal=Signal.FAILURE_REPORT,
        signal_name=report.error_type or "failure",
        message=report.message,
        at=report.timestamp,
        region=report.region,
        account=report.account,
        error_type=report.error_type or "unknown",
        named=report.incident_id,
    )


def _function_of_arn(arn: str) -> str:
    """The bare name: an ARN's version or alias is the same function."""
    _, marker, rest = arn.partition(":function:")
    return rest.partition(":")[0] if marker else ""
