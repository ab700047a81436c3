"""What is said not to be there, in many words: it holds only of an answer that looked everywhere."""

import pytest

from affidavit.evaluation.absences import ABSENCES
from affidavit.evidence.diagnosis import EvidencePointer
from affidavit.verification.entry import make_entry
from affidavit.verification.verify import verify_pointer

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
