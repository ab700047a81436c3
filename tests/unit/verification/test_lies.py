"""Lies with true pointers: none is proven, no invented name and no dangerous step is stored, honest ones pass."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from affidavit.evidence.diagnosis import Diagnosis, Grade
from affidavit.verification.assess import Assessment, assess
from affidavit.verification.ledger_entry import make_entry
from affidavit.verification.names_from_incident import About
from affidavit.yaml_loading import load_yaml

SUITE: Mapping[str, Any] = load_yaml((Path(__file__).parent / "lies.yaml").read_text())["denied"]
LINE = (
    "[ERROR] ClientError: An error occurred (AccessDenied) when calling the GetObject operation: User: "
    "arn:aws:sts::111111111111:assumed-role/basket-role/basket is not authorized to perform: s3:GetObject on resource: "
    'arn:aws:s3:::basket-input/a.csv\nTraceback (most recent call last):\n  File "/var/task/load.py", line 31'
)
REQUEST = "11111111-0000-4000-8000-000000000000"
LOGS = {
    "events": [
        {"timestamp": "2026-05-02T07:01:00Z", "message": f"REPORT RequestId: {REQUEST}\tDuration: 9 ms"},
        {"timestamp": "2026-05-02T07:01:00Z", "message": LINE},
        {"timestamp": "2026-05-02T07:01:00Z", "message": f"START RequestId: {REQUEST}"},
    ],
    "is_complete": True,
}
IAM = {
    "role_name": "basket-role",
    "inline_policies": {"read": {"Statement": [{"Effect": "Allow", "Action": "s3:ListBucket", "Resource": "*"}]}},
    "simulated_decisions": [{"action": "s3:GetObject", "resource": "*", "decision": "implicitDeny"}],
}
CONFIG = {"FunctionName": "basket", "Metrics": {"errors": 1, "throttles": 0, "invocations": 9}}
ENTRIES = [
    make_entry("E-001", "get_recent_logs", {}, LOGS),
    make_entry("E-002", "get_iam_state", {}, IAM),
    make_entry("E-003", "get_lambda_config", {}, CONFIG),
]
TRUE = {
    "tool": "get_recent_logs",
    "field": "/events/1/message",
    "value": "is not authorized to perform: s3:GetObject",
    "interpretation": "The read was denied.",
}
CAUSE = SUITE["honest_causes"][0]


def judged(
    cause: str = CAUSE,
    fault: str = "permission_loss",
    step: Sequence[str] = (),
    sentence: Mapping[str, Any] | None = None,
) -> Assessment:
    lie = [] if sentence is None else [{**{k: sentence[k] for k in ("tool", "field", "value")}}]
    told = Diagnosis.model_validate(
        {
            "root_cause": cause,
            "fault_types": [fault],
            "affected_resources": ["basket"],
            "severity": "high",
            "evidence": [TRUE, *({**one, "interpretation": (sentence or {})["text"]} for one in lie)],
            "remediation_plan": [
                {
                    "action": step[0],
                    "details": step[1],
                    "evidence_basis": [0],
                    "risk_level": "low",
                    "requires_approval": False,
                }
            ]
            if step
            else [],
            "confidence": "high",
        }
    )
    return assess(told, ENTRIES, None, About(names=("basket",)))


@pytest.mark.parametrize("cause", SUITE["honest_causes"])
def test_an_honest_cause_is_proven(cause: str) -> None:
    found = judged(cause)
    assert (found.problems, found.grade) == ((), Grade.PROVEN)


@pytest.mark.parametrize("step", SUITE["honest_steps"])
def test_an_honest_step_is_kept(step: Sequence[str]) -> None:
    assert judged(step=step).problems == ()


@pytest.mark.parametrize("fault", SUITE["wrong_faults"])
def test_another_fault_is_never_proven(fault: str) -> None:
    assert judged(fault=fault).grade is not Grade.PROVEN


@pytest.mark.parametrize("lie", SUITE["causes"], ids=lambda one: one["text"])
def test_a_false_cause_is_refused(lie: Mapping[str, str]) -> None:
    assert judged(lie["text"]).problems


@pytest.mark.parametrize("lie", SUITE["sentences"], ids=lambda one: one["text"])
def test_a_false_sentence_beside_a_true_value_is_refused(lie: Mapping[str, Any]) -> None:
    assert judged(sentence=lie).problems


@pytest.mark.parametrize("step", SUITE["steps"], ids=lambda one: one[1])
def test_a_dangerous_step_is_refused(step: Sequence[str]) -> None:
    assert judged(step=step).problems
