"""Whatever JSON a tool answers: what stands there holds, what does not is refused, and nothing breaks the verifier."""

import json
import math
import unicodedata

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from tests.support.investigations.diagnoses import a_diagnosis, a_pointer

from affidavit.evidence.diagnosis import Diagnosis
from affidavit.incidents.attempt.answer_ledger import Ledger
from affidavit.ports.json import JsonValue
from affidavit.verification.canonical_json import canonical
from affidavit.verification.ledger_entry import entry_from_json
from affidavit.verification.pointer_check import verify
from affidavit.verification.pointer_lookup import Located, locate

# A busy machine is no reason to fail.
UNHURRIED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
# Keys with slash, tilde, dot and digits are the ones a path can be misread at.
KEYS = st.text("ab/~.01", max_size=4) | st.text(max_size=4)
JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)
ANSWERS = st.dictionaries(KEYS.filter(lambda key: key not in ("error", "events")), JSON, min_size=1, max_size=4)


def holds(answer: JsonValue, field: str, value: JsonValue) -> bool:
    """The verdict now, which must be the verdict on what a store gives back later."""
    ledger = Ledger()
    entry = ledger.record("tool", {}, answer)
    diagnosis = a_diagnosis(a_pointer("tool", field, value))
    now = verify(diagnosis, ledger.entries).holds
    stored = Diagnosis.model_validate_json(diagnosis.model_dump_json())
    assert verify(stored, [entry_from_json(json.dumps(entry.as_json()))]).holds is now
    return now


def places(value: JsonValue, field: str = "") -> list[tuple[str, JsonValue]]:
    inner: list[tuple[str, JsonValue]] = []
    if isinstance(value, dict):
        inner = [(key.replace("~", "~0").replace("/", "~1"), one) for key, one in value.items()]
    elif isinstance(value, list):
        inner = [(str(index), one) for index, one in enumerate(value)]
    return [(field, value), *(found for token, one in inner for found in places(one, f"{field}/{token}"))]


@UNHURRIED
@given(answer=ANSWERS, data=st.data())
def test_every_value_of_every_answer_holds_at_its_own_place(answer: JsonValue, data: st.DataObject) -> None:
    field, value = data.draw(st.sampled_from(places(answer)))
    assert holds(answer, field, value)


@UNHURRIED
@given(answer=ANSWERS, claimed=JSON, data=st.data())
def test_any_other_value_is_refused_there(answer: JsonValue, claimed: JsonValue, data: st.DataObject) -> None:
    field, value = data.draw(st.sampled_from(places(answer)))
    is_part = isinstance(claimed, str) and isinstance(value, str) and claimed in value
    assume(not is_part and canonical(claimed) != canonical(value))
    assert not holds(answer, field, claimed)


@UNHURRIED
@given(answer=ANSWERS, field=st.text("ab/~.01$[]-", max_size=12), value=JSON)
def test_no_path_breaks_the_verifier_and_what_it_finds_is_there(
    answer: JsonValue, field: str, value: JsonValue
) -> None:
    located = locate(field, answer)
    there = isinstance(located, Located) and canonical(located.value) == canonical(value)
    if holds(answer, field, value):
        assert there or (isinstance(value, str) and len(value) >= 8)


@pytest.mark.parametrize("text", ["0", "-0", "-0.0", "0e9"])
def test_nought_is_nought_however_it_is_written(text: str) -> None:
    assert holds({"n": 0}, "/n", json.loads(text))


@pytest.mark.parametrize("text", ["100", "100.0", "1e2", "1E+2", "10000e-2"])
def test_a_number_is_itself_in_every_spelling(text: str) -> None:
    assert holds({"n": 100}, "/n", json.loads(text))
    assert not holds({"n": 101}, "/n", json.loads(text))


@pytest.mark.parametrize("claimed", ["100", "", False, None, [100], {"n": 100}, 100.00000000000001])
def test_a_number_is_nothing_else(claimed: JsonValue) -> None:
    assert not holds({"n": 100}, "/n", claimed)


def test_neighbours_beyond_the_precision_of_floats_are_told_apart() -> None:
    assert not holds({"n": 2**53}, "/n", 2**53 + 1)


@pytest.mark.parametrize("text", ["café au lait", "Å is a unit", "ﬁne ligature", "한글 메시지 로그"])
def test_text_in_another_normal_form_is_another_text(text: str) -> None:
    for form in ("NFC", "NFD", "NFKC", "NFKD"):
        other = unicodedata.normalize(form, text)  # pyright: ignore[reportArgumentType] - one of the four
        assert holds({"t": text}, "/t", other) is (other == text)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, "half \ud800 a pair", ["\udfff"], {"\ud800": 1}])
def test_what_no_store_can_keep_is_refused_where_it_can_be_sent_back(value: JsonValue) -> None:
    with pytest.raises(ValidationError, match=r"finite|surrogate|unicode"):
        a_pointer("tool", "/a", value)


def test_a_quote_beside_half_a_character_holds() -> None:
    assert holds({"t": "Task timed out \ud800 after 3.00 seconds"}, "/t", "Task timed out")


def test_spaces_are_no_quote() -> None:
    assert not holds({"t": f"a table{' ' * 20}of numbers"}, "/t", " " * 12)
    assert holds({"t": "a table of numbers"}, "/t", "table of ")


def test_a_key_given_twice_is_read_once_and_the_same_by_everybody() -> None:
    answer = json.loads('{"State": "Active", "Timeout": 3, "State": "Failed"}')
    assert holds(answer, "/State", "Failed")
    assert not holds(answer, "/State", "Active")


# --- answers that are no answers -------------------------------------------------------------------------------------

DENIED: JsonValue = {"error": "AccessDenied: not authorized to perform iam:GetRole", "hint": "allow the reader to"}


@pytest.mark.parametrize(
    ("field", "value"),
    [("/error", "not authorized to perform iam:GetRole"), ("/hint", "allow the reader to"), ("", DENIED)],
)
def test_an_error_of_the_tool_is_no_evidence_about_the_function(field: str, value: JsonValue) -> None:
    assert not holds(DENIED, field, value)


def test_what_was_read_before_an_error_is_evidence() -> None:
    answer: JsonValue = {"events": [{"message": "Task timed out after 3.00 seconds"}], "error": "throttled at page 2"}
    assert holds(answer, "/events/0/message", "Task timed out")
    assert not holds(answer, "/error", "throttled at page 2")


def test_a_null_error_is_no_error() -> None:
    assert holds({"error": None, "State": "Failed"}, "/State", "Failed")
