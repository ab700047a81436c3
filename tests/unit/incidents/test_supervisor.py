"""What becomes of a delivery."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.support.investigations.incidents import (
    REMAINING,
    Bench,
    Killed,
    Scripted,
    a_bench,
    an_incident,
    false_diagnosis,
    some_tokens,
    true_diagnosis,
)

from affidavit.errors import Conflict, NotFound, UpstreamFailed
from affidavit.evidence.confidence import Confidence, Level
from affidavit.incidents.attempt.diagnostician_port import AgentError, ErrorCategory, RunOutcome
from affidavit.incidents.incident import Incident, IncidentId
from affidavit.incidents.store.incident_leases import IncidentStates
from affidavit.incidents.store.state import IncidentState, Status
from affidavit.incidents.supervisor import Handled
from affidavit.incidents.telemetry import Telemetry

ID = IncidentId("inc-1")
TRANSIENT = AgentError(category=ErrorCategory.MCP_CONNECTION, message="connection refused")
DENIED = AgentError(category=ErrorCategory.BEDROCK_AUTH, message="AccessDeniedException")


def receive(bench: Bench, incident: Incident | None = None) -> Handled:
    return bench.supervisor.receive(incident or an_incident(), remaining=REMAINING).handled


def state_of(bench: Bench) -> IncidentState:
    state = bench.states.get_state(ID)
    assert state is not None
    return state


def is_to_be_run(bench: Bench) -> bool:
    seen = bench.states.get_state(ID)
    return seen is None or seen.is_due(bench.clock.now())


def test_a_new_incident_is_investigated_and_its_diagnosis_stored(bench: Bench) -> None:
    assert receive(bench) is Handled.RAN
    context = bench.contexts.get_context(ID)
    assert context is not None
    assert context.diagnosis is not None
    assert context.diagnosis.fault_types == ("permission_loss",)
    assert state_of(bench).status is Status.DIAGNOSED


def test_a_second_delivery_of_a_finished_incident_is_skipped(bench: Bench) -> None:
    receive(bench)
    assert receive(bench) is Handled.SKIPPED
    assert len(bench.scripted.runs) == 1


# --- who may run it --------------------------------------------------------------------------------------------------


def test_an_unknown_incident_is_to_be_run(bench: Bench) -> None:
    assert is_to_be_run(bench)


def test_an_incident_received_a_moment_ago_is_somebody_elses(bench: Bench) -> None:
    bench.states.take(an_incident(), None, deadline=bench.clock.now() + REMAINING)
    assert not is_to_be_run(bench)


def test_an_incident_received_before_a_crash_is_to_be_run(bench: Bench) -> None:
    bench.states.take(an_incident(), None, deadline=bench.clock.now() + REMAINING)
    bench.clock.pass_by(timedelta(seconds=61))
    assert is_to_be_run(bench)


def test_an_incident_under_investigation_is_skipped_while_its_lease_runs_and_recovered_after(bench: Bench) -> None:
    lease = bench.states.take(an_incident(), None, deadline=bench.clock.now() + REMAINING)
    assert lease is not None
    bench.states.transition_state(lease, Status.RECEIVED, Status.INVESTIGATING)
    bench.clock.pass_by(REMAINING + timedelta(seconds=29))
    assert not is_to_be_run(bench)
    bench.clock.pass_by(timedelta(seconds=1))
    assert is_to_be_run(bench)


def test_a_worker_without_a_sign_of_life_for_ten_minutes_is_taken_for_dead(bench: Bench) -> None:
    lease = bench.states.take(an_incident(), None, deadline=bench.clock.now() + timedelta(hours=1))
    assert lease is not None
    bench.states.transition_state(lease, Status.RECEIVED, Status.INVESTIGATING)
    bench.clock.pass_by(timedelta(minutes=6))
    bench.states.touch_updated_at(lease)
    bench.clock.pass_by(timedelta(minutes=9, seconds=59))
    assert not is_to_be_run(bench)
    bench.clock.pass_by(timedelta(seconds=1))
    assert is_to_be_run(bench)


@pytest.mark.parametrize("scripted", [Scripted(), Scripted(outcome=RunOutcome.DEADLINE), Scripted(error=DENIED)])
def test_an_incident_that_ended_is_skipped(tmp_path: Path, scripted: Scripted) -> None:
    bench = a_bench(tmp_path, scripted=scripted)
    receive(bench)
    bench.clock.pass_by(timedelta(days=22))
    assert not is_to_be_run(bench)
    assert receive(bench) is Handled.SKIPPED
    assert len(bench.scripted.runs) == 1


def test_an_incident_is_kept_longer_than_sns_redelivers(bench: Bench) -> None:
    receive(bench)
    bench.clock.pass_by(timedelta(days=23, hours=1))
    assert receive(bench) is Handled.SKIPPED
    bench.clock.pass_by(timedelta(days=7))
    assert bench.states.get_state(ID) is None


# --- how runs end ----------------------------------------------------------------------------------------------------


def test_what_does_not_verify_is_not_stored_as_a_diagnosis(tmp_path: Path) -> None:
    bench = a_bench(tmp_path, scripted=Scripted(diagnosis=false_diagnosis()))
    receive(bench)
    context, state = bench.contexts.get_context(ID), state_of(bench)
    assert context is not None
    assert context.diagnosis is None
    assert (state.status, state.error_category) == (Status.FAILED, None)
    assert state.error_reason is not None
    assert state.error_reason.startswith("no verifiable evidence; evidence[0]: /events/0/message is ")


@pytest.mark.parametrize(
    ("outcome", "reason"),
    [
        (RunOutcome.RECURSION_LIMIT, "recursion limit exhausted without diagnosis"),
        (RunOutcome.DEADLINE, "deadline reached without diagnosis"),
        (RunOutcome.TOKEN_CAP, "token budget exhausted without diagnosis"),
    ],
)
def test_a_run_that_found_nothing_in_time_is_failed_with_its_reason(
    tmp_path: Path, outcome: RunOutcome, reason: str
) -> None:
    bench = a_bench(tmp_path, scripted=Scripted(outcome=outcome))
    receive(bench)
    assert (state_of(bench).status, state_of(bench).error_reason) == (Status.FAILED, reason)


def test_an_error_that_may_pass_gets_three_attempts_in_all_and_then_stays(tmp_path: Path) -> None:
    bench = a_bench(tmp_path, scripted=Scripted(error=TRANSIENT))
    for attempt in (1, 2, 3):
        assert receive(bench) is Handled.RAN
        state = state_of(bench)
        assert (state.status, state.error_category, state.attempts) == (Status.ERROR, "mcp_connection", attempt)
        assert state.error_reason == "[mcp_connection] connection refused"
        assert receive(bench) is Handled.SKIPPED, "not before its time"
        bench.clock.pass_by(timedelta(minutes=20))
    assert state_of(bench).next_attempt_at is None
    assert receive(bench) is Handled.SKIPPED
    assert len(bench.scripted.runs) == 3


def test_an_error_that_will_not_pass_is_not_tried_again(tmp_path: Path) -> None:
    bench = a_bench(tmp_path, scripted=Scripted(error=DENIED))
    receive(bench)
    assert (state_of(bench).error_category, state_of(bench).next_attempt_at) == ("bedrock_auth", None)


def test_tokens_of_every_attempt_are_counted_together(tmp_path: Path) -> None:
    bench = a_bench(tmp_path, scripted=Scripted(error=TRANSIENT))
    receive(bench)
    assert state_of(bench).spent == some_tokens().plus(some_tokens())
    bench.clock.pass_by(timedelta(minutes=20))
    bench.scripted.error = None
    receive(bench)
    context = bench.contexts.get_context(ID)
    assert context is not None
    assert context.token_usage.total_tokens == 200, "the second attempt went on from the first and asked nothing anew"


def test_the_confidence_of_a_stored_diagnosis_is_computed_not_stated(bench: Bench) -> None:
    receive(bench)
    context = bench.contexts.get_context(ID)
    assert context is not None
    assert context.diagnosis is not None
    assert context.diagnosis.confidence.basis == "2 of 2 tool calls were answered, 1 piece of evidence verified"
    assert context.diagnosis.grade == "supported"
    assert context.diagnosis.confidence.level == "low", "what it needs is not shown, so it cannot be more"


def test_facts_and_what_rules_prove_are_stored_when_the_chat_model_fails(tmp_path: Path) -> None:
    bench = a_bench(tmp_path, scripted=Scripted(error=DENIED), has_tools=True)
    receive(bench)
    context = bench.contexts.get_context(ID)
    assert context is not None
    assert context.evidence is not None
    assert set(context.evidence) == {"logs", "iam", "lambda_config", "network", "changes", "metrics"}
    assert context.best_so_far is not None
    assert context.best_so_far.produced_by == "rules"
    assert context.diagnosis is None, "a run that failed has no diagnosis"
    missing = ["get_lambda_config", "get_network_state", "get_recent_changes"]
    assert bench.tools.asked == missing, "what was recorded is not asked again"


# --- failures of our own ---------------------------------------------------------------------------------------------


def breaks(error: Exception) -> Scripted:
    def fail() -> None:
        raise error

    return Scripted(before_end=fail)


def test_an_unexpected_failure_is_stored_and_raised(tmp_path: Path) -> None:
    bench = a_bench(tmp_path, scripted=breaks(RuntimeError("a bug")))
    with pytest.raises(RuntimeError, match="a bug"):
        receive(bench)
    state = state_of(bench)
    assert (state.status, state.error_category, state.error_reason) == (Status.ERROR, "unknown", "RuntimeError: a bug")
    assert state.next_attempt_at is None


def test_what_goes_wrong_after_the_end_does_not_undo_it(memory: Path) -> None:
    bench = a_bench(memory)

    def full(line: str) -> None:
        if "agent_metrics" in line:
            raise OSError("no space left")

    muted = replace(bench.supervisor, telemetry=Telemetry(full, bench.clock))
    with pytest.raises(OSError, match="no space left"):
        muted.receive(an_incident(), remaining=REMAINING)
    assert state_of(bench).status is Status.DIAGNOSED


def test_an_outage_that_may_pass_is_tried_again_later(tmp_path: Path) -> None:
    bench = a_bench(tmp_path, scripted=breaks(UpstreamFailed("S3 is down", is_retryable=True)))
    with pytest.raises(UpstreamFailed):
        receive(bench)
    assert state_of(bench).next_attempt_at is not None


def test_when_the_failure_cannot_be_stored_the_first_error_is_still_the_one_raised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise UpstreamFailed("the table is gone")

    def fail() -> None:
        monkeypatch.setattr(IncidentStates, "transition_state", refuse)
        raise RuntimeError("the first error")

    bench = a_bench(tmp_path, scripted=Scripted(before_end=fail))
    with pytest.raises(RuntimeError, match="the first error"):
        receive(bench)
    assert any(json.loads(line).get("event") == "transition_failed" for line in bench.lines)


def test_a_worker_that_lost_its_lease_stores_nothing(tmp_path: Path) -> None:
    bench = a_bench(tmp_path)

    def freeze() -> None:
        bench.clock.pass_by(timedelta(minutes=20))
        seen = bench.states.get_state(ID)
        bench.states.take(an_incident(), seen, deadline=bench.clock.now() + REMAINING)

    bench.scripted.before_end = freeze
    assert receive(bench) is Handled.LOST
    assert bench.contexts.get_context(ID) is None
    assert state_of(bench).epoch == 2


def test_a_worker_that_died_three_times_is_given_up(tmp_path: Path) -> None:
    def die() -> None:
        raise Killed

    bench = a_bench(tmp_path, scripted=Scripted(before_end=die))
    for _ in range(3):
        with pytest.raises(Killed):
            receive(bench)
        bench.clock.pass_by(timedelta(minutes=20))
    assert receive(bench) is Handled.SKIPPED
    assert (state_of(bench).status, state_of(bench).error_reason) == (Status.FAILED, "stale watchdog timeout")


# --- identity over time ----------------------------------------------------------------------------------------------


def test_a_retry_just_past_the_border_of_a_window_joins_the_incident_before(bench: Bench) -> None:
    first = an_incident("inc-a", occurred_at=datetime(2026, 1, 15, 10, 4, 50, tzinfo=UTC))
    retry = an_incident("inc-b", occurred_at=datetime(2026, 1, 15, 10, 6, 50, tzinfo=UTC), may_join=IncidentId("inc-a"))
    later = an_incident("inc-b", occurred_at=datetime(2026, 1, 15, 10, 9, 50, tzinfo=UTC), may_join=IncidentId("inc-a"))
    assert [receive(bench, one) for one in (first, retry)] == [Handled.RAN, Handled.SKIPPED]
    assert receive(bench, later) is Handled.RAN, "five minutes after the first it is another incident"


# --- by hand ---------------------------------------------------------------------------------------------------------


def test_a_person_can_run_a_failed_incident_again(tmp_path: Path) -> None:
    bench = a_bench(tmp_path, scripted=Scripted(error=DENIED))
    receive(bench)
    bench.scripted.error = None
    assert bench.supervisor.redrive(ID, remaining=REMAINING) is Handled.RAN
    state = state_of(bench)
    assert (state.status, state.error_reason, state.error_category) == (Status.DIAGNOSED, None, None)


def test_a_diagnosed_or_unknown_incident_is_not_run_again_by_hand(bench: Bench) -> None:
    receive(bench)
    with pytest.raises(Conflict):
        bench.supervisor.redrive(ID, remaining=REMAINING)
    with pytest.raises(NotFound):
        bench.supervisor.redrive(IncidentId("inc-none"), remaining=REMAINING)


# --- what is told ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scripted", [Scripted(), Scripted(error=DENIED)])
def test_every_run_leaves_its_two_lines_and_the_same_numbers_on_its_context(tmp_path: Path, scripted: Scripted) -> None:
    bench = a_bench(tmp_path, scripted=scripted)
    receive(bench)
    lines = {line["event"]: line for line in map(json.loads, bench.lines) if "event" in line}
    metrics = {"incident_id": ID, "llm_calls": 2, "total_prompt_tokens": 180, "total_completion_tokens": 20}
    assert lines["agent_metrics"] == {
        "event": "agent_metrics",
        **metrics,
        "total_tokens": 200,
        "budget_remaining": 99_800,
    }
    assert set(lines["agent_reasoning_summary"]) == {
        "event",
        "incident_id",
        "outcome",
        "produced_by",
        "tools_called",
        "fault_types",
        "root_cause",
        "severity",
        "steps",
    }
    context = bench.contexts.get_context(ID)
    assert context is not None
    assert (context.llm_calls, context.token_usage.total_tokens) == (2, 200)


def lines_of(bench: Bench, event: str) -> list[dict[str, object]]:
    return [line for line in map(json.loads, bench.lines) if line.get("event") == event]


def test_the_log_says_how_a_run_ended_and_who_concluded(tmp_path: Path) -> None:
    bench = a_bench(tmp_path)
    receive(bench)
    (line,) = lines_of(bench, "agent_reasoning_summary")
    assert (line["outcome"], line["produced_by"]) == ("diagnosed", "chat_model")


def test_the_log_has_each_refused_submission(tmp_path: Path) -> None:
    bench = a_bench(tmp_path, scripted=Scripted(refusals=("evidence[0]: not so", "evidence[1]: not so either")))
    receive(bench)
    told = [(line["number"], line["problems"]) for line in lines_of(bench, "submission_refused")]
    assert told == [(1, "evidence[0]: not so"), (2, "evidence[1]: not so either")]


def test_each_attempt_counts_its_own_tokens_in_the_metric(tmp_path: Path) -> None:
    bench = a_bench(tmp_path, scripted=Scripted(error=TRANSIENT))
    receive(bench)
    bench.clock.pass_by(timedelta(minutes=20))
    receive(bench)
    counted = [line["TotalTokens"] for line in map(json.loads, bench.lines) if "TotalTokens" in line]
    assert counted == [200, 0], "the second attempt asked nothing anew"


def test_each_wait_is_twice_the_one_before(tmp_path: Path) -> None:
    bench = a_bench(tmp_path, scripted=Scripted(error=TRANSIENT))
    waits: list[float] = []
    for _ in (1, 2):
        receive(bench)
        waits.append(float(state_of(bench).next_attempt_at or 0) - bench.clock.now().timestamp())
        bench.clock.pass_by(timedelta(minutes=20))
    assert waits == [120, 240]


def test_a_chat_model_that_is_less_sure_is_taken_at_its_word(tmp_path: Path) -> None:
    doubtful = true_diagnosis().model_copy(
        update={"confidence": Confidence(level=Level.LOW, basis="stated", gaps=()), "gaps": ()}
    )
    bench = a_bench(tmp_path, scripted=Scripted(diagnosis=doubtful))
    receive(bench)
    context = bench.contexts.get_context(ID)
    assert context is not None
    assert context.diagnosis is not None
    assert context.diagnosis.confidence.level == "low"


def test_metrics_are_lines_that_cloudwatch_reads(bench: Bench) -> None:
    receive(bench)
    emf = [line for line in map(json.loads, bench.lines) if "_aws" in line]
    names = {metric["Name"] for line in emf for metric in line["_aws"]["CloudWatchMetrics"][0]["Metrics"]}
    assert {"LlmCalls", "TotalTokens", "Diagnosed", "Failed", "Errors"} <= names
    assert all(isinstance(line[name], int) for line in emf for name in line if name != "_aws")
