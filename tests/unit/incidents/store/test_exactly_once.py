"""Races: of many deliveries one runs; of many incidents as many as the breaker allows."""

import random
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import cast

from tests.support.investigations.incidents import REMAINING, Bench, Scripted, a_bench, an_incident

from affidavit.incidents.attempt.incidents_per_hour import Breaker
from affidavit.incidents.attempt.leased_investigation import BREAKER_REASON
from affidavit.incidents.incident import IncidentId
from affidavit.incidents.store.state import Status
from affidavit.incidents.supervisor import Handled
from affidavit.incidents.watchdog import tick
from affidavit.ports.json import Item, JsonValue
from affidavit.ports.table import Table, Write


def deliver_all(bench: Bench, names: list[str], *, threads: int = 16) -> Counter[Handled]:
    def deliver(name: str) -> Handled:
        return bench.supervisor.receive(an_incident(name), remaining=REMAINING).handled

    with ThreadPoolExecutor(threads) as pool:
        return Counter(pool.map(deliver, names))


def test_200_incidents_delivered_50_times_on_16_threads_run_200_times(memory: Path) -> None:
    bench = a_bench(memory)
    names = [f"inc-{number}" for number in range(200)]
    deliveries = names * 50
    random.Random(7).shuffle(deliveries)
    handled = deliver_all(bench, deliveries)
    assert Counter(bench.scripted.runs) == Counter(names)
    assert handled == {Handled.RAN: 200, Handled.SKIPPED: 9_800}
    states = [bench.states.get_state(IncidentId(name)) for name in names]
    assert {state.status for state in states if state is not None} == {Status.DIAGNOSED}


def test_of_100_incidents_at_once_20_run_and_80_are_deferred_and_drained_later(memory: Path) -> None:
    bench = a_bench(memory, limit=20, has_tools=True)
    names = [f"inc-{number}" for number in range(100)]
    assert deliver_all(bench, names) == {Handled.RAN: 20, Handled.DEFERRED: 80}
    deferred = [name for name in names if name not in bench.scripted.runs]
    for name in deferred:
        state, context = bench.states.get_state(IncidentId(name)), bench.contexts.get_context(IncidentId(name))
        assert state is not None
        assert (state.status, state.error_reason, state.is_deferred) == (Status.FAILED, BREAKER_REASON, True)
        assert context is not None
        assert context.evidence is not None, "the person on call still gets the facts"
    asked = len(bench.tools.asked)
    _drain(bench)
    assert len(bench.tools.asked) == asked, "waiting for room asks nothing anew"
    assert Counter(bench.scripted.runs) == Counter(names)


def _drain(bench: Bench) -> None:
    for hour in range(1, 5):
        bench.clock.pass_by(timedelta(hours=1))
        before = len(bench.scripted.runs)
        tick(bench.supervisor, until=bench.clock.now() + timedelta(minutes=15))
        assert len(bench.scripted.runs) - before == 20, f"in hour {hour}"


def test_the_window_rolls_so_that_no_60_minutes_hold_more_than_the_limit(memory: Path) -> None:
    bench = a_bench(memory, limit=2)
    breaker: Breaker = bench.supervisor.breaker
    bench.clock.pass_by(timedelta(minutes=59))
    assert [breaker.admit(IncidentId(name)) for name in "ab"] == [True, True]
    bench.clock.pass_by(timedelta(minutes=30))
    assert not breaker.admit(IncidentId("c")), "the full hour has passed, 60 minutes have not"
    assert breaker.room_at() == bench.clock.now() + timedelta(minutes=30)
    bench.clock.pass_by(timedelta(minutes=30))
    assert breaker.admit(IncidentId("c"))


def test_an_incident_that_comes_back_keeps_its_place(memory: Path) -> None:
    breaker = a_bench(memory, limit=1).supervisor.breaker
    assert breaker.admit(IncidentId("a"))
    assert breaker.admit(IncidentId("a"))
    assert not breaker.admit(IncidentId("b"))


class LooksTooEarly:
    """The same table, read before anybody took a place."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def query(self, *_: object, **__: object) -> list[Item]:
        return []

    def write(self, one: Write) -> Item | None:
        return self._table.write(one)


def test_who_looked_before_the_last_place_was_taken_does_not_get_it_as_well(memory: Path) -> None:
    bench = a_bench(memory, limit=1)
    assert bench.supervisor.breaker.admit(IncidentId("a"))
    late = Breaker(cast("Table", LooksTooEarly(bench.states.table)), bench.clock, limit=1)
    assert not late.admit(IncidentId("b"))


def test_being_deferred_costs_no_attempt(memory: Path) -> None:
    bench = a_bench(memory, limit=1, scripted=Scripted())
    deliver_all(bench, ["inc-0"])
    for _ in range(5):
        deliver_all(bench, ["inc-1"])
        state = bench.states.get_state(IncidentId("inc-1"))
        assert state is not None
        assert (state.attempts, state.is_deferred) == (0, True)
        bench.clock.pass_by(timedelta(minutes=60))
        # Somebody else is always faster.
        deliver_all(bench, [f"inc-{bench.clock.now().timestamp()}"])


def test_a_worker_that_gathers_facts_slowly_keeps_the_incident_it_defers(memory: Path) -> None:
    bench = a_bench(memory, limit=1, has_tools=True)
    deliver_all(bench, ["inc-0"])
    again: list[Handled] = []

    def slow(tool: str, *_: object, **__: object) -> JsonValue:
        bench.clock.pass_by(timedelta(seconds=29))
        again.append(bench.supervisor.receive(an_incident(), remaining=REMAINING).handled)
        return {"error": f"{tool} is slow"}

    bench.tools.call = slow  # pyright: ignore[reportAttributeAccessIssue] - the real one answers at once
    assert bench.supervisor.receive(an_incident(), remaining=REMAINING).handled is Handled.DEFERRED
    assert again == [Handled.SKIPPED] * 5
