"""Which alerts are one incident: those of one failure, and no others."""

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.support.investigations.diagnoses import a_diagnosis, a_pointer
from tests.support.investigations.incidents import MESSAGE, REMAINING, Bench, Mailbox, Scripted, a_bench

from affidavit.evidence.diagnosis import FaultType
from affidavit.incidents.attempt.diagnostician_port import AgentError, ErrorCategory
from affidavit.incidents.incident import IncidentId
from affidavit.incidents.intake.delivery_handling import Delivered, deliver

TOPIC = "arn:aws:sns:ca-central-1:123456789012:alerts"


def at(seconds: float) -> str:
    return (datetime(2026, 1, 15, 10, 0, tzinfo=UTC) + timedelta(seconds=seconds)).isoformat()


def report(seconds: float, *, name: str = "", error: str = "ClientError") -> dict[str, Any]:
    named = {"incident_id": name} if name else {}
    return {"function_name": "data-processor", "error_type": error, "timestamp": at(seconds), **named}


def alarm(seconds: float, *, state: str = "ALARM", metric: str = "Errors") -> dict[str, Any]:
    return {
        "AlarmName": f"data-processor-{metric.lower()}",
        "AlarmArn": "arn:aws:cloudwatch:ca-central-1:123456789012:alarm:a",
        "AWSAccountId": "123456789012",
        "NewStateValue": state,
        "StateChangeTime": at(seconds),
        "Trigger": {"MetricName": metric, "Dimensions": [{"name": "FunctionName", "value": "data-processor"}]},
    }


def destination(seconds: float, error: str = "ClientError") -> dict[str, Any]:
    arn = "arn:aws:lambda:ca-central-1:123456789012:function:data-processor"
    return {
        "timestamp": at(seconds),
        "requestContext": {"functionArn": arn, "condition": "RetriesExhausted"},
        "responsePayload": {"errorType": error, "errorMessage": "denied"},
    }


def come(bench: Bench, *alerts: dict[str, Any]) -> list[Delivered]:
    """Each in an event of its own, in order."""
    return [one for number, alert in enumerate(alerts) for one in _deliver(bench, alert, number)]


def _deliver(bench: Bench, alert: dict[str, Any], number: int) -> list[Delivered]:
    sns = {"MessageId": f"m-{number}", "Message": json.dumps(alert), "TopicArn": TOPIC}
    return deliver({"Records": [{"Sns": sns}]}, bench.supervisor, bench.objects, remaining=REMAINING)


def diagnosing(fault: FaultType) -> Scripted:
    found = a_diagnosis(a_pointer("get_recent_logs", "/events/0/message", MESSAGE))
    return Scripted(diagnosis=found.model_copy(update={"fault_types": (fault,)}))


@pytest.mark.parametrize("name", ["", "data-processor-r-1"])
def test_a_report_its_retries_its_alarm_and_its_destination_are_one_incident(bench: Bench, name: str) -> None:
    retries = [report(second, name=name) for second in (0, 60, 180)]
    done = come(bench, retries[0], alarm(70), *retries[1:], destination(200))
    assert len({one.incident_id for one in done}) == 1
    assert len(bench.scripted.runs) == 1, "it is paid for once"


@pytest.mark.parametrize("name", ["", "data-processor-r-1"])
def test_an_alarm_that_came_before_the_report_is_the_same_incident(bench: Bench, name: str) -> None:
    done = come(bench, alarm(60), report(5, name=name), report(65, name=name))
    assert len({one.incident_id for one in done}) == 1
    assert len(bench.scripted.runs) == 1


def test_a_named_run_that_fails_after_the_alarm_was_diagnosed_is_an_incident_of_its_own(bench: Bench) -> None:
    first, later = come(bench, alarm(60), report(65, name="run-1"))
    assert (later.incident_id, later.outcome) == ("run-1", "ran")
    assert later.incident_id != first.incident_id


def test_a_named_run_that_fails_while_an_alarm_is_worked_on_is_an_incident_of_its_own(tmp_path: Path) -> None:
    waiting = Scripted(error=AgentError(category=ErrorCategory.MCP_CONNECTION, message="refused"))
    first, later = come(a_bench(tmp_path, scripted=waiting), alarm(60), report(65, name="run-1"))
    assert (first.incident_id, later.incident_id) != ("run-1", first.incident_id)
    assert later.incident_id == "run-1"


def test_the_same_delivery_is_the_same_incident_weeks_after_it_joined(bench: Bench) -> None:
    first, joined = come(bench, report(0), alarm(70))
    bench.clock.pass_by(timedelta(days=22))
    (again,) = come(bench, alarm(70))
    assert again.incident_id == joined.incident_id == first.incident_id
    assert len(bench.scripted.runs) == 1


def test_an_alarm_that_fires_again_after_the_diagnosis_is_a_new_incident_and_told(tmp_path: Path) -> None:
    mailbox = Mailbox()
    bench = a_bench(tmp_path, mailbox=mailbox)
    done = come(bench, report(0), alarm(60), alarm(180))
    assert [one.incident_id == done[0].incident_id for one in done] == [True, True, False]
    assert len(bench.scripted.runs) == len(mailbox.notices) == 2


def test_another_alarm_after_the_diagnosis_of_an_alarm_is_a_new_incident(tmp_path: Path) -> None:
    bench = a_bench(tmp_path, scripted=diagnosing(FaultType.THROTTLING))
    first, second = come(bench, alarm(0, metric="Throttles"), {**alarm(60, metric="Throttles"), "AlarmName": "another"})
    assert first.incident_id != second.incident_id
    assert len(bench.scripted.runs) == 2


def test_two_alarms_of_one_failure_are_one_incident_while_it_is_worked_on(tmp_path: Path) -> None:
    waiting = Scripted(error=AgentError(category=ErrorCategory.MCP_CONNECTION, message="refused"))
    bench = a_bench(tmp_path, scripted=waiting)
    first, second = come(bench, alarm(0), alarm(5, metric="Throttles"))
    assert first.incident_id == second.incident_id


def test_an_alarm_long_after_the_report_is_a_new_incident(bench: Bench) -> None:
    first, later = come(bench, report(0), alarm(301))
    assert first.incident_id != later.incident_id
    assert len(bench.scripted.runs) == 2


def test_an_alarm_that_flaps_while_nothing_is_concluded_joins_and_one_that_was_ok_does_not(tmp_path: Path) -> None:
    waiting = Scripted(error=AgentError(category=ErrorCategory.MCP_CONNECTION, message="refused"))
    bench = a_bench(tmp_path, scripted=waiting)
    first, flapped, ok, anew = come(bench, alarm(0), alarm(60), alarm(90, state="OK"), alarm(120))
    assert flapped.incident_id == first.incident_id
    assert ok.incident_id is None
    assert anew.incident_id not in (None, first.incident_id)


def test_a_function_that_is_blocked_after_another_fault_was_diagnosed_is_not_taken_for_it(tmp_path: Path) -> None:
    bench = a_bench(tmp_path, scripted=diagnosing(FaultType.PERMISSION_LOSS))
    denied, blocked = come(bench, report(0), alarm(120, metric="Throttles"))
    assert denied.incident_id != blocked.incident_id
    assert len(bench.scripted.runs) == 2


def test_a_failure_after_a_block_was_diagnosed_is_not_taken_for_it(tmp_path: Path) -> None:
    bench = a_bench(tmp_path, scripted=diagnosing(FaultType.THROTTLING))
    blocked, failed = come(bench, alarm(0, metric="Throttles"), report(120))
    assert blocked.incident_id != failed.incident_id


def test_reports_of_different_errors_and_named_runs_stay_apart(bench: Bench) -> None:
    done = come(bench, report(0), report(10, error="KeyError"), report(20, name="run-1"), report(30, name="run-2"))
    assert len({one.incident_id for one in done}) == 4


def test_another_functions_alarm_is_another_incident(bench: Bench) -> None:
    other = json.loads(json.dumps(alarm(60)).replace("data-processor", "other"))
    first, second = come(bench, report(0), other)
    assert first.incident_id != second.incident_id


@pytest.mark.parametrize("round_number", range(8))
def test_a_report_and_its_alarm_at_the_same_moment_are_one_incident(tmp_path: Path, round_number: int) -> None:
    bench = a_bench(tmp_path / str(round_number))
    with ThreadPoolExecutor(2) as pool:
        done = list(pool.map(lambda alert: come(bench, alert)[0], (report(0, name="run-1"), alarm(1))))
    assert len({one.incident_id for one in done}) == 1
    assert len(bench.scripted.runs) == 1


def test_of_many_reports_at_the_same_moment_every_one_is_handled(tmp_path: Path) -> None:
    bench = a_bench(tmp_path)
    with ThreadPoolExecutor(8) as pool:
        done = list(pool.map(lambda number: come(bench, report(0, name=f"run-{number}"))[0], range(24)))
    assert {one.incident_id for one in done} == {f"run-{number}" for number in range(24)}
    assert sorted(bench.scripted.runs) == sorted(IncidentId(f"run-{number}") for number in range(24))


@pytest.mark.parametrize(
    "event",
    [
        {"detail-type": "CodePipeline Pipeline Execution State Change", "source": "aws.codepipeline", "detail": state}
        for state in ({"pipeline": "p", "state": "SUCCEEDED"}, {"pipeline": "p", "state": "FAILED"})
    ]
    + [
        {"detail-type": "Scheduled Event", "source": "aws.events", "detail": {}},
        {"detail-type": "AWS API Call via CloudTrail", "source": "aws.lambda", "detail": {"functionName": "f"}},
        {"detail-type": "OrderPlaced", "source": "shop", "detail": {"function_name": "data-processor"}},
    ],
)
def test_an_event_that_reports_no_fault_is_no_incident(bench: Bench, event: dict[str, Any]) -> None:
    (done,) = deliver(event, bench.supervisor, bench.objects, remaining=REMAINING)
    assert "reports no fault of a function" in done.outcome
    assert bench.scripted.runs == []


def test_a_report_on_a_bus_is_an_incident(bench: Bench) -> None:
    event = {
        "detail-type": "JobFailed",
        "source": "shop",
        "account": "123456789012",
        "region": "ca-central-1",
        "time": at(0),
        "detail": {"function_name": "data-processor", "error": "denied"},
    }
    (done,) = deliver(event, bench.supervisor, bench.objects, remaining=REMAINING)
    assert done.outcome == "ran"


def test_an_alert_about_a_node_or_about_nothing_costs_no_chat_call_and_is_kept_with_its_reason(bench: Bench) -> None:
    node = json.loads(json.dumps(alarm(0)).replace('"FunctionName"', '"InstanceId"'))
    done = come(bench, node, {**alarm(0), "Trigger": {}})
    assert [one.outcome.partition(":")[0] for one in done] == ["quarantined"] * 2
    assert bench.scripted.runs == []
    assert len(list(bench.objects.list("quarantine/"))) == 2
