"""What a record needs is refused when it is missing: a default would be an invented value."""

from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from affidavit.evidence.diagnosis import Diagnosis, EvidencePointer, RemediationStep, TokenUsage
from affidavit.workloads.wire import LogEvent

POINTER = {
    "tool": "get_recent_logs",
    "field": "/events/0/message",
    "value": "denied",
    "interpretation": "It is denied.",
}
STEP = {"action": "Restore it", "details": "…", "evidence_basis": [0], "risk_level": "low", "requires_approval": False}
DIAGNOSIS = {
    "root_cause": "A policy is gone.",
    "fault_types": ["permission_loss"],
    "affected_resources": ["role"],
    "severity": "high",
    "evidence": [POINTER],
    "remediation_plan": [STEP],
    "confidence": "high",
}
USAGE = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
EVENT = {"timestamp": "2026-01-15T10:00:00.000Z", "message": "denied"}
NEEDED = [
    (record, shape, name)
    for record, shape in (
        (LogEvent, EVENT),
        (EvidencePointer, POINTER),
        (RemediationStep, STEP),
        (Diagnosis, DIAGNOSIS),
        (TokenUsage, USAGE),
    )
    for name in shape
]


@pytest.mark.parametrize(("record", "shape", "name"), NEEDED, ids=lambda one: one if isinstance(one, str) else "")
def test_a_record_without_one_of_its_fields_is_refused(
    record: type[BaseModel], shape: dict[str, Any], name: str
) -> None:
    record.model_validate(shape)
    with pytest.raises(ValidationError, match=name):
        record.model_validate({other: value for other, value in shape.items() if other != name})
