"""Alerts in every shape, and shapes that are none."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from affidavit.evidence.incident_subject import Subject, SubjectKind
from affidavit.incidents.incident import Incident, Signal, incident_from_json, incident_to_json
from affidavit.incidents.intake.event_reader import (
    BadRecord,
    NotAFault,
    message_of,
    read_alert,
    readings_of,
    records_of,
)

NOW = datetime(2026, 1, 15, 12, 0, tzinfo=UTC)
TOPIC = "arn:aws:sns:ca-central-1:123456789012:alerts"
FUNCTION_ARN = "arn:aws:lambda:ca-central-1:123456789012:function:data-processor"
DATA_PROCESSOR = Subject(kind=SubjectKind.FUNCTION, id="data-processor")
REPORT = {"function_name": "data-processor", "error_type": "ClientError", "error_message": "AccessDenied"}


def a_record(message: Any, *, at: str = "2026-01-15T10:00:00.000Z", message_id: str = "m-1") -> dict[str, Any]:
    text = message if isinstance(message, str) else json.dumps(message)
    return {
        "EventSource": "aws:sns",
        "Sns": {"MessageId": message_id, "Message": text, "Timestamp": at, "TopicArn": TOPIC},
    }


def an_alarm(state: str = "ALARM") -> dict[str, Any]:
    return {
        "AlarmName": "data-processor-throttles",
        "AlarmArn": "arn:aws:cloudwatch:ca-central-1:123456789012:alarm:data-processor-throttles",
        "NewStateValue": state,
        "NewStateReason": "Threshold Crossed: 1 datapoint was greater than the threshold",
        "StateChangeTime": "2026-01-15T10:00:00.000+0000",
        "AWSAccountId": "123456789012",
        "Region": "Canada (Central)",
        "Trigger": {
            "MetricName": "Throttles",
            "Namespace": "AWS/Lambda",
            "Dimensions": [{"name": "FunctionName", "value": "data-processor"}],
        },
    }


def a_bus_alarm(state: str = "ALARM") -> dict[str, Any]:
    metric = {"namespace": "AWS/Lambda", "name": "Errors", "dimensions": {"FunctionName": "data-processor"}}
    return {
        "version": "0",
        "id": "e-1",
        "detail-type": "CloudWatch Alarm State Change",
        "source": "aws.cloudwatch",
        "account": "123456789012",
        "region": "ca-central-1",
        "time": "2026-01-15T10:00:00Z",
        "detail": {
            "alarmName": "data-processor-errors",
            "state": {"value": state, "reason": "Threshold Crossed"},
            "configuration": {"metrics": [{"id": "m1", "metricStat": {"metric": metric}}]},
        },
    }


def an_invocation() -> dict[str, Any]:
    return {
        "version": "1.0",
        "timestamp": "2026-01-15T10:00:00.000Z",
        "requestContext": {
            "requestId": "r-1",
            "functionArn": f"{FUNCTION_ARN}:$LATEST",
            "condition": "RetriesExhausted",
        },
        "responsePayload": {"errorType": "KeyError", "errorMessage": "'bucket'"},
    }


def only(event: dict[str, Any]) -> Incident:
    (notice,) = readings_of(event, now=NOW)
    assert isinstance(notice, Incident)
    return notice


@pytest.mark.parametrize(
    ("event", "signal", "name"),
    [
        ({"Records": [a_record(REPORT)]}, Signal.FAILURE_REPORT, "ClientError"),
        ({"Records": [a_record(an_alarm())]}, Signal.ALARM, "data-processor-throttles"),
        ({"Records": [a_record(a_bus_alarm())]}, Signal.ALARM, "data-processor-errors"),
        ({"Records": [a_record(an_invocation())]}, Signal.INVOCATION_FAILURE, "KeyError"),
        (a_bus_alarm(), Signal.ALARM, "data-processor-errors"),
        (an_alarm(), Signal.ALARM, "data-processor-throttles"),
        (an_invocation(), Signal.INVOCATION_FAILURE, "KeyError"),
    ],
)
def test_every_shape_says_the_same_things(event: dict[str, Any], signal: Signal, name: str) -> None:
    incident = only(event)
    assert (incident.signal, incident.signal_name, incident.subject) == (signal, name, DATA_PROCESSOR)
    assert (incident.account, incident.region) == ("123456789012", "ca-central-1")
    assert incident.occurred_at == datetime(2026, 1, 15, 10, 0, tzinfo=UTC)


@pytest.mark.parametrize("event", [an_alarm("OK"), an_alarm("INSUFFICIENT_DATA"), a_bus_alarm("OK")])
def test_an_alarm_that_did_not_fire_is_no_incident(event: dict[str, Any]) -> None:
    (notice,) = readings_of({"Records": [a_record(event)]}, now=NOW)
    assert isinstance(notice, NotAFault)


def test_an_alarm_over_an_expression_names_its_function_too() -> None:
    metric = {"Dimensions": [{"name": "FunctionName", "value": "data-processor"}], "MetricName": "Errors"}
    alarm = {**an_alarm(), "Trigger": {"Metrics": [{"Id": "e1", "MetricStat": {"Metric": metric}}]}}
    assert only({"Records": [a_record(alarm)]}).resources == ("data-processor",)


@pytest.mark.parametrize("shape", [an_alarm, a_bus_alarm])
def test_an_alarm_about_an_instance_is_an_incident_of_that_node(shape: Any) -> None:
    text = json.dumps(shape()).replace("FunctionName", "InstanceId").replace('"data-processor"', '"i-0a11ce0000000001"')
    assert str(only(json.loads(text)).subject) == "node:i-0a11ce0000000001"


def test_an_alarm_about_a_function_and_its_instance_is_about_the_function() -> None:
    both = [{"name": "InstanceId", "value": "i-0"}, {"name": "FunctionName", "value": "data-processor"}]
    incident = only({"Records": [a_record({**an_alarm(), "Trigger": {"Dimensions": both}})]})
    assert (incident.subject, incident.resources) == (DATA_PROCESSOR, ("data-processor",))


def test_an_alarm_that_names_nothing_is_put_aside() -> None:
    (notice,) = readings_of({**an_alarm(), "Trigger": {}}, now=NOW)
    assert isinstance(notice, BadRecord)
    assert "names no function" in notice.problem


# --- identity --------------------------------------------------------------------------------------------------------


def test_the_same_delivery_is_the_same_incident_however_late_it_is_read() -> None:
    record = {"Records": [a_record(REPORT)]}
    early, late = only(record), readings_of(record, now=NOW + timedelta(days=22))[0]
    assert isinstance(late, Incident)
    assert early.incident_id == late.incident_id


def test_retries_within_five_minutes_are_one_incident_and_later_ones_another() -> None:
    times = ("10:00:01", "10:01:05", "10:03:10", "10:05:00")
    ids = [only({"Records": [a_record(REPORT, at=f"2026-01-15T{at}Z", message_id=at)]}).incident_id for at in times]
    assert len(set(ids[:3])) == 1
    assert ids[3] != ids[0]


def test_a_retry_past_the_border_of_its_window_may_join_the_one_before() -> None:
    before = only({"Records": [a_record(REPORT, at="2026-01-15T10:04:59Z")]})
    after = only({"Records": [a_record(REPORT, at="2026-01-15T10:05:01Z")]})
    assert after.incident_id != before.incident_id
    assert after.may_join == before.incident_id


@pytest.mark.parametrize("name", ["half\ud800", "no function", "x" * 65, "../f", "f;rm"])
def test_what_cannot_be_a_function_is_put_aside(name: str) -> None:
    (notice,) = readings_of({"Records": [a_record({**REPORT, "function_name": name})]}, now=NOW)
    assert isinstance(notice, BadRecord)
    assert "cannot be the name of a function" in notice.problem


@pytest.mark.parametrize("other", [{"function_name": "other"}, {"error_type": "KeyError"}, {"region": "eu-west-1"}])
def test_another_function_signal_or_region_is_another_incident(other: dict[str, str]) -> None:
    first, second = only({"Records": [a_record(REPORT)]}), only({"Records": [a_record({**REPORT, **other})]})
    assert first.incident_id != second.incident_id


def test_an_incident_that_is_named_keeps_its_name() -> None:
    incident = only({"Records": [a_record({**REPORT, "incident_id": "data-processor-r-1"})]})
    assert (incident.incident_id, incident.may_join) == ("data-processor-r-1", None)


@pytest.mark.parametrize("name", ["../../etc/passwd", "a b", "x" * 200, "a#b", ".hidden"])
def test_a_name_that_could_not_stand_in_a_key_is_replaced_by_its_hash(name: str) -> None:
    incident = only({"Records": [a_record({**REPORT, "incident_id": name})]})
    assert incident.incident_id.startswith("inc-")
    again = only({"Records": [a_record({**REPORT, "incident_id": name}, at="2026-01-20T10:00:00Z")]})
    assert incident.incident_id == again.incident_id


# --- bad records -----------------------------------------------------------------------------------------------------


def test_one_bad_record_harms_no_other_and_is_kept_as_it_came() -> None:
    records = [a_record("not json"), a_record(REPORT), a_record("[1]"), a_record({"what": "?"}), {"Sns": {}}, 7]
    notices = readings_of({"Records": records}, now=NOW)
    assert [type(notice) for notice in notices] == [BadRecord, Incident, BadRecord, BadRecord, BadRecord, BadRecord]
    assert isinstance(notices[0], BadRecord)
    assert "not json" in notices[0].text


FIRST_DAY, LAST_DAY = "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"


@pytest.mark.parametrize("time", [FIRST_DAY, LAST_DAY, "0001-01-01", "never", ""])
def test_a_time_that_cannot_be_is_the_time_it_was_sent(time: str) -> None:
    incident = only({"Records": [a_record({**REPORT, "timestamp": time}, at="2026-01-15T10:00:00.000Z")]})
    assert incident.occurred_at == datetime(2026, 1, 15, 10, 0, tzinfo=UTC)


def test_an_alert_that_is_nested_without_end_harms_no_other() -> None:
    records = [a_record("[" * 5_000 + "]" * 5_000), a_record(REPORT)]
    assert [type(notice) for notice in readings_of({"Records": records}, now=NOW)] == [BadRecord, Incident]


@pytest.mark.parametrize(
    "alert",
    [
        {**REPORT, "error_message": "half \ud800"},
        {**REPORT, "incident_id": "half \ud800"},
        {**REPORT, "region": "\udfff"},
        {**an_invocation(), "responsePayload": {"errorType": "Half\ud800", "errorMessage": "half \ud800"}},
        {**an_alarm(), "AlarmName": "half \ud800"},
    ],
)
def test_half_a_character_in_an_alert_does_not_keep_it_from_being_stored(alert: dict[str, Any]) -> None:
    incident = only({"Records": [a_record(alert)]})
    assert incident_from_json(incident_to_json(incident)) == incident


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.sampled_from(["\ud800", FIRST_DAY, LAST_DAY]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
FIELDS = st.sampled_from(
    [
        *(
            "AlarmName",
            "NewStateValue",
            "AlarmArn",
            "StateChangeTime",
            "AWSAccountId",
            "Trigger",
            "detail-type",
            "detail",
        ),
        *(
            "time",
            "resources",
            "requestContext",
            "functionArn",
            "responsePayload",
            "errorMessage",
            "errorType",
            "state",
        ),
        *("value", "reason", "function_name", "incident_id", "error", "message", "timestamp", "region", "FunctionName"),
    ]
)
BODIES = st.recursive(JSON, lambda inner: st.dictionaries(FIELDS, inner, max_size=6), max_leaves=6)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    body=st.dictionaries(FIELDS, BODIES, max_size=8), shape=st.sampled_from([REPORT, an_alarm(), an_invocation(), {}])
)
def test_whatever_an_alert_holds_it_is_put_aside_or_can_be_stored(body: dict[str, Any], shape: dict[str, Any]) -> None:
    for notice in readings_of({"Records": [a_record({**shape, **body}), a_record(a_bus_alarm())]}, now=NOW):
        if isinstance(notice, Incident):
            assert incident_from_json(incident_to_json(notice)) == notice
        elif isinstance(notice, BadRecord):
            assert notice.text.encode()


def test_an_event_without_records_is_an_error_of_the_caller() -> None:
    with pytest.raises(KeyError):
        records_of({})
    with pytest.raises(IndexError):
        records_of({"Records": []})
    with pytest.raises(json.JSONDecodeError):
        message_of(a_record("{"))
    with pytest.raises(ValidationError):
        message_of({"Sns": {}})


def test_a_runaway_message_is_cut_and_says_so() -> None:
    incident = only({"Records": [a_record({**REPORT, "error_message": "x" * 10_000})]})
    assert incident.message.endswith("… (6000 characters cut)")


def test_an_incident_comes_back_as_it_was_stored() -> None:
    incident = only({"Records": [a_record(REPORT)]})
    assert incident_from_json(incident_to_json(incident)) == incident


def test_an_alert_without_a_time_has_the_time_it_was_sent() -> None:
    alert = read_alert(a_record(REPORT, at="2026-01-15T10:00:00.000Z"), now=NOW)
    assert isinstance(alert, Incident)
    assert alert.occurred_at == datetime(2026, 1, 15, 10, 0, tzinfo=UTC)


def test_an_incident_stored_before_subjects_is_about_its_first_resource() -> None:
    stored = json.loads(incident_to_json(only({"Records": [a_record(REPORT)]})))
    del stored["subject"]
    assert incident_from_json(json.dumps(stored)).subject == DATA_PROCESSOR
    assert incident_from_json(json.dumps({**stored, "resources": []})).subject.id == ""
