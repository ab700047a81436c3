"""A worker dies at any call about a node's incident: there is one collection and one diagnosis all the same."""

from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from tests.support.clock import FakeClock
from tests.support.investigations.incidents import Bench, Boundary, Killed, a_bench, memory_folder
from tests.unit.incidents.test_readiness import ALERT, AT, MINUTE, NODE, Evidence, a_bundle

from affidavit.incidents.evidence.node_evidence_port import collection_token
from affidavit.incidents.evidence.readiness import Readiness
from affidavit.incidents.store.state import Status
from affidavit.incidents.watchdog import tick


def a_worker(folder: Path, clock: FakeClock, evidence: Evidence, boundary: Boundary | None = None) -> Bench:
    bench = a_bench(folder, clock=clock, boundary=boundary)
    return replace(bench, supervisor=replace(bench.supervisor, readiness=Readiness(evidence=evidence)))


def story(bench: Bench, evidence: Evidence) -> None:
    """The alert comes, the node is collected, the end of indexing wakes the incident."""
    bench.supervisor.receive(ALERT, remaining=5 * MINUTE)
    evidence.stored[:] = [a_bundle()]
    bench.supervisor.wake(NODE, remaining=5 * MINUTE)


@pytest.mark.parametrize("after", [False, True])
def test_whatever_call_a_worker_dies_at_there_is_one_collection_and_one_diagnosis(after: bool) -> None:
    counting = Boundary()
    with memory_folder() as folder:
        story(a_worker(folder, FakeClock(AT), evidence := Evidence(), counting), evidence)
    assert len(counting.calls) > 20
    for point in range(1, len(counting.calls) + 1):
        with memory_folder() as folder:
            clock, evidence = FakeClock(AT), Evidence()
            with suppress(Killed):
                story(a_worker(folder, clock, evidence, Boundary(point, after=after)), evidence)
            bench = a_worker(folder, clock, evidence)
            evidence.stored[:] = [a_bundle()]
            # SNS delivers again what nobody acknowledged, and the watchdog comes round.
            bench.supervisor.receive(ALERT, remaining=5 * MINUTE)
            for _ in range(4):
                clock.pass_by(5 * MINUTE)
                tick(bench.supervisor, until=clock.now() + 10 * MINUTE)
            state = bench.states.get_state(ALERT.incident_id)
            assert state is not None
            assert state.status is Status.DIAGNOSED, f"killed at call {point}: {counting.calls[point - 1]}"
            assert set(evidence.tokens) <= {collection_token(ALERT)}
