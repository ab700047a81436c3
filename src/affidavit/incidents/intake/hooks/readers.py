"""The table of webhook readers: each a pure function from what a source posts to alerts. A bad alert harms no other."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from typing import Any, cast

from affidavit.incidents.incident import Incident
from affidavit.incidents.intake.alert_incident import Envelope, NotAFault, UnreadableAlert
from affidavit.incidents.intake.alert_meaning import meaning_of
from affidavit.incidents.intake.event_reader import AlertReading, guarded
from affidavit.incidents.intake.hooks.label_mapping import LabelNames
from affidavit.incidents.intake.node_alerts import of_alertmanager
from affidavit.incidents.intake.pagerduty import SOURCE, of_pagerduty, texts
from affidavit.ports.notice_record import AlertOrigin

Fields = Mapping[str, Any]
Reader = Callable[[Any, Envelope, LabelNames], list[AlertReading]]
_DEDUP = "pagerduty_dedup_key"


class HookSource(StrEnum):
    ALERTMANAGER = "alertmanager"
    GRAFANA = "grafana"
    PAGERDUTY = SOURCE
    GENERIC = "generic"


def of_labelled(body: Any, envelope: Envelope, labels: LabelNames) -> list[AlertReading]:
    """Alertmanager's webhook, version 4, and Grafana's, which has the same alerts."""
    alerts = _fields(body).get("alerts")
    if not isinstance(alerts, Sequence) or isinstance(alerts, str):
        return [guarded(body, lambda: _missing("a list `alerts`"))]
    each = cast("Sequence[Any]", alerts)
    read = [guarded(one, lambda one=one: of_alertmanager(_relabelled(_fields(one), labels), envelope)) for one in each]
    left_out = _fields(body).get("truncatedAlerts")
    return [*read, guarded(body, lambda: _left_out(left_out))] if isinstance(left_out, int) and left_out > 0 else read


def of_pagerduty_webhook(body: Any, envelope: Envelope, labels: LabelNames) -> list[AlertReading]:
    return [guarded(body, lambda: of_pagerduty(_fields(body), envelope, labels))]


def of_generic(body: Any, envelope: Envelope, labels: LabelNames) -> list[AlertReading]:
    """One report, or several under `alerts`."""
    alerts = _fields(body).get("alerts")
    each = cast("Sequence[Any]", alerts) if isinstance(alerts, list) else [body]
    return [guarded(one, lambda one=one: _of_generic(_fields(one), envelope)) for one in each]


READERS: Mapping[HookSource, Reader] = {
    HookSource.ALERTMANAGER: of_labelled,
    HookSource.GRAFANA: of_labelled,
    HookSource.PAGERDUTY: of_pagerduty_webhook,
    HookSource.GENERIC: of_generic,
}


def _relabelled(alert: Fields, labels: LabelNames) -> Fields:
    if "labels" not in alert:
        _missing("`labels`")
    return {**alert, "labels": labels.applied(texts(alert["labels"]))}


def _of_generic(report: Fields, envelope: Envelope) -> Incident | NotAFault:
    read = meaning_of(report, envelope)
    key = report.get(_DEDUP)
    return _from(read, AlertOrigin(source="pagerduty-dedup-key", key=str(key)[:200])) if key else read


def _from(read: Incident | NotAFault, origin: AlertOrigin) -> Incident | NotAFault:
    return replace(read, origin=origin) if isinstance(read, Incident) else read


def _fields(value: Any) -> Fields:
    return cast("Fields", value) if isinstance(value, Mapping) else {}


def _left_out(count: int) -> Any:
    raise UnreadableAlert(
        f"the sender left out {count} alerts of this delivery", hint="set `max_alerts: 0` at the sender's webhook"
    )


def _missing(what: str) -> Any:
    raise UnreadableAlert(f"the delivery has no {what}", hint="see docs/alerts-in.md for the shape of each source")
