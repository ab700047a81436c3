"""Investigations made to order: recorded answers as the tools give them, and true pointers into them."""

import random
from collections.abc import Iterator

from affidavit.evidence.diagnosis import Diagnosis, EvidencePointer, RemediationStep
from affidavit.incidents.attempt.answer_ledger import Ledger
from affidavit.ports.json import JsonValue

ACTIONS = ("s3:GetObject", "s3:PutObject", "kms:Decrypt", "cloudwatch:PutMetricData", "dynamodb:PutItem")


def an_investigation(seed: int) -> Ledger:
    """Every leaf value is its own, so that a pointer changed in any way is a false one."""
    chance = random.Random(seed)
    ledger, name = Ledger(), f"data-processor-{seed}"
    ledger.record("get_recent_logs", {"lambda_name": name}, _logs(chance, name))
    ledger.record("get_iam_state", {"lambda_name": name}, _iam(chance, name))
    ledger.record("get_lambda_config", {"lambda_name": name}, _config(chance, name))
    return ledger


def leaves(value: JsonValue, field: str = "") -> Iterator[tuple[str, JsonValue]]:
    """Every text and number with its JSON Pointer."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, f"{field}/{key.replace('~', '~0').replace('/', '~1')}")
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from leaves(inner, f"{field}/{index}")
    elif value is not None and not isinstance(value, bool):
        yield field, value


def a_pointer(tool: str, field: str, value: JsonValue, interpretation: str = "it shows the fault") -> EvidencePointer:
    return EvidencePointer.model_validate(
        {"tool": tool, "field": field, "value": value, "interpretation": interpretation}
    )


def a_diagnosis(*pointers: EvidencePointer, basis: tuple[int, ...] = (0,)) -> Diagnosis:
    step = RemediationStep.model_validate(
        {
            "action": "restore the S3 policy",
            "details": "put back the statement that allows s3:GetObject",
            "evidence_basis": basis,
            "risk_level": "low",
            "requires_approval": True,
        }
    )
    return Diagnosis.model_validate(
        {
            "root_cause": "the role lost its S3 policy",
            "fault_types": ["permission_loss"],
            "affected_resources": ["data-processor"],
            "severity": "high",
            "evidence": [pointer.model_dump() for pointer in pointers],
            "remediation_plan": [step.model_dump()],
            "gaps": ["the network was not looked at"],
            "confidence": "medium",
        }
    )


def _logs(chance: random.Random, name: str) -> dict[str, JsonValue]:
    events: list[JsonValue] = []
    for number in range(chance.randint(3, 9)):
        request = f"{chance.getrandbits(64):016x}"
        action = chance.choice(ACTIONS)
        events.append(
            {
                "timestamp": f"2026-01-15T10:{number:02d}:{chance.randint(10, 59)}.{chance.randint(100, 999)}Z",
                "message": f"[ERROR] {request} AccessDenied: {name} is not authorized to perform {action} ({number})",
            }
        )
    return {
        "log_group": f"/aws/lambda/{name}",
        "events": events,
        "window": {"start": "2026-01-15T09:00:00Z", "end": "2026-01-15T10:30:00Z"},
        "is_complete": chance.random() < 0.5,
    }


def _iam(chance: random.Random, name: str) -> dict[str, JsonValue]:
    statement = {"Sid": f"Read{chance.getrandbits(32):x}", "Effect": "Allow", "Action": list(ACTIONS[:3])}
    return {
        "role_name": f"{name}-role",
        "inline_policies": {f"s3/access~{name}": {"Version": "2012-10-17", "Statement": [statement]}},
        "attached_policies": [f"arn:aws:iam::123456789012:policy/{name}-{chance.getrandbits(32):x}"],
    }


def _config(chance: random.Random, name: str) -> dict[str, JsonValue]:
    return {
        "FunctionName": name,
        "Runtime": "python3.12",
        "MemorySize": 1024 + chance.randint(1, 900),
        "Timeout": chance.randint(3, 60),
        "ReservedConcurrentExecutions": 100 + chance.randint(0, 800),
        "Metrics": {"max_duration_ms": round(chance.uniform(1_000, 9_000), 3)},
    }
