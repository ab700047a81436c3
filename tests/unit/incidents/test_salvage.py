"""An incident that killed every worker: it stays closed, and what was recorded on the way is not wasted."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from tests.support.clock import FakeClock
from tests.support.investigations.incidents import (
    REMAINING,
    Bench,
    Boundary,
    Killed,
    Mailbox,
    Scripted,
    a_bench,
    an_incident,
    degraded,
    false_diagnosis,
    some_tokens,
)

from affidavit.evidence.diagnosis import ProducedBy
from affidavit.incidents.attempt.diagnostician_port import AgentError, ErrorCategory
from affidavit.incidents.attempt.salvage import keep_leftovers
from affidavit.incidents.incident import IncidentId
from affidavit.incidents.store.state import IncidentState, Status
from affidavit.incidents.store.stored_diagnoses import IncidentContext
from affidavit.incidents.supervisor import Supervisor
from affidavit.incidents.watchdog import Tick, tick

ID = IncidentId("inc-1")


def die() -> None:
    raise Killed


def run(bench: Bench) -> Tick:
    return tick(bench.supervisor, until=bench.clock.now() + timedelta(minutes=14))


def with_three_dead_workers(folder: Path, mailbox: Mailbox | None = None) -> Bench:
    """Its last lease has just run out."""
    bench = a_bench(folder, scripted=Scripted(before_end=die), has_tools=True, mailbox=mailbox or Mailbox())
    with pytest.raises(Killed):
        bench.supervisor.receive(an_incident(), remaining=REMAINING)
    kill_again(bench, times=2)
    return bench


def kill_again(bench: Bench, *, times: int) -> None:
    for _ in range(times):
        bench.clock.pass_by(timedelta(minutes=20))
        with pytest.raises(Killed):
            run(bench)
    bench.clock.pass_by(timedelta(minutes=20))


def state_of(bench: Bench) -> IncidentState:
    state = bench.states.get_state(ID)
    assert state is not None
    return state


def context_of(bench: Bench) -> IncidentContext:
    context = bench.contexts.get_context(ID)
    assert context is not None
    return context


def test_what_rules_prove_of_the_recorded_answers_is_kept_and_told(tmp_path: Path) -> None:
    mailbox = Mailbox()
    bench = with_three_dead_workers(tmp_path, mailbox)
    assert run(bench) == Tick(closed=1)
    assert (state_of(bench).status, state_of(bench).error_reason) == (Status.FAILED, "stale watchdog timeout")
    context = context_of(bench)
    assert (context.diagnosis, context.outcome) == (None, "stale")
    assert context.best_so_far is not None
    assert context.best_so_far.produced_by is ProducedBy.RULES
    assert context.token_usage == some_tokens().plus(some_tokens()), "what the dead workers spent"
    assert len(bench.supervisor.records.entries(context.ledger)) == 2
    (notice,) = mailbox.notices
    assert "WHAT RULES ALONE CAN PROVE" in notice[1]
    assert "every worker died" in notice[1]


def test_nobody_is_asked_for_it(tmp_path: Path) -> None:
    bench = with_three_dead_workers(tmp_path)
    run(bench)
    assert bench.tools.asked == []
    evidence = context_of(bench).evidence
    assert evidence is not None
    assert "events" in evidence["logs"]  # pyright: ignore[reportOperatorIssue] - JSON
    assert "not asked" in str(evidence["network"])


def test_a_late_delivery_that_closes_it_keeps_as_much(tmp_path: Path) -> None:
    bench = with_three_dead_workers(tmp_path)
    bench.supervisor.receive(an_incident(), remaining=REMAINING)
    assert state_of(bench).status is Status.FAILED
    assert context_of(bench).best_so_far is not None


def test_what_does_not_verify_is_not_kept(tmp_path: Path) -> None:
    bench = with_three_dead_workers(tmp_path)
    lying = with_conclusion(bench, lambda *_: false_diagnosis())
    tick(lying, until=bench.clock.now() + timedelta(minutes=14))
    assert context_of(bench).best_so_far is None
    assert context_of(bench).evidence is not None


def test_a_bug_in_the_rules_costs_neither_the_end_nor_the_notice(tmp_path: Path) -> None:
    mailbox = Mailbox()
    bench = with_three_dead_workers(tmp_path, mailbox)

    def bug(*_: object) -> None:
        raise ZeroDivisionError

    broken = with_conclusion(bench, bug)
    assert tick(broken, until=bench.clock.now() + timedelta(minutes=14)) == Tick(closed=1)
    assert state_of(bench).status is Status.FAILED
    assert len(mailbox.notices) == 1
    assert any("leftovers_failed" in line and "ZeroDivisionError" in line for line in bench.lines)


def test_an_incident_that_is_run_again_meanwhile_keeps_only_what_the_new_run_finds(tmp_path: Path) -> None:
    bench = with_three_dead_workers(tmp_path)
    closed = bench.states.give_up(state_of(bench), "stale watchdog timeout")
    assert closed is not None
    bench.scripted.before_end = lambda: None
    bench.supervisor.redrive(ID, remaining=REMAINING)
    assert not keep_leftovers(closed, bench.supervisor)
    assert state_of(bench).status is Status.DIAGNOSED
    assert (context_of(bench).outcome, context_of(bench).diagnosis is not None) == ("diagnosed", True)


def test_what_an_earlier_attempt_left_stays_beside_it(tmp_path: Path) -> None:
    error = AgentError(category=ErrorCategory.BEDROCK_TRANSIENT, message="ThrottlingException")
    bench = a_bench(tmp_path, scripted=Scripted(error=error), has_tools=True)
    bench.supervisor.receive(an_incident(), remaining=REMAINING)
    before = context_of(bench)
    bench.scripted.error, bench.scripted.before_end = None, die
    kill_again(bench, times=2)
    assert run(bench) == Tick(closed=1)
    after = context_of(bench)
    assert set(after.ledger) >= set(before.ledger)
    assert after.reasoning_chain == before.reasoning_chain
    assert after.best_so_far is not None


def test_wherever_the_closing_worker_dies_the_incident_ends_once_and_is_told(memory: Path) -> None:
    steps = len(closing_steps(memory / "all", Boundary()))
    assert steps > 8
    for die_at in range(1, steps + 1):
        for after in (False, True):
            folder = memory / f"{die_at}-{after}"
            mailbox = Mailbox()
            with pytest.raises(Killed):
                closing_steps(folder, Boundary(die_at, after=after), mailbox)
            bench = a_bench(folder, clock=FakeClock(LATER), has_tools=True, mailbox=mailbox)
            for _ in range(2):
                bench.clock.pass_by(timedelta(minutes=20))
                run(bench)
            state, context = state_of(bench), bench.contexts.get_context(ID)
            assert (state.status, state.epoch, state.due) == (Status.FAILED, 4, None)
            assert context is None or context.best_so_far is not None
            assert 1 <= len(mailbox.notices) <= 2
            assert len({key for _, _, key in mailbox.notices}) == 1


LATER = FakeClock().now() + timedelta(hours=2)


def closing_steps(folder: Path, boundary: Boundary, mailbox: Mailbox | None = None) -> list[str]:
    folder.mkdir()
    with_three_dead_workers(folder)
    bench = a_bench(folder, clock=FakeClock(LATER), boundary=boundary, has_tools=True, mailbox=mailbox or Mailbox())
    run(bench)
    return boundary.calls


def with_conclusion(bench: Bench, conclude: Callable[..., object]) -> Supervisor:
    return replace(bench.supervisor, degraded=lambda _: degraded(bench.tools, conclude))  # pyright: ignore[reportArgumentType] - may be broken
