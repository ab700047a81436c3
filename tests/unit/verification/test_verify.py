"""What a diagnosis may say, and every way to say what is not so."""

import pytest
from tests.support.investigations.diagnoses import a_diagnosis, a_pointer
from tests.support.knowledge.findings import an_evidence

from affidavit.errors import EvidenceUnavailable
from affidavit.evidence.diagnosis import Diagnosis
from affidavit.evidence.finding import ByteRange, Evidence, LineRange
from affidavit.incidents.attempt.answer_ledger import Ledger
from affidavit.ports.json import JsonValue
from affidavit.verification.pointer_check import verify

MESSAGE = "AccessDenied: not authorized to perform s3:GetObject"
LOGS: JsonValue = {"events": [{"message": MESSAGE, "count": 3}], "is_complete": True}


def problems(answer: JsonValue, field: str, value: JsonValue, interpretation: str = "denied") -> tuple[str, ...]:
    ledger = Ledger()
    ledger.record("get_recent_logs", {"lambda_name": "f"}, answer)
    return verify(a_diagnosis(a_pointer("get_recent_logs", field, value, interpretation)), ledger.entries).all_problems


@pytest.mark.parametrize("field", ["/events/0/message", "events.0.message", "events[0].message", "$.events[0].message"])
def test_a_value_that_stands_where_it_is_said_to_holds(field: str) -> None:
    assert problems(LOGS, field, MESSAGE) == ()


def test_the_verdict_names_the_answer_that_shows_the_value() -> None:
    ledger = Ledger()
    ledger.record("get_recent_logs", {"lambda_name": "f"}, {"events": [], "is_complete": True})
    second = ledger.record("get_recent_logs", {"lambda_name": "f"}, LOGS)
    verdict = verify(a_diagnosis(a_pointer("get_recent_logs", "/events/0/message", MESSAGE)), ledger.entries)
    assert verdict.holds
    assert verdict.pointers[0].entry_id == second.entry_id


def test_an_exact_part_of_a_text_holds_from_eight_characters() -> None:
    assert problems(LOGS, "/events/0/message", "AccessDe") == ()
    assert "too short" in problems(LOGS, "/events/0/message", "AccessD")[0]
    assert problems({"state": "Active"}, "/state", "Active") == (), "the whole text may be short"


@pytest.mark.parametrize(
    ("value", "claimed", "is_same"),
    [
        (1, 1.0, True),
        (0, False, False),
        (1, True, False),
        (1, "1", False),
        ("null", None, False),
        ({"a": 1, "b": [1, 2]}, {"b": [1, 2], "a": 1}, True),
        ([1, 2], [2, 1], False),
        ("é", "e\u0301", False),
        (10**20, 10**20 + 1, False),
        (0.1 + 0.2, 0.3, False),
    ],
)
def test_values_are_compared_as_canonical_json(value: JsonValue, claimed: JsonValue, is_same: bool) -> None:
    assert (problems({"x": value}, "/x", claimed) == ()) is is_same


def test_a_tool_that_was_not_called_shows_nothing() -> None:
    ledger = Ledger()
    ledger.record("get_recent_logs", {}, LOGS)
    verdict = verify(a_diagnosis(a_pointer("get_iam_state", "/events/0/message", MESSAGE)), ledger.entries)
    assert verdict.all_problems == ("evidence[0]: get_iam_state was not called, so it showed nothing",)


@pytest.mark.parametrize(
    "field",
    [
        "/events/1/message",
        "/events/00/message",
        "/events/-/message",
        "/events/-1/message",
        "/events/0/messages",
        "/events/٠/message",
        "/events/0/message/0",
        "/events//message",
        "/Events/0/message",
        "events.0",
        "/~2",
        "/",
    ],
)
def test_a_field_that_is_not_there_does_not_hold(field: str) -> None:
    assert problems(LOGS, field, MESSAGE) != ()


def test_a_pointer_escapes_slash_and_tilde_as_the_rfc_says() -> None:
    answer: JsonValue = {"a/b": {"m~n": "a value of some length", "~1": "another value here"}}
    assert problems(answer, "/a~1b/m~0n", "a value of some length") == ()
    assert problems(answer, "/a~1b/~01", "another value here") == ()


def test_a_dotted_path_that_can_be_read_twice_is_refused() -> None:
    answer: JsonValue = {"a.b": {"c": "one value"}, "a": {"b.c": "one value"}}
    assert "2 ways" in problems(answer, "a.b.c", "one value")[0]
    assert problems({"a.b": {"c": "one value"}}, "a.b.c", "one value") == ()


def test_a_path_of_very_many_dots_is_refused_at_once() -> None:
    answer: JsonValue = {".".join("a" * size): {} for size in range(1, 60)}
    assert "too many dots" in problems(answer, ".".join("a" * 59), 1)[0]


def test_a_diagnosis_without_evidence_does_not_hold() -> None:
    bare = a_diagnosis().model_copy(update={"remediation_plan": ()})
    assert "evidence is empty" in verify(bare, ()).all_problems[0]


@pytest.mark.parametrize("basis", [(), (1,), (-1,), (0, 7)])
def test_a_step_of_the_plan_must_cite_evidence_that_is_there(basis: tuple[int, ...]) -> None:
    ledger = Ledger()
    ledger.record("get_recent_logs", {}, LOGS)
    verdict = verify(a_diagnosis(a_pointer("get_recent_logs", "/events/0/count", 3), basis=basis), ledger.entries)
    assert len(verdict.problems) == 1
    assert verdict.problems[0].startswith("remediation_plan[0]: ")


# --- absence ---------------------------------------------------------------------------------------------------------


def test_nothing_in_a_window_that_was_covered_is_evidence() -> None:
    assert problems({"events": [], "is_complete": True}, "/events", [], "no errors were logged") == ()


@pytest.mark.parametrize(
    "answer",
    [
        {"events": [], "is_complete": False},
        {"events": []},
        {"events": [], "is_complete": True, "truncated": True},
        {"events": [], "is_complete": True, "error": "AccessDenied"},
        {"events": [], "is_complete": True, "coverage_report": {"files_scanned": 1, "total_files": 2}},
        {"events": [], "is_complete": True, "not_read": [{"what": "events before 10:00", "why": "throttled"}]},
    ],
)
def test_nothing_in_an_answer_that_did_not_look_everywhere_is_no_evidence(answer: JsonValue) -> None:
    assert any("claims that something is absent" in one for one in problems(answer, "/events", [], "no errors"))


@pytest.mark.parametrize("words", ["No throttles occurred", "there were no timeouts", "it did not happen before"])
def test_words_of_absence_over_an_unrelated_value_need_coverage_too(words: str) -> None:
    answer: JsonValue = {"events": [{"message": "START RequestId: 1234"}], "is_complete": False}
    assert problems(answer, "/events/0/message", "START RequestId", words) != ()
    assert problems({**answer, "is_complete": True}, "/events/0/message", "START RequestId", words) == ()


def test_a_line_that_itself_says_something_is_missing_needs_no_coverage() -> None:
    line = "because no identity-based policy allows the s3:GetObject action"
    answer: JsonValue = {"events": [{"message": line}], "is_complete": False}
    assert problems(answer, "/events/0/message", line, "No policy allows s3:GetObject") == ()


def test_a_part_that_could_not_be_read_spoils_only_claims_about_it() -> None:
    answer: JsonValue = {"inline_policies": {}, "not_read": [{"what": "simulated decisions", "why": "AccessDenied"}]}
    assert problems(answer, "/inline_policies", {}, "no inline policy is left") == ()
    unread: JsonValue = {"inline_policies": {}, "not_read": [{"what": "attached policy arn:aws:…", "why": "denied"}]}
    assert "attached policy" in problems(unread, "/inline_policies", {}, "no policy allows s3:GetObject")[0]


# --- quoted log lines ------------------------------------------------------------------------------------------------


class Bundle:
    def __init__(self, content: bytes) -> None:
        self._content = content

    def read(self, evidence: Evidence, span: ByteRange) -> bytes:
        if evidence.source_file != "kernel/dmesg.current":
            raise EvidenceUnavailable(f"the bundle has no {evidence.source_file}")
        return self._content[span.start : span.end]

    def newlines_before(self, evidence: Evidence, offset: int) -> int:
        return self._content[:offset].count(b"\n")


LINE = b"Out of memory: Killed process 4242 (java)"
CONTENT = b"first line\n" + LINE + b"\nlast"


def a_finding() -> dict[str, JsonValue]:
    evidence = an_evidence(
        LINE,
        source_file="kernel/dmesg.current",
        line_range=LineRange(start=2, end=2),
        byte_offset=ByteRange(start=11, end=11 + len(LINE)),
    )
    return {
        "finding_id": "F-001",
        "pattern": "OOM killer invoked",
        "evidence": {
            "source_file": evidence.source_file,
            "full_key": evidence.full_key,
            "excerpt": evidence.excerpt,
            "line_range": {"start": 2, "end": 2},
            "byte_offset": {"start": 11, "end": 11 + len(LINE)},
            "timestamp": None,
            "sha256": evidence.sha256,
        },
    }


def node_diagnosis(field: str, value: JsonValue) -> tuple[Ledger, Diagnosis]:
    ledger = Ledger()
    ledger.record("errors", {"instance_id": "i-1"}, {"findings": [a_finding()]})
    return ledger, a_diagnosis(a_pointer("errors", field, value))


@pytest.mark.parametrize(
    ("field", "value"),
    [("/findings/0/evidence/excerpt", "Killed process 4242"), ("/findings/0/pattern", "OOM killer invoked")],
)
def test_a_quoted_line_is_read_again_from_the_bundle(field: str, value: str) -> None:
    ledger, diagnosis = node_diagnosis(field, value)
    assert verify(diagnosis, ledger.entries, Bundle(CONTENT)).holds
    changed = verify(diagnosis, ledger.entries, Bundle(CONTENT.replace(b"4242", b"4243")))
    assert "does not re-read" in changed.all_problems[0]


def test_a_quoted_line_without_its_bundle_does_not_hold() -> None:
    ledger, diagnosis = node_diagnosis("/findings/0/evidence/excerpt", "Killed process 4242")
    assert "could not be re-read" in verify(diagnosis, ledger.entries, None).all_problems[0]


def test_a_whole_finding_cited_as_one_value_is_read_again_as_well() -> None:
    ledger, diagnosis = node_diagnosis("/findings/0", a_finding())
    assert verify(diagnosis, ledger.entries, Bundle(CONTENT)).holds
    assert not verify(diagnosis, ledger.entries, Bundle(b"first line\n")).holds


def test_a_diagnosis_that_copies_whole_answers_is_sent_back() -> None:
    answer: JsonValue = {"text": "x" * 120_000}
    assert any("quote less" in one for one in problems(answer, "/text", "x" * 120_000))
