"""What leaves in a cassette: no secret, every answer, and a diagnosis that still holds."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from affidavit.adapters.local.objects import DirectoryObjectStore
from affidavit.errors import EvidenceUnavailable, InputRefused
from affidavit.evidence.diagnosis import Diagnosis, TokenUsage
from affidavit.incidents.cassette import cassette_from_json, cassette_to_json, record
from affidavit.incidents.context import Context
from affidavit.incidents.incident import Incident, IncidentId, Signal
from affidavit.incidents.ledger import Ledger
from affidavit.incidents.records import Records
from affidavit.verification.verify import verify

SECRET = "AKIAIOSFODNN7EXAMPLQ"  # made up, in the shape of one
LINE = f"login with {SECRET} was denied"
INCIDENT = Incident(
    incident_id=IncidentId("incident-1"),
    delivery_id="d",
    account="123456789012",
    region="ca-central-1",
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


def context(records: Records) -> Context:
    entry = Ledger().record("get_recent_logs", {"lambda_name": "data-processor"}, {"events": [{"message": LINE}]})
    return Context(
        incident_id=INCIDENT.incident_id,
        diagnosis=DIAGNOSIS,
        best_so_far=None,
        reasoning_chain=(),
        truncated=False,
        chain_key=None,
        ledger=(records.keep_entry(INCIDENT.incident_id, entry),),
        token_usage=TokenUsage(),
        llm_calls=1,
        tools_called=("get_recent_logs",),
        error_type="unknown",
        outcome="diagnosed",
    )


def test_no_secret_leaves_and_the_evidence_still_holds(records: Records) -> None:
    told = cassette_to_json(record(INCIDENT, context(records), records))
    assert SECRET not in told
    read = cassette_from_json(told, name="x")
    assert read.diagnosis is not None
    assert verify(read.diagnosis, read.entries).holds
    assert read.incident.may_join is None


def test_a_recorded_answer_comes_back_and_any_other_is_an_error(records: Records) -> None:
    read = record(INCIDENT, context(records), records)
    assert "events" in dict(read.answer("get_recent_logs", {"lambda_name": "data-processor"}))
    assert "error" in dict(read.answer("get_recent_logs", {"lambda_name": "other"}))
    assert "error" in dict(read.answer("get_iam_state", {"lambda_name": "data-processor"}))


def test_without_recorded_answers_there_is_nothing_to_export(records: Records) -> None:
    with pytest.raises(EvidenceUnavailable, match="no recorded answers"):
        record(INCIDENT, replace(context(records), ledger=()), records)


@pytest.mark.parametrize("text", ["", "[]", '{"cassette": 2}', '{"cassette": 1, "incident": {}, "answers": []}'])
def test_anything_else_is_no_cassette(text: str) -> None:
    with pytest.raises(InputRefused, match="is no cassette"):
        cassette_from_json(text, name="x")
