"""What each source posts, and which alerts it becomes."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from affidavit.errors import InputRefused
from affidavit.incidents.incident import Incident
from affidavit.incidents.intake.alert_incident import Envelope, NotAFault
from affidavit.incidents.intake.event_reader import BadRecord, readings_of
from affidavit.incidents.intake.hooks.label_mapping import LabelNames, label_names
from affidavit.incidents.intake.hooks.readers import READERS, HookSource

NOW = datetime(2026, 1, 15, 10, 0, tzinfo=UTC)
ENVELOPE = Envelope(delivery_id="d", received_at=NOW, region="", account="")


def read(source: str, body: Any, labels: str = "") -> list[Any]:
    return READERS[HookSource(source)](body, ENVELOPE, label_names(labels))


def an_alert(status: str = "firing", **labels: str) -> dict[str, Any]:
    return {
        "status": status,
        "labels": {"alertname": "HighErrors", **labels},
        "annotations": {"summary": "errors above 5 %"},
        "startsAt": "2026-01-15T09:58:00Z",
        "endsAt": "0001-01-01T00:00:00Z",
        "fingerprint": "ab12",
    }


def test_every_source_has_a_reader() -> None:
    assert set(READERS) == set(HookSource)


@pytest.mark.parametrize("source", ["alertmanager", "grafana"])
def test_each_alert_of_a_group_is_read_and_a_bad_one_harms_no_other(source: str) -> None:
    body = {
        "version": "4",
        "alerts": [an_alert(function_name="orders"), {"odd": 1}, an_alert(), an_alert(node="ip-10-0-0-1")],
    }
    orders, odd, nothing, node = read(source, body)
    assert isinstance(orders, Incident)
    assert (orders.subject.id, orders.signal_name, orders.message) == ("orders", "HighErrors", "errors above 5 %")
    assert isinstance(odd, BadRecord)
    assert isinstance(nothing, BadRecord)
    assert "names no function and no node" in nothing.problem
    assert str(node.subject) == "node:ip-10-0-0-1"


def test_a_resolved_alert_is_no_fault_and_tells_which_alert_is_over() -> None:
    (read_one,) = read("alertmanager", {"alerts": [an_alert("resolved", function_name="orders")]})
    assert isinstance(read_one, NotAFault)
    assert read_one.ok_again is not None


def test_labels_of_an_operators_own_name_the_subject() -> None:
    body = {"alerts": [an_alert(lambda_fn="orders"), an_alert(kubernetes_node="ip-10-0-0-1", k8s="prod")]}
    setting = "function_name=labels.lambda_fn,node=labels.kubernetes_node,cluster=labels.k8s"
    orders, node = read("grafana", body, setting)
    assert orders.subject.id == "orders"
    assert (node.subject.id, node.cluster) == ("ip-10-0-0-1", "prod")


@pytest.mark.parametrize("wrong", ["node", "node=kubernetes_node", "pod=labels.pod", "node=labels."])
def test_a_mapping_that_cannot_be_read_is_refused(wrong: str) -> None:
    with pytest.raises(InputRefused, match="HOOK_LABELS"):
        label_names(wrong)
    assert label_names("") == LabelNames()


def a_page(kind: str = "incident.triggered", **data: Any) -> dict[str, Any]:
    return {
        "event": {
            "id": "01BZ",
            "event_type": kind,
            "resource_type": "incident",
            "occurred_at": "2026-01-15T09:59:00Z",
            "data": {"id": "Q2B6FNR4", "title": "orders is failing", "created_at": "2026-01-15T09:58:00Z", **data},
        }
    }


def test_a_page_is_about_what_its_details_name_and_can_be_answered() -> None:
    (alert,) = read("pagerduty", a_page(body={"details": {"function_name": "orders"}}))
    assert isinstance(alert, Incident)
    assert (alert.subject.id, alert.message) == ("orders", "orders is failing")
    assert alert.origin is not None
    assert (alert.origin.source, alert.origin.key) == ("pagerduty", "Q2B6FNR4")


def test_a_page_may_name_its_subject_in_a_custom_field() -> None:
    field = {"name": "fn", "value": "orders"}
    (alert,) = read("pagerduty", a_page(custom_fields=[field]), "function_name=labels.fn")
    assert alert.subject.id == "orders"


def test_a_page_means_the_same_through_sns() -> None:
    page = a_page(body={"details": {"function_name": "orders"}})
    record = {"Sns": {"MessageId": "m", "Message": json.dumps(page)}}
    (by_topic,) = readings_of({"Records": [record]}, now=NOW)
    (by_hook,) = read("pagerduty", page)
    assert isinstance(by_topic, Incident)
    assert (by_topic.incident_id, by_topic.origin) == (by_hook.incident_id, by_hook.origin)


def test_other_events_of_pagerduty_are_no_faults() -> None:
    (resolved,) = read("pagerduty", a_page("incident.resolved"))
    assert isinstance(resolved, NotAFault)
    (ping,) = read("pagerduty", {"event": {}})
    assert isinstance(ping, BadRecord)


def test_a_generic_report_may_carry_the_dedup_key_of_a_page() -> None:
    (alert,) = read("generic", {"function_name": "orders", "error": "it fails", "pagerduty_dedup_key": "k"})
    assert alert.origin is not None
    assert (alert.origin.source, alert.origin.key) == ("pagerduty-dedup-key", "k")
    two = read("generic", {"alerts": [{"function_name": "a"}, {"nothing": 1}]})
    assert [type(one) for one in two] == [Incident, BadRecord]


@pytest.mark.parametrize("source", sorted(HookSource))
@pytest.mark.parametrize("body", [None, [], "text", 7, {}, {"alerts": "x"}, {"alerts": [None, 3]}, {"event": []}])
def test_whatever_is_posted_becomes_readings_and_never_an_exception(source: str, body: Any) -> None:
    assert all(isinstance(one, BadRecord | NotAFault) for one in read(source, body))
