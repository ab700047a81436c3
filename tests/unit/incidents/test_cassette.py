"""What leaves in a cassette: no secret, every answer, and a diagnosis that still holds."""

import json
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from affidavit.adapters.local.objects import DirectoryObjectStore
from affidavit.errors import EvidenceUnavailable, InputRefused
from affidavit.evidence.diagnosis import NO_TOKENS, Diagnosis, ProducedBy
from affidavit.evidence.incident_subject import Subject, SubjectKind
from affidavit.incidents.attempt.answer_ledger import Ledger
from affidavit.incidents.export.cassette import Playback, cassette_from_json, cassette_to_json, record
from affidavit.incidents.incident import Incident, IncidentId, Signal
from affidavit.incidents.store.blobs import Records
from affidavit.incidents.store.stored_diagnoses import IncidentContext
from affidavit.ports.json import JsonValue
from affidavit.verification.pointer_check import verify

SECRET = "AKIAIOSFODNN7EXAMPLQ"  # made up, in the shape of one
LINE = f"login with {SECRET} was denied"
USAGE = {"input_tokens": 5, "output_tokens": 2, "total_tokens": 7}
INCIDENT = Incident(
    incident_id=IncidentId("incident-1"),
    delivery_id="d",
    account="123456789012",
    region="ca-central-1",
    subject=Subject(kind=SubjectKind.FUNCTION, id="data-processor"),
    resources=("data-processor",),
    signal=Signal.ALARM,
    signal_name="errors",
    message=f"failed: {LINE}",
    occurred_at=datetime(2026, 3, 3, tzinfo=UTC),
    may_join=IncidentId("incident-0"),
)
DIAGNOSIS = Diagnosis.model_validate(
    {
        "root_cause": f"The key {SECRET} is not valid.",
        "fault_types": ["permission_loss"],
        "affected_resources": ["data-processor"],
        "severity": "high",
        "evidence": [{"tool": "get_recent_logs", "field": "/events/0/message", "value": LINE, "interpretation": "x"}],
        "remediation_plan": [],
        "confidence": "high",
    }
)


@pytest.fixture
def records(tmp_path: Path) -> Records:
    return Records(DirectoryObjectStore(tmp_path / "objects"))


def context(
    records: Records, *, lines: Sequence[str] = (LINE,), claims: Sequence[dict[str, Any]] | None = None
) -> IncidentContext:
    """`claims` are the evidence that the chat model handed in, and that was taken."""
    ledger = Ledger()
    for line in lines:
        ledger.record("get_recent_logs", {"lambda_name": "data-processor"}, {"events": [{"message": line}]})
    diagnosis = DIAGNOSIS
    if claims is not None:
        diagnosis = Diagnosis.model_validate({**DIAGNOSIS.model_dump(mode="json"), "evidence": list(claims)})
    return IncidentContext(
        incident_id=INCIDENT.incident_id,
        diagnosis=diagnosis,
        best_so_far=None,
        reasoning_chain=(),
        truncated=False,
        chain_key=records.keep(INCIDENT.incident_id, "chain", chain(diagnosis)),
        ledger=tuple(records.keep_entry(INCIDENT.incident_id, entry) for entry in ledger.entries),
        token_usage=NO_TOKENS,
        llm_calls=1,
        tools_called=("get_recent_logs",),
        error_type="unknown",
        outcome="diagnosed",
    )


def chain(diagnosis: Diagnosis) -> list[JsonValue]:
    asked = [{"id": f"c{n}", "name": "get_recent_logs", "args": {"lambda_name": "data-processor"}} for n in (1, 2)]
    submitted = {"id": "c3", "name": "submit_diagnosis", "args": diagnosis.model_dump(mode="json")}
    return [
        {"role": "system", "content": "Be true."},
        {"role": "assistant", "content": f"I saw {SECRET}.", "tool_calls": [asked[0]], "usage": USAGE},
        {"role": "tool", "content": "{}", "tool_call_id": "c1"},
        {"role": "assistant", "content": "", "tool_calls": [asked[1]], "usage": USAGE},
        {"role": "tool", "content": "{}", "tool_call_id": "c2"},
        {"role": "assistant", "content": "", "tool_calls": [submitted], "usage": USAGE},
        {"role": "tool", "content": "accepted", "tool_call_id": "c3"},
    ]


def claim(value: JsonValue, field: str = "/events/0/message") -> dict[str, Any]:
    return {"tool": "get_recent_logs", "field": field, "value": value, "interpretation": "x"}


def test_no_secret_leaves_and_the_evidence_still_holds(records: Records) -> None:
    told = cassette_to_json(record(INCIDENT, context(records), records))
    assert SECRET not in told
    read = cassette_from_json(told, name="x")
    assert read.diagnosis is not None
    assert verify(read.diagnosis, read.entries).holds
    assert read.incident.may_join is None


def test_the_turns_of_the_chat_model_leave_with_it_and_hold_no_secret(records: Records) -> None:
    read = cassette_from_json(cassette_to_json(record(INCIDENT, context(records), records)), name="x")
    assert [turn["content"] for turn in read.turns] == ["I saw [REDACTED:aws_access_key].", "", ""]
    assert read.turns[2]["tool_calls"][0]["args"]["evidence"] == [
        one.model_dump(mode="json") for one in read.diagnosis.evidence
    ]
    assert read.turns[0]["usage"] == USAGE


def test_rules_in_the_place_of_a_chat_model_leave_no_turns_and_are_asked_again(records: Records) -> None:
    told = context(records)
    by_rules = told.diagnosis.model_copy(update={"produced_by": ProducedBy.RULES})
    assert record(INCIDENT, replace(told, diagnosis=by_rules), records).turns == ()


INSIDE = LINE.index(SECRET) + 10


@pytest.mark.parametrize("quote", [LINE[4:INSIDE], LINE[INSIDE:], SECRET[2:18]])
def test_a_quote_that_cuts_a_secret_in_two_becomes_the_whole_redacted_text(records: Records, quote: str) -> None:
    read = record(INCIDENT, context(records, claims=[claim(quote)]), records)
    assert quote not in cassette_to_json(read)
    assert verify(read.diagnosis, read.entries).holds
    assert read.diagnosis.evidence[0].value == "login with [REDACTED:aws_access_key] was denied"
    assert read.turns[2]["tool_calls"][0]["args"]["evidence"][0]["value"] == read.diagnosis.evidence[0].value
    assert any("now quotes the whole redacted text" in note for note in read.notes)


@pytest.mark.parametrize("quote", [SECRET, f"in with {SECRET} was", LINE])
def test_a_quote_with_a_whole_secret_in_it_loses_the_secret_alone(records: Records, quote: str) -> None:
    read = record(INCIDENT, context(records, claims=[claim(quote)]), records)
    assert read.diagnosis.evidence[0].value == quote.replace(SECRET, "[REDACTED:aws_access_key]")
    assert (verify(read.diagnosis, read.entries).holds, read.notes) == (True, ())


def test_a_quote_beside_the_secret_stays_as_it_was(records: Records) -> None:
    read = record(INCIDENT, context(records, claims=[claim("was denied")]), records)
    assert (read.diagnosis.evidence[0].value, read.notes) == ("was denied", ())


def test_a_quote_that_was_made_up_does_not_become_true_by_redaction(records: Records) -> None:
    """Two keys look alike when both are hidden: what was turned down then must be turned down again."""
    made_up = claim(LINE.replace(SECRET, "AKIAIOSFODNN7EXAMPLX"))
    read = record(INCIDENT, context(records, claims=[made_up]), records)
    assert not verify(read.diagnosis, read.entries).holds
    assert any("was not what was recorded" in note for note in read.notes)


def test_what_cannot_be_kept_is_told(records: Records) -> None:
    long = f"{LINE} {'x' * 20_000}"
    read = record(INCIDENT, context(records, lines=[long], claims=[claim(LINE[:INSIDE])]), records)
    assert not verify(read.diagnosis, read.entries).holds
    assert any("no longer points at what was recorded" in note for note in read.notes)


@settings(deadline=None)
@given(st.integers(0, len(LINE)), st.integers(0, len(LINE)))
def test_every_cut_of_a_line_with_a_secret_verifies_after_as_it_did_before(start: int, end: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        records = Records(DirectoryObjectStore(Path(folder)))
        told = context(records, claims=[claim(LINE[start:end])])
        read = record(INCIDENT, told, records)
        before = verify(told.diagnosis, records.entries(told.ledger)).holds
        assert verify(read.diagnosis, read.entries).holds is before
        assert SECRET not in cassette_to_json(read)


def test_answers_are_played_in_the_order_they_were_given(records: Records) -> None:
    read = record(INCIDENT, context(records, lines=["stale", "first", "second"]), records)
    playback = Playback(read)
    said = [playback.answer("get_recent_logs", {"lambda_name": "data-processor"}) for _ in range(3)]
    assert [dict(one)["events"][0]["message"] for one in said] == ["first", "second", "second"]
    newest = Playback(replace(read, turns=()))
    assert "second" in str(newest.answer("get_recent_logs", {"lambda_name": "data-processor"}))


def test_a_file_of_the_first_version_still_plays(records: Records) -> None:
    told = json.loads(cassette_to_json(record(INCIDENT, context(records), records)))
    old = {name: told[name] for name in ("incident", "answers", "diagnosis")} | {"cassette": 1}
    assert cassette_from_json(json.dumps(old), name="x").turns == ()


def test_a_recorded_answer_comes_back_and_any_other_is_an_error(records: Records) -> None:
    read = Playback(record(INCIDENT, context(records), records))
    assert "events" in dict(read.answer("get_recent_logs", {"lambda_name": "data-processor"}))
    assert "error" in dict(read.answer("get_recent_logs", {"lambda_name": "other"}))
    assert "error" in dict(read.answer("get_iam_state", {"lambda_name": "data-processor"}))


def test_without_recorded_answers_there_is_nothing_to_export(records: Records) -> None:
    with pytest.raises(EvidenceUnavailable, match="no recorded answers"):
        record(INCIDENT, replace(context(records), ledger=()), records)


@pytest.mark.parametrize("text", ["", "[]", '{"cassette": 3}', '{"cassette": 1, "incident": {}, "answers": []}'])
def test_anything_else_is_no_cassette(text: str) -> None:
    with pytest.raises(InputRefused, match="is no cassette"):
        cassette_from_json(text, name="x")
