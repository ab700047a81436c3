"""Confidence follows what was recorded, not what is claimed."""

import pytest
from tests.support.diagnoses import a_diagnosis, a_pointer

from affidavit.evidence.diagnosis import Diagnosis
from affidavit.incidents.ledger import Ledger
from affidavit.ports import JsonValue
from affidavit.verification.confidence import proven_confidence

OK: JsonValue = {"events": [], "is_complete": True}
FAILED: JsonValue = {"error": "AccessDenied"}
PARTLY: JsonValue = {"events": [], "not_read": [{"what": "older events", "why": "too many"}]}


def a_ledger(*answers: JsonValue) -> Ledger:
    ledger = Ledger()
    for number, answer in enumerate(answers):
        ledger.record(f"tool_{number}", {}, answer)
    return ledger


def without_gaps() -> Diagnosis:
    return a_diagnosis(a_pointer("tool_0", "/events", [])).model_copy(update={"gaps": ()})


@pytest.mark.parametrize(
    ("answers", "level"),
    [
        ((OK, OK), "high"),
        ((OK, PARTLY), "medium"),
        ((OK, FAILED), "medium"),
        ((OK, FAILED, PARTLY), "low"),
    ],
)
def test_what_failed_or_was_not_read_lowers_it(answers: tuple[JsonValue, ...], level: str) -> None:
    assert proven_confidence(without_gaps(), a_ledger(*answers).entries).level == level


def test_everything_missing_is_named() -> None:
    found = proven_confidence(without_gaps(), a_ledger(OK, FAILED, PARTLY).entries)
    assert found.gaps == (
        "tool_2 could not read older events: too many",
        "tool_1 reported an error: AccessDenied",
    )
    assert found.basis == "2 of 3 tool calls were answered, 1 piece of evidence verified"
