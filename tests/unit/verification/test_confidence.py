"""Confidence follows what was recorded, not what is claimed."""

import pytest
from tests.support.investigations.diagnoses import a_diagnosis, a_pointer

from affidavit.evidence.confidence import Confidence, Level
from affidavit.evidence.diagnosis import Diagnosis, FaultType
from affidavit.incidents.attempt.answer_ledger import Ledger
from affidavit.ports.json import JsonValue
from affidavit.verification.confidence import UNSTATED, proven_confidence, with_confidence

OK: JsonValue = {"events": [], "is_complete": True}
FAILED: JsonValue = {"error": "AccessDenied"}
PARTLY: JsonValue = {"events": [], "not_read": [{"what": "older events", "why": "too many"}]}


def a_ledger(*answers: JsonValue) -> Ledger:
    ledger = Ledger()
    for number, answer in enumerate(answers):
        ledger.record(f"tool_{number}", {}, answer)
    return ledger


def without_gaps() -> Diagnosis:
    return a_diagnosis(a_pointer("tool_0", "/events", [])).model_copy(update={"gaps": (), "confidence": UNSTATED})


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


@pytest.mark.parametrize("unread", [FAILED, PARTLY])
def test_who_changed_what_is_told_as_missing_and_lowers_nothing(unread: JsonValue) -> None:
    ledger = a_ledger(OK, OK)
    ledger.record("get_recent_changes", {}, unread)
    found = proven_confidence(without_gaps(), ledger.entries)
    assert found.level == "high"
    assert any(gap.startswith("get_recent_changes") for gap in found.gaps)


def test_everything_missing_is_named() -> None:
    found = proven_confidence(without_gaps(), a_ledger(OK, FAILED, PARTLY).entries)
    assert found.gaps == (
        "tool_2 could not read older events: too many",
        "tool_1 reported an error: AccessDenied",
    )
    assert found.basis == "2 of 3 tool calls were answered, 1 piece of evidence verified"


@pytest.mark.parametrize(("stated", "kept"), [(Level.HIGH, "medium"), (Level.MEDIUM, "medium"), (Level.LOW, "low")])
def test_whoever_wrote_it_may_be_less_sure_and_never_surer(stated: Level, kept: str) -> None:
    said = without_gaps().model_copy(update={"confidence": Confidence(level=stated, basis="", gaps=())})
    assert with_confidence(said, a_ledger(OK, PARTLY).entries).confidence.level == kept


def test_an_unknown_cause_is_never_sure() -> None:
    unknown = without_gaps().model_copy(update={"fault_types": (FaultType.UNKNOWN,)})
    assert with_confidence(unknown, a_ledger(OK, OK).entries).confidence.level == "low"
