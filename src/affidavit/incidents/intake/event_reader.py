"""Reads an event into incidents, record by record. A bad record harms no other."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast

from affidavit.incidents.incident import Incident
from affidavit.incidents.intake.alert_incident import INSTANCE_ID, Envelope, NotAFault, UnreadableAlert
from affidavit.incidents.intake.alert_meaning import meaning_of
from affidavit.incidents.intake.alert_shapes import SnsRecord
from affidavit.incidents.intake.incident_id import parse_time
from affidavit.incidents.intake.node_alerts import parts_of
from affidavit.incidents.intake.pagerduty import is_pagerduty

BUNDLE_INDEXED = "bundle_indexed"


@dataclass(frozen=True, kw_only=True, slots=True)
class BadRecord:
    """A record that cannot become an incident, as it came, and why."""

    text: str
    problem: str


@dataclass(frozen=True, kw_only=True, slots=True)
class BundleNews:
    """No alert: the indexer tells that a bundle of this node can be asked now."""

    instance_id: str


AlertReading = Incident | NotAFault | BadRecord | BundleNews


def bundle_news(instance_id: str) -> str:
    """The message that `BundleNews` is read from. It says only where to look again, so anybody may send it."""
    return json.dumps({"event": BUNDLE_INDEXED, "instance_id": instance_id})


def readings_of(event: Mapping[str, Any], *, now: datetime) -> list[AlertReading]:
    """Read an SNS event (all of its records), or one delivery handed over directly, as EventBridge does."""
    records = records_of(event) if "Records" in event or not _is_direct(event) else [event]
    return [reading for record in records for reading in _guarded(record, now)]


def _is_direct(event: Mapping[str, Any]) -> bool:
    marks = ("detail-type", "requestContext", "AlarmName", "alerts", "labels", "involvedObject", "regarding")
    return any(mark in event for mark in marks) or is_pagerduty(event) or event.get("event") == BUNDLE_INDEXED


def records_of(event: Mapping[str, Any]) -> Sequence[Any]:
    """Raises KeyError without `Records`, IndexError when it is empty."""
    records = event["Records"]
    records[0]
    return records


def message_of(record: Mapping[str, Any]) -> Any:
    """The JSON inside an SNS record. Raises JSONDecodeError, or ValidationError for something else than a record."""
    return json.loads(SnsRecord.model_validate(record).sns.message)


def _guarded(raw: Any, now: datetime) -> list[AlertReading]:
    try:
        envelope, body = _opened(raw, now)
        parts = parts_of(body)
    except (ValueError, RecursionError) as error:
        return [_bad(raw, error)]
    return [_guarded_part(part, raw if len(parts) == 1 else part, envelope) for part in parts]


def _guarded_part(part: Any, raw: Any, envelope: Envelope) -> AlertReading:
    return guarded(raw, lambda: _news(part) or meaning_of(part, envelope))


def guarded(raw: Any, read: Callable[[], AlertReading]) -> AlertReading:
    """What `read` makes of it, or the record as it came with what is wrong."""
    try:
        return read()
    except (ValueError, RecursionError, UnreadableAlert) as error:
        return _bad(raw, error)


def _bad(raw: Any, error: Exception) -> BadRecord:
    return BadRecord(text=json.dumps(raw, default=str), problem=_first_line(error))


def _news(body: Any) -> BundleNews | None:
    if not isinstance(body, Mapping) or cast("Mapping[str, Any]", body).get("event") != BUNDLE_INDEXED:
        return None
    instance_id = str(cast("Mapping[str, Any]", body).get("instance_id"))
    if INSTANCE_ID.fullmatch(instance_id) is None:
        raise UnreadableAlert("news of a bundle without its instance id", hint="only the indexer sends such news")
    return BundleNews(instance_id=instance_id)


def read_alert(raw: Any, *, now: datetime) -> Incident | NotAFault:
    """One alert. Raises what is wrong with it."""
    envelope, body = _opened(raw, now)
    return meaning_of(body, envelope)


def _opened(raw: Any, now: datetime) -> tuple[Envelope, Any]:
    """What the delivery says of itself, and what it carries."""
    if isinstance(raw, Mapping) and "Sns" in raw:
        record = cast(Mapping[str, Any], raw)
        sns = SnsRecord.model_validate(record).sns
        parts = [*sns.topic_arn.split(":"), "", "", "", "", ""]
        at = parse_time(sns.timestamp) or now
        envelope = Envelope(delivery_id=sns.message_id, received_at=at, region=parts[3], account=parts[4])
        return envelope, message_of(record)
    delivery = str(cast(Mapping[str, Any], raw).get("id", "direct")) if isinstance(raw, Mapping) else "direct"
    return Envelope(delivery_id=delivery, received_at=now, region="", account=""), cast("Any", raw)


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:500]
