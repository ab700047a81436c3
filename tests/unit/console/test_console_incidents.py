"""The list of incidents, an incident, its evidence: what is said, in which order, and what is hidden."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.support.clock import FakeClock
from tests.support.investigations.diagnoses import a_diagnosis, a_pointer
from tests.support.investigations.incidents import MESSAGE, REMAINING, Scripted, an_incident
from tests.support.pages.console import ServedConsole, served

from affidavit.entrypoints.console.highlighting.cited_json_lines import lit_answer
from affidavit.evidence.incident_subject import Subject, SubjectKind
from affidavit.incidents.attempt.diagnostician_port import RunOutcome
from affidavit.incidents.incident import IncidentId
from affidavit.incidents.store.state import Status


def test_an_empty_list_is_no_proof_of_health(console: ServedConsole) -> None:
    assert "not proof of health" in console.browser().get("/").text


def test_a_diagnosed_incident_says_how_many_claims_re_read(console: ServedConsole) -> None:
    console.investigated()
    text = console.browser().get("/").text
    assert "the role lost its S3 policy" in text
    assert "evidence 1/1 re-read" in text


def test_an_incident_without_a_diagnosis_says_why(console: ServedConsole) -> None:
    console.investigated(Scripted(outcome=RunOutcome.DEADLINE))
    text = console.browser().get("/incidents/inc-1").text
    assert "Not diagnosed" in text
    assert "re-read" not in text


def test_incidents_in_work_come_first_however_many_ended_since(tmp_path: Path) -> None:
    clock = FakeClock()
    with served(tmp_path, clock=clock) as console:
        states = console.desk.rereading.states
        states.write_initial_state(an_incident("inc-open"), deadline=clock.now() + REMAINING)
        for number in range(60):
            clock.pass_by(timedelta(seconds=1))
            console.investigated(name=f"inc-{number}", subject=Subject(kind=SubjectKind.FUNCTION, id=f"f{number}"))
        text = console.browser().get("/").text
        assert text.index("inc-open") < text.index("inc-59")
        assert "inc-3&" not in text and '/incidents/inc-3"' not in text
        older = console.browser().get(
            text.partition('class="button" href="')[2].partition('"')[0].replace("&amp;", "&")
        )
        assert '/incidents/inc-3"' in older.text
        assert "inc-open" not in older.text


@pytest.mark.parametrize(
    ("query", "shown"),
    [
        ("state=diagnosed", {"inc-a"}),
        ("state=not diagnosed", {"inc-b"}),
        ("subject=orders", {"inc-b"}),
        ("kind=node", set()),
        ("q=S3 policy", {"inc-a"}),
        ("q=INC-B", {"inc-b"}),
        ("q=nothing", set()),
        ("account=123456789012", {"inc-a", "inc-b"}),
        ("account=1", set()),
    ],
)
def test_filters_stand_in_the_address(console: ServedConsole, query: str, shown: set[str]) -> None:
    console.investigated(name="inc-a")
    failing = Scripted(outcome=RunOutcome.DEADLINE)
    console.investigated(failing, name="inc-b", subject=Subject(kind=SubjectKind.FUNCTION, id="orders-api"))
    text = console.browser().get(f"/?{query}").text
    assert {name for name in ("inc-a", "inc-b") if f"/incidents/{name}" in text} == shown


def test_a_place_in_the_list_that_does_not_exist_is_refused(console: ServedConsole) -> None:
    assert console.browser().get("/?after=nonsense").status_code == 400


def test_verify_now_stamps_the_time(tmp_path: Path) -> None:
    clock = FakeClock(datetime(2026, 5, 1, 10, 0, tzinfo=UTC))
    with served(tmp_path, clock=clock) as console:
        console.investigated()
        clock.pass_by(timedelta(hours=4, minutes=2))
        client = console.browser()
        assert console.post(client, "/incidents/inc-1/verify").headers["location"] == "/incidents/inc-1#reread"
        assert "14:02" in client.get("/").text


def test_an_answer_changed_on_disk_fells_the_claim_that_cites_it(console: ServedConsole) -> None:
    console.investigated()
    answer = next(file for file in console.folder.rglob("answers/*.json") if "AccessDenied" in file.read_text())
    answer.chmod(0o600)
    answer.write_text(answer.read_text().replace("AccessDenied", "AccessDeniee"))
    client = console.browser()
    console.post(client, "/incidents/inc-1/verify")
    text = client.get("/incidents/inc-1").text
    assert "This diagnosis no longer holds" in text
    assert "was changed after it was written" in text
    assert "1 of 1 did not re-read" in client.get("/").text
    assert "Could not look:" in client.get("/incidents/inc-1/evidence/0").text


def test_evidence_of_one_incident_is_not_shown_under_another(console: ServedConsole) -> None:
    console.investigated(name="inc-1")
    console.investigated(Scripted(outcome=RunOutcome.DEADLINE), name="inc-2", error_type="Other", message="other")
    client = console.browser()
    assert client.get("/incidents/inc-1/evidence/0").status_code == 200
    assert client.get("/incidents/inc-2/evidence/0").status_code == 404
    assert client.get("/incidents/inc-1/evidence/1").status_code == 404
    assert client.get("/incidents/inc-1/evidence/-1").status_code == 404
    assert client.get("/incidents/..%2Finc-1/evidence/0").status_code == 404


def test_the_quoted_value_is_lit_where_it_stands(console: ServedConsole) -> None:
    console.investigated()
    text = console.browser().get("/incidents/inc-1/evidence/0").text
    assert f"<mark>{MESSAGE}</mark>" in text


def test_secrets_are_hidden_everywhere(console: ServedConsole) -> None:
    secret = "AKIAIOSFODNN7EXAMPLE/wJalrXUtnFEMIK7MDENGbPxRfiCYzzzEXAMPLEKEY"
    console.investigated(message=f"aws_secret_access_key={secret}")
    client = console.browser()
    for path in ("/", "/incidents/inc-1", "/incidents/inc-1/progress"):
        assert secret not in client.get(path).text


def test_hostile_text_stays_text(console: ServedConsole) -> None:
    hostile = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>{{7*7}}\u202e"
    pointer = a_pointer("get_recent_logs", "/events/0/message", MESSAGE, hostile)
    diagnosis = a_diagnosis(pointer).model_copy(update={"root_cause": hostile, "gaps": (hostile,)})
    console.rewritten(console.investigated(message=hostile), diagnosis)
    client = console.browser()
    for path in ("/", "/incidents/inc-1", "/incidents/inc-1/evidence/0", "/?q=" + hostile):
        text = client.get(path).text
        assert "<script>alert" not in text and "<img src=x" not in text
        assert "\u202e" not in text and "49" not in text.partition("<main")[2].partition("Journal")[0][:200]


def test_progress_goes_on_behind_a_cursor(console: ServedConsole) -> None:
    console.investigated()
    client = console.browser()
    told = client.get("/incidents/inc-1/progress", headers={"Accept": "application/json"}).json()
    assert [step["tool"] for step in told["steps"]] == ["get_recent_logs", "get_iam_state"]
    assert (told["status"], told["is_over"], told["after"]) == ("DIAGNOSED", True, 2)
    rest = client.get("/incidents/inc-1/progress?after=1", headers={"Accept": "application/json"}).json()
    assert [step["number"] for step in rest["steps"]] == [2]
    part = client.get("/incidents/inc-1/progress?after=2", headers={"HX-Request": "true"})
    assert part.headers["hx-refresh"] == "true"


def test_a_stream_tells_each_change_and_ends_with_the_incident(console: ServedConsole) -> None:
    console.investigated()
    answer = console.browser().get("/incidents/inc-1/progress", headers={"Accept": "text/event-stream"})
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert answer.text.startswith("id: 2\nevent: progress\ndata: ")


def test_an_incident_that_has_a_diagnosis_is_not_run_again(console: ServedConsole) -> None:
    console.investigated()
    assert console.post(console.browser(), "/incidents/inc-1/redrive").status_code == 409


def test_behind_lambda_an_incident_is_given_to_the_watchdog(tmp_path: Path) -> None:
    with served(tmp_path, is_long_lived=False) as console:
        console.investigated(Scripted(outcome=RunOutcome.DEADLINE))
        assert console.post(console.browser(), "/incidents/inc-1/redrive").status_code == 303
        state = console.desk.rereading.states.get_state(IncidentId("inc-1"))
        assert state is not None and state.status is Status.RECEIVED


def test_only_the_quoted_part_of_a_text_is_lit() -> None:
    shown = lit_answer({"events": [{"message": 'before "quoted" behind'}]}, "/events/0/message", 'e "quoted" b')
    lit = [part.text for line in shown.lines for part in line.parts if part.is_lit]
    assert lit == [json.dumps('e "quoted" b')[1:-1]]


def test_a_value_of_several_lines_is_lit_whole() -> None:
    shown = lit_answer({"a": 1, "b": {"c": [1, 2]}}, "/b", {"c": [1, 2]})
    assert [line.number for line in shown.lines if line.is_lit] == [3, 4, 5, 6, 7, 8]


def test_a_long_answer_is_shown_around_the_lit_value() -> None:
    shown = lit_answer({"events": list(range(5000))}, "/events/4000", 4000)
    assert shown.lit_at in [line.number for line in shown.lines]
    assert len(shown.lines) < 200 and shown.total > 5000


def test_a_place_that_is_not_there_lights_nothing() -> None:
    assert lit_answer({"a": 1}, "/b", 1).lit_at is None
