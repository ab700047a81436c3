"""What is said not to be there, in many words: it holds only of an answer that looked everywhere."""

import pytest
from tests.support.investigations.diagnoses import a_pointer

from affidavit.evaluation.incidents.absence_sentences import ABSENCES
from affidavit.evidence.diagnosis import EvidencePointer
from affidavit.ports.json import JsonValue
from affidavit.verification.ledger_entry import make_entry
from affidavit.verification.pointer_check import verify_pointer

DENIED = "[ERROR] ClientError: User is not authorized to perform: s3:GetObject"
STARTED = "START RequestId: 9d862060 Version: $LATEST"


def holds(interpretation: str, value: str = STARTED, *, is_complete: bool = False) -> bool:
    answer = {"events": [{"message": value}], "is_complete": is_complete}
    entry = make_entry("E-001", "get_recent_logs", {}, answer)
    pointer = EvidencePointer(
        tool="get_recent_logs", field="/events/0/message", value=value, interpretation=interpretation
    )
    return verify_pointer(0, pointer, [entry], None).holds


@pytest.mark.parametrize("words", ABSENCES)
@pytest.mark.parametrize("value", [STARTED, DENIED])
def test_a_denial_of_what_was_not_read_does_not_hold_in_any_words(words: str, value: str) -> None:
    assert not holds(words, value)
    assert holds(words, value, is_complete=True)


@pytest.mark.parametrize(
    "words",
    [
        "The role may not read the object.",
        "The function is not authorized to perform s3:GetObject.",
        "Reading from S3 was refused: the statement that allowed it is missing.",
        "The error is AccessDenied.",
        "It cannot read its input.",
    ],
)
def test_what_the_quote_says_itself_may_be_said_of_it(words: str) -> None:
    assert holds(words, DENIED)


@pytest.mark.parametrize("words", ["A run began.", "The function was invoked and its run is logged here."])
def test_what_is_there_may_be_said_of_a_log_that_was_cut(words: str) -> None:
    assert holds(words)


def config_holds(field: str, value: JsonValue, interpretation: str) -> bool:
    metrics: JsonValue = {"throttles": 12, "errors": 0, "invocations": None}
    answer: JsonValue = {
        "State": "Active",
        "LastUpdateStatus": "Successful",
        "Timeout": 3,
        "Layers": [],
        "Metrics": metrics,
    }
    entry = make_entry("E-001", "get_lambda_config", {}, answer)
    pointer = a_pointer("get_lambda_config", field, value, interpretation)
    return verify_pointer(0, pointer, [entry], None).holds


def test_a_count_of_nought_shows_that_nothing_happened_and_no_other_number_does() -> None:
    assert config_holds("/Metrics/errors", 0, "No run failed: there are no errors.")
    assert not config_holds("/Metrics/throttles", 12, "There were no throttles.")
    assert config_holds("/Metrics/throttles", 12, "Calls were throttled.")


def test_a_count_that_nobody_made_shows_nothing() -> None:
    assert not config_holds("/Metrics/invocations", None, "No invocation failed.")


@pytest.mark.parametrize(("field", "value"), [("/Timeout", 3), ("/Metrics/throttles", 12)])
def test_a_setting_cannot_show_that_nothing_happened(field: str, value: JsonValue) -> None:
    assert not config_holds(field, value, "The function did not time out, and nothing crashed.")
    assert config_holds(field, value, "This is how it stands.")


def test_a_good_status_may_be_told_as_the_absence_of_a_bad_one() -> None:
    assert config_holds("/LastUpdateStatus", "Successful", "The last update did not fail.")


@pytest.mark.parametrize("value", [[{}], [[], ""], [{"message": "  "}], [None]])
def test_nothing_in_wrapping_is_nothing(value: JsonValue) -> None:
    for is_complete in (True, False):
        entry = make_entry("E-001", "get_recent_logs", {}, {"events": value, "is_complete": is_complete})
        pointer = a_pointer("get_recent_logs", "/events", value, "the events")
        assert verify_pointer(0, pointer, [entry], None).holds is is_complete


@pytest.mark.parametrize("omitted", [0, 17])
def test_a_message_that_was_cut_was_not_looked_at_everywhere(omitted: int) -> None:
    event: JsonValue = {"message": STARTED, "omitted_characters": omitted}
    entry = make_entry("E-001", "get_recent_logs", {}, {"events": [event], "is_complete": True})
    absent = a_pointer("get_recent_logs", "/events/0/message", STARTED, "There were no time-outs.")
    there = a_pointer("get_recent_logs", "/events/0/message", STARTED, "A run began.")
    assert verify_pointer(0, absent, [entry], None).holds is (omitted == 0)
    assert verify_pointer(0, there, [entry], None).holds
