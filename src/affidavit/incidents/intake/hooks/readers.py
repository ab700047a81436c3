"""The table of webhook readers: each a pure function from what a source posts to alerts. A bad alert harms no other."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from typing import Any, cast

from affidavit.incidents.incident import Incident
from affidavit.incidents.intake.alert_incident import Envelope, NotAFault, UnreadableAlert
from affidavit.incidents.intake.alert_meaning import meaning_of
from affidavit.incidents.intake.event_reader import AlertReading, guarded
from affidavit.incidents.intake.hooks.labels import LabelNames
from affidavit.incidents.intake.node_alerts import of_alertmanager
from affidavit.ports.notice import AlertOrigin

Fields = Mapping[str, Any]
Reader = Callable[[Any, Envelope, LabelNames], list[AlertReading]]
TRIGGERED = "incident.triggered"
_DEDUP = "pagerduty_dedup_key"


class HookSource(StrEnum):
    ALERTMANAGER = "alertmanager"
    GRAFANA = "grafana"
    PAGERDUTY = "pagerduty"
    GENERIC = "generic"


def of_labelled(body: Any, envelope: Envelope, labels: LabelNames) -> list[AlertReading]:
    """Alertmanager's webhook, version 4, and Grafana's, which has the same alerts."""
    alerts = _fields(body).get("alerts")
    if not isinstance(alerts, Sequence) or isinstance(alerts, str):
        return [guarded(body, lambda: _missing("a list `alerts`"))]
    each = cast("Sequence[Any]", alerts)
    return [guarded(one, lambda one=one: of_alertmanager(_relabelled(_fields(one), labels), envelope)) for one in each]


def of_pagerduty(body: Any, envelope: Envelope, labels: LabelNames) -> list[AlertReading]:
    """PagerDuty's webhook, version 3. Its incident is the one that gets a note when ours has ended."""
    return [guarded(body, lambda: _of_pagerduty(_fields(_fields(body).get("event")), envelope, labels))]


def of_generic(body: Any, envelope: Envelope, labels: LabelNames) -> list[AlertReading]:
    """One report, or several under `alerts`."""
    alerts = _fields(body).get("alerts")
    each = cast("Sequence[Any]", alerts) if isinstance(alerts, list) else [body]
    return [guarded(one, lambda one=one: _of_generic(_fields(one), envelope)) for one in each]


READERS: Mapping[HookSource, Reader] = {
    HookSource.ALERTMANAGER: of_labelled,
    HookSource.GRAFANA: of_labelled,
    HookSource.PAGERDUTY: of_pagerduty,
    HookSource.GENERIC: of_generic,
}


def _relabelled(alert: Fields, labels: LabelNames) -> Fields:
    if "labels" not in alert:
        _missing("`labels`")
    return {**alert, "labels": labels.applied(_texts(alert["labels"]))}


def _of_pagerduty(event: Fields, envelope: Envelope, labels: LabelNames) -> Incident | NotAFault:
    kind, data = str(event.get("event_type", "")), _fields(event.get("data"))
    if not kind or not data.get("id"):
        _missing("`event.event_type` and `event.data.id`")
    if kind != TRIGGERED:
        return NotAFault(delivery_id=envelope.delivery_id, why=f"PagerDuty tells of {kind}")
    title = str(data.get("title") or "PagerDuty incident")
    alert: dict[str, Any] = {
        "labels": {"alertname": title, **_texts(_details(data))},
        "annotations": {"description": title},
        "startsAt": str(data.get("created_at") or event.get("occurred_at") or ""),
    }
    read = of_alertmanager(_relabelled(alert, labels), envelope)
    return _from(read, AlertOrigin(source=HookSource.PAGERDUTY, key=str(data["id"])[:200]))


def _details(data: Fields) -> dict[str, Any]:
    """What an incident says of itself: the details of its body, and its custom fields by name."""
    custom = data.get("custom_fields")
    fields = [_fields(one) for one in cast("list[Any]", custom)] if isinstance(custom, list) else []
    return {
        **_fields(_fields(data.get("body")).get("details")),
        **{str(one["name"]): one["value"] for one in fields if one.get("name") and one.get("value")},
    }


def _of_generic(report: Fields, envelope: Envelope) -> Incident | NotAFault:
    read = meaning_of(report, envelope)
    key = report.get(_DEDUP)
    return _from(read, AlertOrigin(source="pagerduty-dedup-key", key=str(key)[:200])) if key else read


def _from(read: Incident | NotAFault, origin: AlertOrigin) -> Incident | NotAFault:
    return replace(read, origin=origin) if isinstance(read, Incident) else read


def _fields(value: Any) -> Fields:
    return cast("Fields", value) if isinstance(value, Mapping) else {}


def _texts(value: Any) -> dict[str, str]:
    return {str(name): str(one) for name, one in _fields(value).items() if isinstance(one, str | int | float)}


def _missing(what: str) -> Any:
    raise UnreadableAlert(f"the delivery has no {what}", hint="see docs/alerts-in.md for the shape of each source")
