"""What the watchdog finds, and what it leaves alone."""

from datetime import timedelta
from pathlib import Path

import pytest
from tests.support.investigations.incidents import REMAINING, Bench, Killed, Scripted, a_bench, an_incident

from affidavit.incidents.attempt.diagnostician_port import AgentError, ErrorCategory
from affidavit.incidents.incident import IncidentId
from affidavit.incidents.store.state import IncidentState, Status, state_key
from affidavit.incidents.watchdog import Tick, tick
from affidavit.ports.table import Update

ID = IncidentId("inc-1")
TRANSIENT = AgentError(category=ErrorCategory.BEDROCK_TRANSIENT, message="ThrottlingException")


def run(bench: Bench) -> Tick:
    return tick(bench.supervisor, until=bench.clock.now() + timedelta(minutes=14))


def state_of(bench: Bench) -> IncidentState:
    state = bench.states.get_state(ID)
    assert state is not None
    return state


def dies(bench: Bench) -> None:
    with pytest.raises(Killed):
        bench.supervisor.receive(an_incident(), remaining=REMAINING)


def a_dying_bench(folder: Path) -> Bench:
    def die() -> None:
        raise Killed

    return a_bench(folder, scripted=Scripted(before_end=die))


def test_a_worker_that_lives_is_left_alone(tmp_path: Path) -> None:
    bench = a_dying_bench(tmp_path)
    dies(bench)
    bench.clock.pass_by(REMAINING)
    assert run(bench) == Tick()
    assert state_of(bench).epoch == 1


def test_an_incident_whose_worker_died_is_run_again(tmp_path: Path) -> None:
    bench = a_dying_bench(tmp_path)
    dies(bench)
    bench.scripted.before_end = lambda: None
    bench.clock.pass_by(timedelta(minutes=10))
    assert run(bench) == Tick(driven=1)
    assert state_of(bench).status is Status.DIAGNOSED
    assert len(bench.scripted.chat_calls) == 2, "it went on from where the dead worker was"


def test_an_incident_that_killed_three_workers_is_closed(tmp_path: Path) -> None:
    bench = a_dying_bench(tmp_path)
    dies(bench)
    for _ in range(2):
        bench.clock.pass_by(timedelta(minutes=20))
        with pytest.raises(Killed):
            run(bench)
    bench.clock.pass_by(timedelta(minutes=20))
    assert run(bench) == Tick(closed=1)
    assert (state_of(bench).status, state_of(bench).error_reason) == (Status.FAILED, "stale watchdog timeout")
    assert any("stale_incident" in line for line in bench.lines), "it is logged"
    assert run(bench) == Tick(), "and stays closed"


def test_a_transient_error_is_run_again_when_its_time_comes(tmp_path: Path) -> None:
    bench = a_bench(tmp_path, scripted=Scripted(error=TRANSIENT))
    bench.supervisor.receive(an_incident(), remaining=REMAINING)
    assert run(bench) == Tick(), "not yet"
    bench.clock.pass_by(timedelta(minutes=5))
    bench.scripted.error = None
    assert run(bench) == Tick(driven=1)
    assert state_of(bench).status is Status.DIAGNOSED


def test_what_there_is_no_time_for_is_left_for_the_next_round_and_counted(tmp_path: Path) -> None:
    bench = a_bench(tmp_path, scripted=Scripted(error=TRANSIENT))
    bench.supervisor.receive(an_incident(), remaining=REMAINING)
    bench.clock.pass_by(timedelta(minutes=5))
    assert tick(bench.supervisor, until=bench.clock.now() + timedelta(minutes=1)) == Tick(left=1)
    assert len(bench.scripted.runs) == 1


def test_one_incident_that_fails_does_not_cost_the_next_its_turn(tmp_path: Path) -> None:
    from affidavit.errors import UpstreamFailed

    bench = a_bench(tmp_path, scripted=Scripted(error=TRANSIENT))
    for name in ("inc-1", "inc-2"):
        bench.supervisor.receive(an_incident(name), remaining=REMAINING)
    bench.clock.pass_by(timedelta(minutes=5))
    bench.scripted.error = None
    failures = iter([UpstreamFailed("S3 is down")])

    def fail_once() -> None:
        if (failure := next(failures, None)) is not None:
            raise failure

    bench.scripted.before_end = fail_once
    assert run(bench) == Tick(driven=1, failed=1)


def test_two_watchdogs_at_once_run_an_incident_once(tmp_path: Path) -> None:
    bench = a_bench(tmp_path, scripted=Scripted(error=TRANSIENT))
    bench.supervisor.receive(an_incident(), remaining=REMAINING)
    bench.clock.pass_by(timedelta(minutes=5))
    bench.scripted.error = None
    inner: list[Tick] = []
    bench.scripted.before_end = lambda: inner.append(run(bench))
    assert run(bench) == Tick(driven=1)
    assert inner == [Tick()]


@pytest.mark.parametrize("damage", [{"status": "POSTPONED"}, {"incident": "{}"}, {"epoch": "one"}, {"created_at": "?"}])
def test_an_incident_that_nobody_can_read_does_not_cost_the_others_their_turn(
    tmp_path: Path, damage: dict[str, str]
) -> None:
    bench = a_bench(tmp_path, scripted=Scripted(error=TRANSIENT))
    for name in ("inc-0", "inc-1"):
        bench.supervisor.receive(an_incident(name), remaining=REMAINING)
    bench.states.table.write(Update(key=state_key(IncidentId("inc-0")), set=damage))
    bench.clock.pass_by(timedelta(minutes=5))
    bench.scripted.error = None
    assert run(bench) == Tick(driven=1)
    assert state_of(bench).status is Status.DIAGNOSED
    assert any("unreadable_incident" in line and "inc-0" in line for line in bench.lines)
