"""Reads PagerDuty's webhook, version 3, whether it comes by a hook or through SNS.

Its incident is the one that gets a note when ours has ended.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

from affidavit.incidents.incident import Incident
from affidavit.incidents.intake.alert_incident import Envelope, NotAFault, UnreadableAlert
from affidavit.incidents.intake.hooks.label_mapping import NO_NAMES, LabelNames
from affidavit.incidents.intake.node_alerts import RESOLVED, of_alertmanager
from affidavit.ports.notice_record import AlertOrigin

SOURCE = "pagerduty"
_STATUS = {"incident.triggered": "firing", "incident.resolved": RESOLVED}
Fields = Mapping[str, Any]


def is_pagerduty(body: Fields) -> bool:
    return "event_type" in _fields(body.get("event"))


def of_pagerduty(body: Fields, envelope: Envelope, labels: LabelNames = NO_NAMES) -> Incident | NotAFault:
    """Of an incident that was triggered or resolved; whatever else PagerDuty tells is no fault."""
    event = _fields(body.get("event"))
    kind, data = str(event.get("event_type", "")), _fields(event.get("data"))
    if not kind or not data.get("id"):
        raise UnreadableAlert(
            "the delivery has no `event.event_type` and `event.data.id`", hint="see docs/alerts-in.md for the shape"
        )
    if kind not in _STATUS:
        return NotAFault(delivery_id=envelope.delivery_id, why=f"PagerDuty tells of {kind}")
    title = str(data.get("title") or "PagerDuty incident")
    alert: dict[str, Any] = {
        "labels": labels.applied({"alertname": title, **texts(_details(data))}),
        "annotations": {"description": title},
        "startsAt": str(data.get("created_at") or event.get("occurred_at") or ""),
        "status": _STATUS[kind],
    }
    try:
        read = of_alertmanager(alert, envelope)
    except UnreadableAlert:
        if _STATUS[kind] == RESOLVED:  # it would not have been an incident either
            return NotAFault(delivery_id=envelope.delivery_id, why=f"PagerDuty tells of {kind}")
        raise
    origin = AlertOrigin(source=SOURCE, key=str(data["id"])[:200])
    return replace(read, origin=origin) if isinstance(read, Incident) else read


def texts(value: Any) -> dict[str, str]:
    """Labels out of any JSON: what is text or a number."""
    return {str(name): str(one) for name, one in _fields(value).items() if isinstance(one, str | int | float)}


def _details(data: Fields) -> dict[str, Any]:
    """What an incident says of itself: the details of its body, and its custom fields by name."""
    custom = data.get("custom_fields")
    fields = [_fields(one) for one in cast("list[Any]", custom)] if isinstance(custom, list) else []
    return {
        **_fields(_fields(data.get("body")).get("details")),
        **{str(one["name"]): one["value"] for one in fields if one.get("name") and one.get("value")},
    }


def _fields(value: Any) -> Fields:
    return cast("Fields", value) if isinstance(value, Mapping) else {}
