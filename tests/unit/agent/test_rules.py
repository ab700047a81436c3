"""Rules over what tools answered: the exact faults of every scenario, and no health without proof."""

from typing import Any

import pytest
from tests.support.investigations.workload_scenarios import SCENARIOS, answers_of, each_scenario

from affidavit.agent.rules import best_so_far, raised_by
from affidavit.agent.rules.permissions.policies import Says, judge
from affidavit.agent.rules.run_history import history
from affidavit.evaluation.incidents.workload_scenarios import NOW, WorkloadScenario
from affidavit.evidence.confidence import Level
from affidavit.evidence.diagnosis import Diagnosis, FaultType, Grade, ProducedBy
from affidavit.incidents.attempt.answer_ledger import Ledger
from affidavit.incidents.attempt.incident_for_verification import about_incident
from affidavit.incidents.incident import Incident
from affidavit.incidents.intake.event_reader import readings_of
from affidavit.verification.assess import assess, graded
from affidavit.verification.pointer_check import verify
from affidavit.workloads.logs import ONLY_NEWEST
from affidavit.workloads.wire import TOOL_ARG_SCHEMAS


def ledger_of(scenario: WorkloadScenario, *tools: str) -> Ledger:
    ledger, answers = Ledger(), answers_of(scenario)
    for tool in tools or TOOL_ARG_SCHEMAS:
        ledger.record(tool, {"lambda_name": scenario.function}, answers[tool])
    return ledger


def incident_of(scenario: WorkloadScenario) -> Incident:
    (incident,) = readings_of(scenario.event(), now=NOW)
    assert isinstance(incident, Incident)
    return incident


@each_scenario
def test_the_rules_find_exactly_the_faults_of_a_scenario(scenario: WorkloadScenario) -> None:
    entries = ledger_of(scenario).entries
    diagnosis = best_so_far(entries, raised=raised_by(incident_of(scenario)))
    assert diagnosis is not None
    assert set(diagnosis.fault_types) == set(scenario.truth.fault_types)
    assert diagnosis.produced_by is ProducedBy.RULES
    assert verify(diagnosis, entries).holds
    said = f"{diagnosis.root_cause} {diagnosis.remediation_plan} {diagnosis.affected_resources}"
    assert not [bait for bait in scenario.truth.must_not_say if bait in said]
    for words in scenario.truth.root_cause_names:
        assert any(word.lower() in diagnosis.root_cause.lower() for word in words.split("|"))


def confidence_of(scenario: WorkloadScenario) -> Level:
    diagnosis = best_so_far(ledger_of(scenario).entries, raised=raised_by(incident_of(scenario)))
    assert diagnosis is not None
    return diagnosis.confidence.level


def grade_of(scenario: WorkloadScenario) -> Grade | None:
    entries, incident = ledger_of(scenario).entries, incident_of(scenario)
    diagnosis = best_so_far(entries, raised=raised_by(incident))
    assert diagnosis is not None
    return graded(diagnosis, entries, assess(diagnosis, entries, None, about_incident(incident))).grade


@pytest.mark.parametrize(
    "name",
    [
        "permission-s3-bare-access-denied",  # the refusal names its operation alone
        "both-network-and-permission",  # a rule that leads to addresses inside opens no way out; the denial was caught
        "herring-old-denials-memory",  # what stopped many runs ago needs no explanation
        "dead-letter-errors-two",  # no run is denied: the metric and the policies show it
        "permission-role-deleted",  # a rule's cause need not speak of policies
        "py-timeout-slow-upstream",  # a run that ran out of time said before what it waited for
    ],
)
def test_what_is_shown_in_full_is_proven(name: str) -> None:
    assert grade_of(SCENARIOS[name]) is Grade.PROVEN


@pytest.mark.slow
def test_most_known_causes_are_proven_and_an_unknown_one_never_is() -> None:
    grades = {name: grade_of(one) for name, one in SCENARIOS.items()}
    unknown = [name for name, one in SCENARIOS.items() if FaultType.UNKNOWN in one.truth.fault_types]
    # What the rules themselves are unsure of is never proven.
    unsure = [name for name, one in SCENARIOS.items() if confidence_of(one) is Level.LOW]
    known = [grade for name, grade in grades.items() if name not in {*unknown, *unsure}]
    assert {grades[name] for name in {*unknown, *unsure}} == {Grade.SUPPORTED}
    # Of those that can be known: a cause that nobody logged is no failing of the rules.
    assert len(known) > 0.85 * (len(SCENARIOS) - len(unknown))
    assert None not in known and known.count(Grade.PROVEN) >= 0.95 * len(known)


@pytest.mark.slow
@pytest.mark.parametrize("left_out", list(TOOL_ARG_SCHEMAS))
@each_scenario
def test_with_a_tool_unanswered_no_fault_is_claimed_that_is_not_there(
    scenario: WorkloadScenario, left_out: str
) -> None:
    """Less evidence may mean fewer faults or an effect instead of its cause, but none that the truth rules out."""
    entries = ledger_of(scenario, *(tool for tool in TOOL_ARG_SCHEMAS if tool != left_out)).entries
    diagnosis = best_so_far(entries)
    if diagnosis is not None:
        assert verify(diagnosis, entries).holds
        claimed = set(diagnosis.fault_types) - {FaultType.UNKNOWN}
        assert not claimed & set(scenario.truth.must_not_claim)
        if not diagnosis.fault_types:
            assert left_out not in ("get_recent_logs", "get_lambda_config")


def test_nothing_recorded_proves_nothing() -> None:
    assert best_so_far(()) is None


def test_only_errors_prove_nothing() -> None:
    ledger = Ledger()
    for tool in TOOL_ARG_SCHEMAS:
        ledger.record(tool, {"lambda_name": "f"}, {"error": "AccessDenied"})
    assert best_so_far(ledger.entries) is None


def test_an_empty_log_is_not_health() -> None:
    ledger = Ledger()
    ledger.record("get_recent_logs", {"lambda_name": "f"}, {"log_group": "g", "events": [], "is_complete": True})
    ledger.record("get_lambda_config", {"lambda_name": "f"}, {"FunctionName": "f", "State": "Active"})
    assert best_so_far(ledger.entries) is None


def _run(number: int, line: str | None) -> list[dict[str, str]]:
    name = f"00000000-0000-4000-8000-{number:012d}"
    said = [line] if line else []
    return [
        {"message": text}
        for text in (
            f"START RequestId: {name}",
            *said,
            f"END RequestId: {name}",
            f"REPORT RequestId: {name}\tDuration: 1 ms",
        )
    ]


def _history(*lines: str | None):
    events = [event for number, line in enumerate(lines) for event in _run(number, line)]
    return history(list(reversed(events)))


def test_a_fault_that_stopped_many_runs_ago_is_over() -> None:
    past = _history("[ERROR] TypeError: x", *[None] * 6)
    assert past.current("code") == []
    assert [reason.label for reason in past.newest_reasons()] == ["language-error-by-name"]


def test_a_fault_that_comes_every_few_runs_is_not_over_between_two() -> None:
    flapping = [("[ERROR] TypeError: x" if number % 5 == 0 else None) for number in range(21)]
    assert _history(*flapping, *[None] * 4).current("code")


def test_words_a_program_logs_as_information_are_no_sign() -> None:
    assert _history("[INFO]\t2026\tid\t[ERROR] TypeError: only told").current("code") == []


ALLOW = {"Statement": [{"Effect": "Allow", "Action": "s3:Get*", "Resource": "arn:aws:s3:::a/*"}]}
DENY = {"Statement": {"Effect": "Deny", "NotAction": ["sns:*"], "Resource": "*"}}
CONDITIONAL = {"Statement": [{"Effect": "Deny", "Action": "*", "Resource": "*", "Condition": {"Bool": {"x": "true"}}}]}


@pytest.mark.parametrize(
    ("documents", "action", "resource", "said"),
    [
        ([ALLOW], "s3:GetObject", "arn:aws:s3:::a/x", Says.ALLOWS),
        ([ALLOW], "S3:getobject", "arn:aws:s3:::a/x", Says.ALLOWS),
        ([ALLOW], "s3:GetObject", "arn:aws:s3:::b/x", Says.SILENT),
        ([ALLOW], "s3:PutObject", None, Says.SILENT),
        ([ALLOW, DENY], "s3:GetObject", "arn:aws:s3:::a/x", Says.DENIES),
        ([DENY], "sns:Publish", "*", Says.SILENT),
        ([CONDITIONAL], "s3:GetObject", "*", Says.OPEN),
        ([], "s3:GetObject", "*", Says.SILENT),
    ],
)
def test_policies_add_up_as_iam_adds_them(documents, action: str, resource: str | None, said: Says) -> None:
    assert judge(documents, action, resource) is said


def test_permission_faults_name_the_action() -> None:
    found = best_so_far(ledger_of(SCENARIOS["permission-s3-and-cloudwatch"]).entries)
    assert found is not None
    assert found.fault_types == (FaultType.PERMISSION_LOSS,)
    assert "s3:GetObject" in found.root_cause
    assert "cloudwatch:PutMetricData" in found.root_cause


# --- a denial that IAM no longer confirms ----------------------------------------------------------------------------

KEY = "arn:aws:s3:::inbox/input.json"
DENIED = (
    "[ERROR] AccessDenied: role is not authorized to perform: s3:GetObject because no identity-based policy allows it"
)
DENIED_ON = DENIED.replace(" because", f' on resource: "{KEY}" because')
READS = {"Statement": [{"Effect": "Allow", "Action": "s3:GetObject", "Resource": "arn:aws:s3:::inbox/*"}]}


def after_a_denial(denied: str, *, is_newest: bool, decision: str | None, concurrency: int = 0) -> Diagnosis:
    """The policy is there; `decision` is IAM's simulator's, if it could be asked."""
    lines = [None, denied] if is_newest else [denied, None]
    events = [event for number, line in reversed(list(enumerate(lines))) for event in reversed(_run(number, line))]
    simulated = [{"action": "s3:GetObject", "resource": KEY, "decision": decision}] if decision else []
    iam = {"role_name": "reader", "inline_policies": {"read": READS}, "attached_policies": []}
    config = {"FunctionName": "f", "ReservedConcurrentExecutions": concurrency}
    ledger = Ledger()
    ledger.record("get_recent_logs", {}, {"log_group": "g", "events": events, "is_complete": True})
    ledger.record("get_iam_state", {}, {**iam, "simulated_decisions": simulated})
    ledger.record("get_lambda_config", {}, config)
    diagnosis = best_so_far(ledger.entries)
    assert diagnosis is not None
    return diagnosis


def test_a_denial_that_iam_takes_back_and_the_newest_run_does_not_meet_is_over() -> None:
    diagnosis = after_a_denial(DENIED_ON, is_newest=False, decision="allowed")
    assert diagnosis.fault_types == (FaultType.THROTTLING,)
    assert "s3:GetObject" not in diagnosis.root_cause


@pytest.mark.parametrize(("denied", "decision"), [(DENIED_ON, "allowed"), (DENIED_ON, None), (DENIED, None)])
def test_a_policy_that_allows_what_the_log_denies_is_not_said_to_be_missing(denied: str, decision: str | None) -> None:
    diagnosis = after_a_denial(denied, is_newest=True, decision=decision)
    assert FaultType.PERMISSION_LOSS in diagnosis.fault_types
    said = " ".join((diagnosis.root_cause, *(step.details for step in diagnosis.remediation_plan)))
    assert "allow it by now" in said
    assert "no policy" not in said
    assert "no permission" not in said
    assert "Put back" not in said


def test_a_denial_that_iam_still_confirms_is_not_over_after_one_good_run() -> None:
    diagnosis = after_a_denial(DENIED_ON, is_newest=False, decision="implicitDeny")
    assert "no policy of reader allows it" in diagnosis.root_cause


def test_a_decision_on_another_resource_takes_no_denial_back() -> None:
    other = DENIED_ON.replace("input.json", "other.json")
    diagnosis = after_a_denial(other, is_newest=False, decision="allowed")
    assert FaultType.PERMISSION_LOSS in diagnosis.fault_types


# --- a denial that names no resource, which nobody can simulate ------------------------------------------------------

READING = "[INFO]\t2026-03-03T10:0{0}:00Z\t{0}\treading s3://inbox/{0}.json"
IDLE = "[INFO]\t2026-03-03T10:00:00Z\t7\tnothing to do"
BARE = "[ERROR] ClientError: An error occurred (AccessDenied) when calling the GetObject operation: Access Denied"
ALLOWED: dict[str, Any] = {"role_name": "reader", "inline_policies": {"read": READS}, "attached_policies": []}


def after_runs(
    *runs: tuple[str, ...], iam: dict[str, Any] = ALLOWED, is_first_cut: bool = False, **logs: Any
) -> Diagnosis:
    """Each run is the lines it wrote, oldest run first. Reserved concurrency is zero, so one fault there is always."""
    messages: list[str] = []
    for number, lines in enumerate(runs):
        name = f"00000000-0000-4000-8000-{number:012d}"
        messages += [f"START RequestId: {name}", *lines, f"END RequestId: {name}", f"REPORT RequestId: {name}\tD: 1 ms"]
    events = [{"message": message} for message in reversed(messages[2:] if is_first_cut else messages)]
    ledger = Ledger()
    ledger.record("get_recent_logs", {}, {"log_group": "g", "events": events, "is_complete": True, **logs})
    ledger.record("get_iam_state", {}, iam)
    ledger.record("get_lambda_config", {}, {"FunctionName": "f", "ReservedConcurrentExecutions": 0})
    diagnosis = best_so_far(ledger.entries)
    assert diagnosis is not None
    return diagnosis


FAILED_READ = (READING.format(1), DENIED)
BARE_READ = (READING.format(1), BARE)
READ = (READING.format(2), "[INFO]\tprocessed 12 rows")
UNREACHED_READ = (
    READING.format(3),
    '[ERROR] ConnectTimeoutError: Connect timeout on endpoint URL: "https://sns.ca-central-1.amazonaws.com/"',
)


@pytest.mark.parametrize(
    "runs",
    [
        (FAILED_READ, READ),
        (BARE_READ, READ),
        (READ, FAILED_READ, FAILED_READ, READ),
        (FAILED_READ, READ, (IDLE,)),
        ((DENIED,), (), ()),
        ((DENIED, "Traceback (most recent call last):", DENIED), (), ()),
    ],
    ids=["read again", "without a reason", "one outbreak", "idle since", "silent, reason gone", "logged twice"],
)
def test_a_denial_is_over_once_a_run_has_done_again_what_was_denied(runs: tuple[tuple[str, ...], ...]) -> None:
    diagnosis = after_runs(*runs)
    assert diagnosis.fault_types == (FaultType.THROTTLING,)
    assert any("earlier denial of s3:GetObject" in one.interpretation for one in diagnosis.evidence)


def test_a_denial_that_is_over_is_none_even_when_something_else_fails_now() -> None:
    assert FaultType.PERMISSION_LOSS not in after_runs(FAILED_READ, READ, UNREACHED_READ).fault_types


ONLY_OLDER = {"is_complete": False, "truncated": True, "not_read": [{"what": "older events", "why": ONLY_NEWEST}]}
HOLES = {"is_complete": False, "not_read": [*ONLY_OLDER["not_read"], {"what": "some newer events", "why": "too many"}]}


def test_older_events_that_are_not_shown_keep_no_denial_alive_whose_reason_is_gone() -> None:
    assert after_runs(FAILED_READ, READ, **ONLY_OLDER).fault_types == (FaultType.THROTTLING,)
    cut = after_runs(FAILED_READ, FAILED_READ, READ, is_first_cut=True, **ONLY_OLDER)
    assert cut.fault_types == (FaultType.THROTTLING,)


@pytest.mark.parametrize(
    ("runs", "logs"),
    [((BARE_READ, READ), ONLY_OLDER), ((FAILED_READ, READ), HOLES), ((FAILED_READ, READ), {"is_first_cut": True})],
    ids=["older outbreaks may be there", "newer events are missing", "what the denied run did is not shown"],
)
def test_where_more_than_that_is_missing_it_stays(runs: tuple[tuple[str, ...], ...], logs: dict[str, Any]) -> None:
    assert FaultType.PERMISSION_LOSS in after_runs(*runs, **logs).fault_types


def test_that_silent_runs_did_what_was_denied_is_a_gap() -> None:
    assert any("log nothing of their own" in gap for gap in after_runs((DENIED,), (), ()).gaps)
    assert not any("log nothing" in gap for gap in after_runs(FAILED_READ, READ).gaps)


def without_grant(**change: Any) -> dict[str, Any]:
    return {**ALLOWED, **change}


CONDITION = {"Statement": [{**READS["Statement"][0], "Condition": {"Bool": {"aws:SecureTransport": "true"}}}]}
FREEZE = {"Statement": [{"Effect": "Deny", "Action": "s3:*", "Resource": "*"}]}
UNTOLD = "[ERROR] AccessDenied: role is not authorized to perform: sns:Publish on resource: arn:aws:sns:::t because x"
TELL = {"Statement": [{"Effect": "Allow", "Action": "sns:Publish", "Resource": "*"}]}
OTHER_BUCKET = (READING.format(2).replace("inbox", "outbox"), "[INFO]\tprocessed 12 rows")


@pytest.mark.parametrize(
    ("runs", "change"),
    [
        ((READ, READ, FAILED_READ), {}),
        ((FAILED_READ, (IDLE,), (IDLE,)), {}),
        ((FAILED_READ, (), ()), {}),
        (((DENIED,), (IDLE,), (IDLE,)), {}),
        (((DENIED,), ()), {}),
        (((BARE,), (), ()), {}),
        ((FAILED_READ, OTHER_BUCKET), {}),
        (
            ((READING.format(1), UNTOLD, BARE), READ),
            {"iam": without_grant(inline_policies={"read": READS, "all": TELL})},
        ),
        ((FAILED_READ, READ, FAILED_READ, READ), {}),
        ((FAILED_READ, READ), {"is_complete": False}),
        ((FAILED_READ, READ), {"iam": without_grant(inline_policies={})}),
        ((FAILED_READ, READ), {"iam": without_grant(inline_policies={"read": CONDITION})}),
        ((FAILED_READ, READ), {"iam": without_grant(attached_policy_documents={"arn:frozen": FREEZE})}),
        ((FAILED_READ, READ), {"iam": without_grant(resource_policies={"arn:aws:s3:::inbox": FREEZE})}),
        ((FAILED_READ, READ), {"iam": without_grant(resource_policies={"left_out": True})}),
        ((FAILED_READ, READ), {"iam": without_grant(permissions_boundary="arn:b")}),
        ((FAILED_READ, READ), {"iam": without_grant(not_read=[{"what": "policy arn:x", "why": "denied"}])}),
    ],
    ids=[
        "the good runs are older",
        "the runs since had nothing to read",
        "the runs since say nothing, the denied one did",
        "the runs since say what the denied one did not",
        "one silent run",
        "silent runs, and no reason that could be gone",
        "the runs since read another bucket",
        "denied after another failure, which no good run meets",
        "it comes and goes",
        "the log is not whole",
        "no policy allows it",
        "only under a condition",
        "another policy denies it",
        "the bucket denies it",
        "the bucket's policy was left out",
        "a boundary that was not read",
        "a policy that was not read",
    ],
)
def test_else_a_denial_stays_a_fault(runs: tuple[tuple[str, ...], ...], change: dict[str, Any]) -> None:
    assert FaultType.PERMISSION_LOSS in after_runs(*runs, **change).fault_types


def test_a_run_that_began_before_the_denial_does_not_end_it() -> None:
    late = "00000000-0000-4000-8000-00000000000b"
    lines = (READING.format(1), f"START RequestId: {late}", READING.format(2).replace("\t2\t", f"\t{late}\t"))
    early = "00000000-0000-4000-8000-000000000000"
    ended = (f"END RequestId: {late}", f"REPORT RequestId: {late}\tD: 1 ms")
    told = DENIED.replace("[ERROR] AccessDenied", f"[ERROR] AccessDenied: {early}")
    assert FaultType.PERMISSION_LOSS in after_runs((*lines, told, *ended)).fault_types


def test_what_keeps_every_run_from_starting_comes_before_what_may_be_over() -> None:
    diagnosis = after_runs(READ, FAILED_READ)
    assert diagnosis.fault_types == (FaultType.THROTTLING, FaultType.PERMISSION_LOSS)
    assert [step.action[:5] for step in diagnosis.remediation_plan] == ["Raise", "See w"]


# --- a way that is open again ----------------------------------------------------------------------------------------

UNREACHED = '[ERROR] ConnectTimeoutError: Connect timeout on endpoint URL: "https://s3.ca-central-1.amazonaws.com/"'
OPEN = {
    "in_vpc": True,
    "vpc_id": "vpc-1",
    "security_groups": [{"group_id": "sg-1", "egress": [{"protocol": "all", "ports": "all", "to": ["0.0.0.0/0"]}]}],
    "subnets": [],
}


def after_an_outage(*lines: str | None, network: dict[str, Any], concurrency: int | None = 0) -> Diagnosis:
    events = [event for number, line in enumerate(lines) for event in _run(number, line)]
    ledger = Ledger()
    ledger.record("get_recent_logs", {}, {"log_group": "g", "events": events[::-1], "is_complete": True})
    ledger.record("get_lambda_config", {}, {"FunctionName": "f", "ReservedConcurrentExecutions": concurrency})
    ledger.record("get_network_state", {}, network)
    diagnosis = best_so_far(ledger.entries)
    assert diagnosis is not None
    return diagnosis


def test_a_way_that_nothing_blocks_any_more_is_no_fault_after_a_good_run() -> None:
    assert after_an_outage(UNREACHED, UNREACHED, None, network=OPEN).fault_types == (FaultType.THROTTLING,)


@pytest.mark.parametrize("network", [OPEN, {"in_vpc": False}], ids=["in a VPC", "outside"])
def test_a_way_that_is_open_again_is_no_fault_though_the_newest_run_fails_for_another_reason(
    network: dict[str, Any],
) -> None:
    diagnosis = after_an_outage(UNREACHED, UNREACHED, None, None, "[ERROR] KeyError: 'rows'", network=network)
    assert set(diagnosis.fault_types) == {FaultType.THROTTLING, FaultType.CODE_ERROR}


def test_what_is_over_is_told_as_over_and_not_as_if_nothing_had_been() -> None:
    diagnosis = after_an_outage(UNREACHED, None, network=OPEN, concurrency=None)
    assert diagnosis.fault_types == ()
    assert diagnosis.root_cause == "The failure is over: the newest runs succeed."
    assert any(UNREACHED.startswith(str(pointer.value)[:30]) for pointer in diagnosis.evidence)


@pytest.mark.parametrize(
    ("lines", "network"),
    [
        ((None, UNREACHED), OPEN),
        ((UNREACHED, None, UNREACHED, None), OPEN),
        ((UNREACHED, None), {**OPEN, "not_read": [{"what": "network ACLs", "why": "AccessDenied"}]}),
        ((UNREACHED, None), {**OPEN, "security_groups": [{"group_id": "sg-1", "egress": []}]}),
    ],
    ids=["the newest run met it", "it comes and goes", "not all of the way was read", "the way is shut"],
)
def test_else_a_host_out_of_reach_stays_a_fault(lines: tuple[str | None, ...], network: dict[str, Any]) -> None:
    assert FaultType.NETWORK_BLOCK in after_an_outage(*lines, network=network).fault_types
