import json

import pytest

from affidavit.errors import EvidenceUnavailable, InputRefused
from affidavit.incidents.attempt.answer_ledger import Ledger
from affidavit.verification.ledger_entry import entry_from_json

ANSWER = {"events": [{"message": "Zugriff verweigert é 😀 \ud800", "n": 1.5}]}


def test_an_entry_comes_back_as_it_was_recorded() -> None:
    entry = Ledger().record("get_recent_logs", {"lambda_name": "f"}, ANSWER)
    assert entry_from_json(json.dumps(entry.as_json())) == entry


def test_the_same_call_with_the_same_answer_is_recorded_once() -> None:
    ledger = Ledger()
    first = ledger.record("get_recent_logs", {"lambda_name": "f"}, ANSWER)
    again = ledger.record("get_recent_logs", {"lambda_name": "f"}, dict(ANSWER))
    other = ledger.record("get_recent_logs", {"lambda_name": "g"}, ANSWER)
    assert (first.entry_id, again, other.entry_id) == ("E-001", first, "E-002")
    assert ledger.entries == (first, other)


def test_a_ledger_goes_on_where_an_earlier_one_stopped() -> None:
    first = Ledger().record("a", {}, 1)
    resumed = Ledger([first])
    assert resumed.record("a", {}, 1) == first
    assert resumed.record("b", {}, 1).entry_id == "E-002"


@pytest.mark.parametrize(("old", "new"), [("verweigert", "gewaehrt"), ("E-001", "E-0"), ('"f"', '"g"')])
def test_an_answer_that_was_changed_is_refused_or_told_apart(old: str, new: str) -> None:
    entry = Ledger().record("get_recent_logs", {"lambda_name": "f"}, ANSWER)
    raw = json.dumps(entry.as_json()).replace(old, new)
    if old == "E-001":
        assert entry_from_json(raw).sha256 == entry.sha256, "the id is a place, not content"
        return
    with pytest.raises(EvidenceUnavailable, match="changed after it was recorded"):
        entry_from_json(raw)


def test_a_number_that_json_does_not_know_is_refused() -> None:
    with pytest.raises(InputRefused):
        Ledger().record("a", {}, {"x": float("nan")})
