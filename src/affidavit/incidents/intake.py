"""From an event to incidents: raw shape first, then meaning. Every record is read; a bad one harms no other."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast

from pydantic import ValidationError

from affidavit.errors import InputRefused
from affidavit.incidents.alerts import AlarmNotice, BusEvent, FailureReport, InvocationResult, SnsRecord, dimensions
from affidavit.incidents.identity import derived_identity, earlier_identity, named_identity, parse_time
from affidavit.incidents.incident import Incident, Signal

# An alert is a hint where to look; the rest of a runaway message would only fill the table.
MESSAGE_CHARACTERS = 4_000
MOST_RESOURCES = 20


class UnreadableAlert(InputRefused):
    """No known shape, or a known one without what it needs."""


@dataclass(frozen=True, kw_only=True, slots=True)
class NotAFault:
    """A well-formed message that reports no fault, such as an alarm that went back to OK."""

    delivery_id: str
    why: str


@dataclass(frozen=True, kw_only=True, slots=True)
class BadRecord:
    """A record nobody could read, as it came."""

    text: str
    problem: str


Notice = Incident | NotAFault | BadRecord


@dataclass(frozen=True, kw_only=True, slots=True)
class _Envelope:
    delivery_id: str
    received_at: datetime
    region: str
    account: str


def notices_of(event: Mapping[str, Any], *, now: datetime) -> list[Notice]:
    """Read an SNS event (all of its records), or one alert handed over directly, as EventBridge does."""
    if "detail-type" in event or "requestContext" in event or "AlarmName" in event:
        return [_guarded(event, now)]
    return [_guarded(record, now) for record in records_of(event)]


def records_of(event: Mapping[str, Any]) -> Sequence[Any]:
    """Raises KeyError without `Records`, IndexError when it is empty."""
    records = event["Records"]
    records[0]
    return records


def message_of(record: Mapping[str, Any]) -> Any:
    """The JSON inside an SNS record. Raises JSONDecodeError, or ValidationError for something else than a record."""
    return json.loads(SnsRecord.model_validate(record).sns.message)


def _guarded(raw: Any, now: datetime) -> Notice:
    try:
        return read_alert(raw, now=now)
    except (ValueError, RecursionError, UnreadableAlert) as error:
        return BadRecord(text=json.dumps(raw, default=str), problem=_first_line(error))


def read_alert(raw: Any, *, now: datetime) -> Incident | NotAFault:
    if isinstance(raw, Mapping) and "Sns" in raw:
        record = cast(Mapping[str, Any], raw)
        sns = SnsRecord.model_validate(record).sns
        parts = [*sns.topic_arn.split(":"), "", "", "", "", ""]
        at = parse_time(sns.timestamp) or now
        envelope = _Envelope(delivery_id=sns.message_id, received_at=at, region=parts[3], account=parts[4])
        return _meaning(message_of(record), envelope)
    delivery = str(cast(Mapping[str, Any], raw).get("id", "direct")) if isinstance(raw, Mapping) else "direct"
    return _meaning(raw, _Envelope(delivery_id=delivery, received_at=now, region="", account=""))


def _meaning(body: Any, envelope: _Envelope) -> Incident | NotAFault:
    if not isinstance(body, Mapping):
        raise UnreadableAlert("an alert is a JSON object, and this is not", hint="publish an object")
    fields = cast(Mapping[str, Any], body)
    if "AlarmName" in fields:
        return _of_alarm(AlarmNotice.model_validate(fields), envelope)
    if "detail-type" in fields:
        return _of_bus(BusEvent.model_validate(fields), envelope)
    if "requestContext" in fields:
        return _of_invocation(InvocationResult.model_validate(fields), envelope)
    return _of_report(_report(fields), envelope)


def _report(fields: Mapping[str, Any]) -> FailureReport:
    try:
        return FailureReport.model_validate(fields)
    except ValidationError as error:
        raise UnreadableAlert(
            f"an alert of unknown shape: it has {', '.join(sorted(map(str, fields))) or 'no fields'}",
            hint="name the function in `function_name`, or send a CloudWatch alarm or an EventBridge event",
        ) from error


def _of_alarm(alarm: AlarmNotice, envelope: _Envelope) -> Incident | NotAFault:
    if alarm.new_state != "ALARM":
        return NotAFault(delivery_id=envelope.delivery_id, why=f"alarm {alarm.name} went to {alarm.new_state}")
    parts = [*alarm.arn.split(":"), "", "", "", "", ""]
    return _incident(
        envelope,
        resources=_watched(alarm.trigger),
        signal=Signal.ALARM,
        signal_name=alarm.name,
        message=alarm.reason,
        at=alarm.changed_at,
        region=parts[3],
        account=alarm.account,
    )


def _of_bus(event: BusEvent, envelope: _Envelope) -> Incident | NotAFault:
    if "requestContext" in event.detail:
        return _of_invocation(InvocationResult.model_validate(event.detail), envelope)
    state = event.detail.get("state")
    is_alarm = isinstance(state, Mapping)
    value = str(cast(Mapping[str, Any], state).get("value", "")) if is_alarm else "ALARM"
    name = str(event.detail.get("alarmName", event.detail_type))
    if value != "ALARM":
        return NotAFault(delivery_id=envelope.delivery_id, why=f"alarm {name} went to {value}")
    reason = cast(Mapping[str, Any], state).get("reason", "") if is_alarm else json.dumps(event.detail, default=str)
    return _incident(
        envelope,
        resources=_watched(event.detail) or tuple(filter(None, map(_function_of_arn, event.resources))),
        signal=Signal.ALARM if is_alarm else Signal.OTHER,
        signal_name=name,
        message=str(reason),
        at=event.time,
        region=event.region,
        account=event.account,
    )


def _of_invocation(result: InvocationResult, envelope: _Envelope) -> Incident | NotAFault:
    if result.request_context.condition == "Success":
        return NotAFault(delivery_id=envelope.delivery_id, why="the invocation succeeded")
    parts = [*result.request_context.function_arn.split(":"), "", "", "", "", ""]
    response = result.response or {}
    error_type = str(response.get("errorType", result.request_context.condition or "unknown"))
    return _incident(
        envelope,
        resources=(_function_of_arn(result.request_context.function_arn),),
        signal=Signal.INVOCATION_FAILURE,
        signal_name=error_type,
        message=str(response.get("errorMessage", "")),
        at=result.timestamp,
        region=parts[3],
        account=parts[4],
        error_type=error_type,
    )


def _of_report(report: FailureReport, envelope: _Envelope) -> Incident:
    return _incident(
        envelope,
        resources=(_function_of_arn(report.function) or report.function,),
        signal=Signal.FAILURE_REPORT,
        signal_name=report.error_type or "failure",
        message=report.message,
        at=report.timestamp,
        region=report.region,
        account=report.account,
        error_type=report.error_type or "unknown",
        named=report.incident_id,
    )


def _incident(
    envelope: _Envelope,
    *,
    resources: tuple[str, ...],
    signal: Signal,
    signal_name: str,
    message: str,
    at: str,
    region: str,
    account: str,
    error_type: str = "unknown",
    named: str = "",
) -> Incident:
    moment = parse_time(at) or envelope.received_at
    region, account = _storable(region or envelope.region), _storable(account or envelope.account)
    names = tuple(dict.fromkeys(_storable(name) for name in resources if name))
    signal_name = _storable(signal_name)
    if len(names) > MOST_RESOURCES:
        message = f"(the alert names {len(names)} resources; the first {MOST_RESOURCES} are kept) {message}"
        names = names[:MOST_RESOURCES]
    parts = {"account": account, "region": region, "function": ",".join(names), "signal": f"{signal}:{signal_name}"}
    return Incident(
        incident_id=named_identity(_storable(named)) if named else derived_identity(**parts, at=moment),
        may_join=None if named else earlier_identity(**parts, at=moment),
        delivery_id=_storable(envelope.delivery_id),
        account=account,
        region=region,
        resources=names,
        signal=signal,
        signal_name=_bounded(signal_name),
        message=_bounded(message),
        occurred_at=moment,
        error_type=_bounded(error_type, 200),
    )


def _storable(text: str) -> str:
    """Half a character, which JSON can spell and no store keeps, becomes a question mark."""
    return text.encode(errors="replace").decode()


def _bounded(text: str, most: int = MESSAGE_CHARACTERS) -> str:
    text = _storable(text)
    return text if len(text) <= most else f"{text[:most]}… ({len(text) - most} characters cut)"


def _watched(trigger: Mapping[str, Any]) -> tuple[str, ...]:
    return (*dimensions(trigger, "FunctionName"), *dimensions(trigger, "InstanceId"))


def _function_of_arn(arn: str) -> str:
    """The bare name: an ARN's version or alias is the same function."""
    _, marker, rest = arn.partition(":function:")
    return rest.partition(":")[0] if marker else ""


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:500]
