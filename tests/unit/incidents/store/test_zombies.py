"""Workers that freeze and wake up in any order: none ever writes about an incident that is no longer theirs."""

from collections.abc import Iterator
from datetime import timedelta
from itertools import count
from typing import Any, ClassVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from tests.support.investigations.incidents import REMAINING, Bench, a_bench, an_incident, memory_folder

from affidavit.evidence.diagnosis import NO_TOKENS
from affidavit.incidents.attempt.diagnostician_port import AgentResult, LeaseLost, RunOutcome
from affidavit.incidents.incident import IncidentId
from affidavit.incidents.store.state import Due, Lease, Status
from affidavit.incidents.supervisor import STALE_REASON


class Workers(RuleBasedStateMachine):
    """The truth is kept beside the store: whose epoch is newest, and how the incident ended.

    Each example is an incident of its own in one store: making a new store would take most of the time.
    """

    bench: ClassVar[Bench]
    numbers: ClassVar[Iterator[int]] = count()

    def __init__(self) -> None:
        super().__init__()
        self.incident = an_incident(f"inc-{next(self.numbers)}")
        self.leases: list[Lease] = []
        self.working: set[int] = set()
        self.newest = 0
        self.ended: Status | None = None
        self.ends = 0

    @property
    def incident_id(self) -> IncidentId:
        return self.incident.incident_id

    @initialize()
    def arrive(self) -> None:
        self.take()

    @rule(seconds=st.sampled_from([1, 59, 61, 300, 400, 601]))
    def time_passes(self, seconds: int) -> None:
        self.bench.clock.pass_by(timedelta(seconds=seconds))

    @rule()
    def take(self) -> None:
        seen = self.bench.states.get_state(self.incident_id)
        lease = self.bench.states.take(self.incident, seen, deadline=self.bench.clock.now() + REMAINING)
        if lease is not None:
            assert self.ended is None, "an incident that ended was taken again"
            assert lease.epoch == self.newest + 1
            self.newest = lease.epoch
            self.leases.append(lease)

    @precondition(lambda self: self.leases)
    @rule(data=st.data())
    def start(self, data: st.DataObject) -> None:
        lease = data.draw(st.sampled_from(self.leases))
        is_right = self._owns(lease) and lease.epoch not in self.working
        if self._tries(lease, lambda: self._move(lease, Status.RECEIVED, Status.INVESTIGATING), is_right):
            self.working.add(lease.epoch)

    @precondition(lambda self: self.leases)
    @rule(data=st.data())
    def give_a_sign_of_life(self, data: st.DataObject) -> None:
        lease = data.draw(st.sampled_from(self.leases))
        self._tries(lease, lambda: self.bench.states.touch_updated_at(lease), self._owns(lease))

    @precondition(lambda self: self.leases)
    @rule(data=st.data(), end=st.sampled_from([Status.DIAGNOSED, Status.FAILED, Status.ERROR]))
    def finish(self, data: st.DataObject, end: Status) -> None:
        lease = data.draw(st.sampled_from(self.leases))
        result = AgentResult(outcome=RunOutcome.DIAGNOSED, token_usage=NO_TOKENS)
        write = self.bench.contexts.write_of(lease, result, ())
        is_right = self._owns(lease) and lease.epoch in self.working
        move = lambda: self._move(lease, Status.INVESTIGATING, end, together_with=[write])  # noqa: E731
        if self._tries(lease, move, is_right):
            self.ended, self.ends = end, self.ends + 1

    @rule()
    def watchdog_gives_up(self) -> None:
        seen = self.bench.states.get_state(self.incident_id)
        assert seen is not None
        if seen.status.is_open and not seen.is_leased(self.bench.clock.now()) and not seen.has_attempts_left:
            assert self.bench.states.give_up(seen, STALE_REASON)
            self.ended, self.ends, self.newest = Status.FAILED, self.ends + 1, self.newest + 1

    def _move(self, lease: Lease, *statuses: Status, **others: Any) -> None:
        self.bench.states.transition_state(lease, *statuses, **others)

    def _owns(self, lease: Lease) -> bool:
        return lease.epoch == self.newest and self.ended is None

    def _tries(self, lease: Lease, write: Any, is_right: bool) -> bool:
        try:
            write()
        except LeaseLost:
            assert not is_right, f"the owner (epoch {lease.epoch}) was refused"
            return False
        assert is_right, f"a stale write of epoch {lease.epoch} went through; the newest is {self.newest}"
        return True

    @invariant()
    def the_store_agrees(self) -> None:
        state, context = (
            self.bench.states.get_state(self.incident_id),
            self.bench.contexts.get_context(self.incident_id),
        )
        if state is None:
            return
        assert state.epoch == self.newest
        assert self.ends <= 1
        if self.ended is not None:
            assert state.status is self.ended
            assert state.due is not Due.LEASE, "an incident that ended still stands among the leases"
        if context is not None:
            assert self.ended is not None, "a result is stored of an incident that has not ended"


Workers.TestCase.settings = settings(
    max_examples=250, stateful_step_count=12, deadline=None, suppress_health_check=list(HealthCheck)
)


@pytest.fixture(scope="class")
def _one_store(request: pytest.FixtureRequest) -> Iterator[None]:
    with memory_folder() as folder:
        Workers.bench = a_bench(folder)
        yield


@pytest.mark.usefixtures("_one_store")
class TestZombies(Workers.TestCase):
    pass
