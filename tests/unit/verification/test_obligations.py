"""A conclusion is proven only when what it needs is recorded; what contradicts it refuses it."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from affidavit.evidence.confidence import Level
from affidavit.evidence.diagnosis import Claim, Diagnosis, FaultType, Grade, ProducedBy
from affidavit.verification.assess import Assessment, assess, graded
from affidavit.verification.ledger_entry import Entry, make_entry
from affidavit.verification.obligations.evaluate import needs_of, obligations
from affidavit.verification.obligations.run_facts import RunEnd, read_run_facts

ROLE = "orders-role"
DENIED = (
    "[ERROR] ClientError: An error occurred (AccessDenied) when calling the GetObject operation: User: "
    f"arn:aws:sts::111111111111:assumed-role/{ROLE}/orders is not authorized to perform: s3:GetObject"
)
IAM: Mapping[str, Any] = {
    "role_name": ROLE,
    "inline_policies": {"read": {"Statement": [{"Effect": "Allow", "Action": "s3:ListBucket", "Resource": "*"}]}},
    "simulated_decisions": [{"action": "s3:GetObject", "resource": "*", "decision": "implicitDeny"}],
}


def events(*runs: str) -> list[dict[str, str]]:
    """One run a line, oldest first; an empty line is a good run."""
    found: list[dict[str, str]] = []
    for number, line in enumerate(runs):
        request_id = f"{number:08d}-0000-4000-8000-000000000000"
        said = [
            f"START RequestId: {request_id}",
            *([line] if line else []),
            f"REPORT RequestId: {request_id}\tDuration: 9 ms",
        ]
        found = [{"timestamp": f"2026-05-02T07:{number:02d}:00Z", "message": one} for one in reversed(said)] + found
    return found


def entries(
    *runs: str, metrics: Mapping[str, Any] | None = None, iam: Mapping[str, Any] = IAM, **config: Any
) -> list[Entry]:
    logs = {"events": events(*runs), "is_complete": True}
    own = {"FunctionName": "orders", "Metrics": metrics or {"errors": 1, "throttles": 0, "invocations": 9}, **config}
    return [
        make_entry("E-001", "get_recent_logs", {}, logs),
        make_entry("E-002", "get_iam_state", {}, iam),
        make_entry("E-003", "get_lambda_config", {}, own),
    ]


def told(
    cause: str,
    faults: Sequence[str],
    *evidence: Mapping[str, Any],
    by: ProducedBy = ProducedBy.CHAT_MODEL,
) -> Diagnosis:
    first = {
        "tool": "get_recent_logs",
        "field": "/events/1/message",
        "value": DENIED,
        "interpretation": "The call was denied.",
    }
    return Diagnosis.model_validate(
        {
            "root_cause": cause,
            "fault_types": list(faults),
            "affected_resources": ["orders"],
            "severity": "high",
            "evidence": list(evidence) or [first],
            "remediation_plan": [],
            "confidence": "high",
            "produced_by": by,
        }
    )


def found(diagnosis: Diagnosis, recorded: Sequence[Entry]) -> Assessment:
    return assess(diagnosis, recorded)


LOST = "The role orders-role is denied s3:GetObject."


def test_a_denial_of_our_role_that_a_decision_explains_is_proven() -> None:
    judged = found(told(LOST, ["permission_loss"]), entries(DENIED))
    assert (judged.problems, judged.open_obligations, judged.grade) == ((), (), Grade.PROVEN)


def test_a_denial_of_somebody_else_is_only_supported() -> None:
    judged = found(told(LOST, ["permission_loss"]), entries(DENIED, iam={**IAM, "role_name": "other-role"}))
    assert judged.grade is not Grade.PROVEN


def test_a_denial_that_nothing_explains_is_only_supported() -> None:
    allowed = {"role_name": ROLE, "inline_policies": {"read": {"Statement": [{"Effect": "Allow", "Action": "s3:*"}]}}}
    judged = found(told(LOST, ["permission_loss"]), entries(DENIED, iam=allowed))
    assert judged.open_obligations == ("permission_loss: no decision or policy explains the denial",)


@pytest.mark.parametrize("fault", [one.value for one in FaultType if one is not FaultType.PERMISSION_LOSS])
def test_true_pointers_prove_no_other_fault(fault: str) -> None:
    assert found(told(LOST, [fault]), entries(DENIED)).grade is not Grade.PROVEN


def test_a_second_fault_that_nothing_shows_keeps_it_from_being_proven() -> None:
    judged = found(told(LOST, ["permission_loss", "out_of_memory"]), entries(DENIED))
    assert judged.grade is Grade.SUPPORTED
    assert any(one.startswith("out_of_memory: no run ended") for one in judged.open_obligations)


def test_a_failing_run_that_no_fault_explains_is_told() -> None:
    judged = found(told(LOST, ["permission_loss"]), entries("[ERROR] KeyError: 'tenant'\nTraceback", DENIED))
    assert any("is not explained: it shows code_error" in one for one in judged.open_obligations)


def test_what_is_only_supported_has_low_confidence_and_names_what_is_open() -> None:
    diagnosis, recorded = told(LOST, ["permission_loss", "timeout"]), entries(DENIED)
    stored = graded(diagnosis, recorded, found(diagnosis, recorded))
    assert (stored.grade, stored.confidence.level) == (Grade.SUPPORTED, Level.LOW)
    assert set(stored.open_obligations) <= set(stored.confidence.gaps)


def test_an_open_obligation_from_before_is_kept() -> None:
    recorded = entries(DENIED)
    diagnosis = told(LOST, ["permission_loss"]).model_copy(update={"open_obligations": ("rules read it otherwise",)})
    assert graded(diagnosis, recorded, found(diagnosis, recorded)).grade is Grade.SUPPORTED


GOOD = {
    "tool": "get_recent_logs",
    "field": "/events/0/message",
    "value": "Duration: 9 ms",
    "interpretation": "The newest run.",
}


def test_over_needs_a_later_good_run() -> None:
    over = told("It is over: orders-role was denied s3:GetObject.", ["permission_loss"])
    assert found(over, entries(DENIED)).problems != ()
    cited = {**dict(over.evidence[0]), "field": "/events/5/message"}
    later = told("It is over: orders-role was denied s3:GetObject.", ["permission_loss"], cited)
    assert found(later, entries(DENIED, "", "")).problems == ()


def test_a_claim_of_an_end_cites_a_good_run_after_the_last_failure() -> None:
    over = {**GOOD, "claim": Claim.OVER}
    assert found(told(LOST, ["permission_loss"], {**over, "field": "/events/3/message"}), entries("", DENIED)).problems
    assert not found(told("It is over.", [], over), entries(DENIED, "")).problems


def test_nothing_is_wrong_needs_the_metric_and_every_failure_found() -> None:
    healthy = told("Nothing is wrong: the newest runs succeed.", [], GOOD)
    seen = entries("", "", metrics={"errors": 0, "throttles": 0, "invocations": 2})
    assert found(healthy, seen).grade is Grade.PROVEN
    counted = entries("", "", metrics={"errors": 7, "throttles": 0, "invocations": 9})
    assert "the metrics count 7 failed runs" in " ".join(found(healthy, counted).open_obligations)
    throttled = entries("", "", metrics={"errors": 0, "throttles": 31, "invocations": 2})
    assert found(healthy, throttled).grade is Grade.SUPPORTED
    unread = entries("", "", metrics={"throttles": 0})
    assert "was not read" in " ".join(found(healthy, unread).open_obligations)


def test_nothing_is_wrong_is_refused_when_the_newest_run_failed_or_none_may_start() -> None:
    healthy = told("Nothing is wrong: the newest runs succeed.", [], GOOD)
    assert found(healthy, entries("", DENIED)).problems
    assert found(healthy, entries("", "", ReservedConcurrentExecutions=0)).problems


def test_unknown_is_not_proven_when_a_failing_run_says_what_it_is() -> None:
    assert found(told("The cause is unknown.", ["unknown"]), entries(DENIED)).grade is not Grade.PROVEN


@pytest.mark.parametrize(
    "cause",
    ["There are no denials in the log.", "No run failed in that night.", "orders-role has an explicit Deny statement."],
)
def test_a_cause_that_denies_what_is_recorded_is_refused(cause: str) -> None:
    assert found(told(cause, ["permission_loss"]), entries(DENIED)).problems


def test_a_guess_of_a_chat_model_is_marked() -> None:
    judged = found(told(f"Perhaps {LOST}", ["permission_loss"]), entries(DENIED))
    assert "the cause is told as a guess" in judged.open_obligations


CHANGES = {
    "changes": [
        {"event_time": "2026-05-02T06:10:00Z", "event_name": "DeleteRolePolicy", "user": "janitor-bot"},
        {"event_time": "2026-05-02T06:40:00Z", "event_name": "PutRolePolicy", "user": "platform-ops"},
    ],
    "is_complete": True,
}


@pytest.mark.parametrize(
    ("cause", "is_refused"),
    [
        ("janitor-bot deleted the policy, so orders-role is denied s3:GetObject.", False),
        ("platform-ops deleted the policy, so orders-role is denied s3:GetObject.", True),
        ("janitor-bot restored the policy, yet orders-role is denied s3:GetObject.", True),
        ("A contractor deleted the policy, so orders-role is denied s3:GetObject.", True),
        ("The policy was changed after the first failure, orders-role is denied s3:GetObject.", True),
        ("No policy was changed, but orders-role is denied s3:GetObject.", True),
    ],
)
def test_what_is_said_of_changes_is_held_to_the_recorded_ones(cause: str, is_refused: bool) -> None:
    recorded = [*entries(DENIED), make_entry("E-004", "get_recent_changes", {}, CHANGES)]
    assert bool(found(told(cause, ["permission_loss"]), recorded).problems) is is_refused


def test_runs_are_told_apart_by_request_id_also_interleaved() -> None:
    one, two = "aaaaaaaa-0000-4000-8000-000000000000", "bbbbbbbb-0000-4000-8000-000000000000"
    lines = [
        f"START RequestId: {one}",
        f"START RequestId: {two}",
        f"2026-05-02T07:00:00Z {one} Task timed out after 3.00 seconds",
        f"REPORT RequestId: {one}\tStatus: timeout",
        f"REPORT RequestId: {two}\tDuration: 9 ms",
    ]
    runs = read_run_facts([{"timestamp": "2026-05-02T07:00:00Z", "message": line} for line in reversed(lines)])
    assert {run.request_id: run.end for run in runs} == {one: RunEnd.FAILED, two: RunEnd.WELL}
    assert runs[0].faults == {FaultType.TIMEOUT}


def test_every_fault_has_obligations() -> None:
    assert obligations()
    assert all(needs_of(fault) for fault in FaultType)
