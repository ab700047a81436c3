"""The promises of exactly once on DynamoDB's own conditional writes: many deliveries, one run."""

import random
import uuid
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.support.clock import FakeClock
from tests.support.investigations.incidents import REMAINING, Bench, Boundary, Killed, Scripted, a_bench, an_incident
from tests.support.storms import storm

from affidavit.adapters.aws.clients import AwsClients
from affidavit.adapters.aws.storage.table import DynamoTable
from affidavit.incidents.incident import IncidentId
from affidavit.incidents.store.state import Status
from affidavit.incidents.supervisor import Handled
from affidavit.ports.table import Delete, Key, Table
from affidavit.settings import Settings

# The tables are shared by the tests of a worker: every run has its own day, so its breaker and names are its own.
# No day has passed: the emulator removes what has expired by its own clock, whatever a test's clock says.
FIRST_DAY = datetime.now(UTC) + timedelta(days=1)


@pytest.fixture
def tables(aws_environment: dict[str, str]) -> tuple[Table, Table]:
    clock, settings = FakeClock(FIRST_DAY), Settings.from_environment()
    clients = AwsClients(settings.region)
    state = DynamoTable(clients, settings.incident_state_table, clock)
    # Other tests of this sandbox run on today's clock, and their places in the window would count here.
    for place in state.query("breaker"):
        state.write(Delete(key=Key(pk="breaker", sk=str(place["sk"]))))
    return state, DynamoTable(clients, settings.incident_context_table, clock)


def deliver_all(bench: Bench, names: list[str]) -> Counter[Handled]:
    def deliver(name: str) -> Handled:
        return bench.supervisor.receive(an_incident(name), remaining=REMAINING).handled

    with ThreadPoolExecutor(16) as pool:
        return Counter(pool.map(deliver, names))


@pytest.mark.slow
def test_incidents_delivered_many_times_on_16_threads_run_once_each(
    tmp_path: Path, tables: tuple[Table, Table]
) -> None:
    incidents, times = storm(40, full=200), storm(20, full=50)
    bench = a_bench(tmp_path, tables=tables, clock=FakeClock(FIRST_DAY))
    run = uuid.uuid4().hex[:8]
    names = [f"{run}-{number}" for number in range(incidents)]
    deliveries = names * times
    random.Random(3).shuffle(deliveries)
    handled = deliver_all(bench, deliveries)
    assert Counter(bench.scripted.runs) == Counter(names)
    assert handled == {Handled.RAN: incidents, Handled.SKIPPED: incidents * (times - 1)}
    states = [bench.states.get_state(IncidentId(name)) for name in names]
    assert [state.status for state in states if state is not None] == [Status.DIAGNOSED] * incidents
    contexts = [bench.contexts.get_context(IncidentId(name)) for name in names]
    assert all(context is not None and context.diagnosis is not None for context in contexts)


def test_of_many_at_once_exactly_as_many_run_as_the_breaker_allows(tmp_path: Path, tables: tuple[Table, Table]) -> None:
    clock = FakeClock(FIRST_DAY + timedelta(days=2))
    bench = a_bench(tmp_path, tables=tables, limit=20, clock=clock)
    run = uuid.uuid4().hex[:8]
    handled = deliver_all(bench, [f"{run}-{number}" for number in range(100)])
    assert handled == {Handled.RAN: 20, Handled.DEFERRED: 80}


def test_a_crash_at_any_call_is_recovered_from(tmp_path: Path, tables: tuple[Table, Table]) -> None:
    clock = FakeClock(FIRST_DAY + timedelta(days=4))
    calls = Boundary()
    run = uuid.uuid4().hex[:8]
    a_bench(tmp_path, tables=tables, boundary=calls, clock=clock).supervisor.receive(
        an_incident(f"{run}-0"), remaining=REMAINING
    )
    for number in range(1, len(calls.calls) + 1):
        _crash_and_recover(tmp_path, tables, clock, number, an_incident(f"{run}-{number}").incident_id)


def _crash_and_recover(
    folder: Path, tables: tuple[Table, Table], clock: FakeClock, number: int, incident_id: IncidentId
) -> None:
    scripted = Scripted()
    dying = a_bench(folder, tables=tables, boundary=Boundary(number, after=True), clock=clock, scripted=scripted)
    with pytest.raises(Killed):
        dying.supervisor.receive(an_incident(incident_id), remaining=REMAINING)
    clock.pass_by(timedelta(minutes=6))
    scripted.boundary = Boundary()
    bench = a_bench(folder, tables=tables, clock=clock, scripted=scripted)
    bench.supervisor.receive(an_incident(incident_id), remaining=REMAINING)
    state = bench.states.get_state(incident_id)
    assert state is not None
    assert state.status is Status.DIAGNOSED, f"after {number}"
    assert len(scripted.chat_calls) <= 3
