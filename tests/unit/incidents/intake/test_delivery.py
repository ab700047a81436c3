"""Events of several records."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.support.investigations.incidents import REMAINING, Bench, Scripted, a_bench

from affidavit.incidents.incident import IncidentId, incident_to_json
from affidavit.incidents.intake.delivery_handling import Delivered, deliver


def an_event(*messages: Any) -> dict[str, Any]:
    texts = [one if isinstance(one, str) else json.dumps(one) for one in messages]
    return {"Records": [{"Sns": {"MessageId": f"m-{number}", "Message": text}} for number, text in enumerate(texts)]}


def report(name: str) -> dict[str, str]:
    return {"function_name": "data-processor", "incident_id": name, "timestamp": "2026-01-15T10:00:00Z"}


def delivered(bench: Bench, *messages: Any) -> list[Delivered]:
    return deliver(an_event(*messages), bench.supervisor, bench.objects, remaining=REMAINING)


def test_every_record_is_handled_and_a_bad_one_is_kept_aside_with_its_text(bench: Bench) -> None:
    done = delivered(bench, report("a"), "no json", report("b"))
    assert [one.incident_id for one in done] == ["a", None, "b"]
    (kept,) = bench.objects.list("quarantine/")
    assert "no json" in json.loads(bench.objects.get(kept.key))["record"]
    assert any('"Quarantined": 1' in line for line in bench.lines), "an alarm can count them"


def test_the_same_record_twice_is_handled_once(bench: Bench) -> None:
    done = delivered(bench, report("a"), report("a"))
    assert [str(one.outcome) for one in done] == ["ran", "already handled"]
    assert len(bench.scripted.runs) == 1


def test_a_failure_is_raised_after_the_other_records_had_their_turn(tmp_path: Path) -> None:
    failures = iter([RuntimeError("first"), None])

    def fail_once() -> None:
        if (failure := next(failures)) is not None:
            raise failure

    bench = a_bench(tmp_path, scripted=Scripted(before_end=fail_once))
    with pytest.raises(RuntimeError, match="first"):
        delivered(bench, report("a"), report("b"))
    assert bench.scripted.runs == ["a", "b"]


def test_an_alarm_that_went_back_to_ok_runs_nothing(bench: Bench) -> None:
    alarm = {"AlarmName": "errors", "NewStateValue": "OK"}
    assert delivered(bench, alarm) == [Delivered(incident_id=None, outcome="alarm errors went to OK")]
    assert bench.scripted.runs == []


def test_a_secret_in_an_alert_is_stored_nowhere(bench: Bench) -> None:
    key = "AKIA" + "Q3EGRIZ5XMPLW7TN"
    leaking = {**report("a"), "error_message": f"aws_access_key_id={key}", "error_type": f"aws_access_key_id={key}"}
    alarm = {"AlarmName": f"aws_access_key_id={key}", "NewStateValue": "ALARM", "Trigger": {}}
    delivered(bench, leaking, alarm, f"no json, aws_access_key_id={key}")
    state = bench.states.get_state(IncidentId("a"))
    assert state is not None
    assert key not in incident_to_json(state.incident)
    assert "[REDACTED:" in state.incident.message
    assert len(list(bench.objects.list("quarantine/"))) == 2
    assert not any(key.encode() in bench.objects.get(kept.key) for kept in bench.objects.list(""))
    assert not any(key in line for line in bench.lines)
