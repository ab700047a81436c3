"""What people read when an incident has ended."""

from pathlib import Path

import pytest
from tests.support.investigations.diagnoses import a_diagnosis, a_pointer
from tests.support.investigations.incidents import (
    LOGS,
    MESSAGE,
    REMAINING,
    Scripted,
    a_bench,
    an_incident,
    true_diagnosis,
)

from affidavit.evidence.diagnosis import Diagnosis
from affidavit.incidents.attempt.diagnostician_port import AgentError, ErrorCategory
from affidavit.incidents.incident import Incident
from affidavit.incidents.notices.incident_notice import QUOTE_CHARACTERS, NoticeStyle, notice_of
from affidavit.incidents.notices.plain_text import plain_text
from affidavit.incidents.supervisor import Supervisor
from affidavit.ports.notice_record import Notice


def the_notice(folder: Path, scripted: Scripted, *, has_tools: bool = False, **incident: object) -> Notice:
    bench = a_bench(folder, scripted=scripted, has_tools=has_tools)
    reported = an_incident(**incident)
    bench.supervisor.receive(reported, remaining=REMAINING)
    return _notice_of(bench.supervisor, reported)


def _notice_of(supervisor: Supervisor, incident: Incident) -> Notice:
    state = supervisor.states.get_state(incident.incident_id)
    assert state is not None
    return notice_of(state, supervisor.contexts.get_context(incident.incident_id))


def test_the_cause_comes_first_then_how_to_prove_it_the_evidence_the_plan_and_the_gaps(memory: Path) -> None:
    told = true_diagnosis().model_copy(update={"gaps": ("who removed the policy",)})
    notice = the_notice(memory, Scripted(diagnosis=told))
    message = plain_text(notice)
    assert message.startswith(told.root_cause)
    parts = ["affidavit verify inc-1", "EVIDENCE", f'"{MESSAGE}"', "get_recent_logs /events/0/message", "PLAN"]
    parts += [told.remediation_plan[0].action, "because of [0]", "NOT KNOWN", "who removed the policy"]
    places = [message.index(part) for part in parts]
    assert places == sorted(places)
    assert notice.title.startswith("[DIAGNOSED] data-processor: ")


def test_without_a_diagnosis_it_says_so_why_and_what_rules_can_prove(memory: Path) -> None:
    denied = AgentError(category=ErrorCategory.BEDROCK_AUTH, message="the role may not ask; allow it")
    notice = the_notice(memory, Scripted(error=denied), has_tools=True)
    message = plain_text(notice)
    assert message.startswith("No diagnosis: [bedrock_auth] the role may not ask; allow it")
    assert "affidavit incident redrive inc-1" in message
    assert "affidavit verify" not in message
    assert "WHAT RULES ALONE CAN PROVE" in message
    assert MESSAGE in message


def test_the_same_end_has_the_same_key_and_the_next_one_another(memory: Path) -> None:
    denied = AgentError(category=ErrorCategory.BEDROCK_AUTH, message="denied")
    bench = a_bench(memory, scripted=Scripted(error=denied))
    bench.supervisor.receive(an_incident(), remaining=REMAINING)
    first = _notice_of(bench.supervisor, an_incident())
    assert first.key in plain_text(first)
    assert _notice_of(bench.supervisor, an_incident()).key == first.key
    bench.supervisor.redrive(an_incident().incident_id, remaining=REMAINING)
    assert _notice_of(bench.supervisor, an_incident()).key != first.key


def quoting(value: str) -> Diagnosis:
    return a_diagnosis(a_pointer("get_recent_logs", "/events/0/message", value))


def test_a_log_line_cannot_pose_as_part_of_the_notice(memory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    planted = "denied\n\nPLAN\n1. Attach AdministratorAccess\x1b[2J\u202e"
    monkeypatch.setitem(LOGS["events"][0], "message", planted)  # type: ignore[index] - a JSON object
    message = plain_text(the_notice(memory, Scripted(diagnosis=quoting(planted))))
    assert message.splitlines().count("PLAN") == 1
    assert "\\n\\nPLAN\\n1. Attach" in message
    assert "\x1b" not in message
    assert "\u202e" not in message


def test_a_long_quote_is_cut_and_says_so(memory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    long = "x" * (QUOTE_CHARACTERS + 7)
    monkeypatch.setitem(LOGS["events"][0], "message", long)  # type: ignore[index] - a JSON object
    message = plain_text(the_notice(memory, Scripted(diagnosis=quoting(long))))
    assert f'"{"x" * QUOTE_CHARACTERS}" … and 7 characters more' in message


def test_a_secret_does_not_leave_in_a_notice(memory: Path) -> None:
    failed = AgentError(category=ErrorCategory.UNKNOWN, message="key AKIAIOSFODNN7EXAMPLQ was refused")
    message = plain_text(the_notice(memory, Scripted(error=failed)))
    assert "AKIAIOSFODNN7EXAMPLQ" not in message
    assert "was refused" in message


def test_a_secret_leaves_neither_in_the_message_nor_in_the_subject(memory: Path) -> None:
    key = "AKIA" + "Q3EGRIZ5XMPLW7TN"
    told = true_diagnosis().model_copy(update={"root_cause": f"aws_access_key_id={key} is not valid."})
    notice = the_notice(memory, Scripted(diagnosis=told))
    assert key not in notice.title
    assert key not in plain_text(notice)
    assert key not in repr(notice)
    assert "[REDACTED:" in notice.title


def test_a_secret_is_hidden_before_a_quote_is_cut_in_its_middle(memory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key = "AKIA" + "Q3EGRIZ5XMPLW7TN"
    line = "x" * (QUOTE_CHARACTERS - 10) + " " + key
    monkeypatch.setitem(LOGS["events"][0], "message", line)  # type: ignore[index] - a JSON object
    assert key[:9] not in plain_text(the_notice(memory, Scripted(diagnosis=quoting(line))))


def test_a_notice_links_to_the_console_where_there_is_one(memory: Path) -> None:
    bench = a_bench(memory)
    bench.supervisor.receive(an_incident("inc/1"), remaining=REMAINING)
    state = bench.states.get_state(an_incident("inc/1").incident_id)
    assert state is not None
    notice = notice_of(state, None, NoticeStyle(console_url="https://console.example/"))
    assert notice.link == "https://console.example/incidents/inc%2F1"
    assert notice.link in plain_text(notice)
    assert notice_of(state, None).link == ""


def test_personal_data_leaves_no_notice_where_it_is_to_be_hidden(memory: Path) -> None:
    told = true_diagnosis().model_copy(update={"root_cause": "jane.doe@example.com removed the policy."})
    bench = a_bench(memory, scripted=Scripted(diagnosis=told))
    bench.supervisor.receive(an_incident(), remaining=REMAINING)
    state = bench.states.get_state(an_incident().incident_id)
    assert state is not None
    context = bench.contexts.get_context(an_incident().incident_id)
    assert "jane.doe@example.com" in notice_of(state, context).cause
    assert "jane.doe@example.com" not in repr(notice_of(state, context, NoticeStyle(hides_personal=True)))
