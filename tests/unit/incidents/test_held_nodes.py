"""A group waits with the end of a node: it is kept alive for its logs, and always let go, also after a crash."""

from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path

import pytest
from tests.support.clock import FakeClock
from tests.support.investigations.incidents import (
    Bench,
    Boundary,
    Killed,
    Watched,
    a_bench,
    an_incident,
    local_tables,
    memory_folder,
)
from tests.unit.incidents.test_readiness import AT, MINUTE, NODE, Evidence, a_bundle

from affidavit.errors import Throttled
from affidavit.incidents.evidence.node_evidence_port import CollectionStanding, CollectionState
from affidavit.incidents.evidence.readiness import Readiness
from affidavit.incidents.evidence.termination_holds import HOLD_LIMIT, HeldNodes
from affidavit.incidents.incident import LifecycleAction, Signal
from affidavit.incidents.intake.node_gate import NodeGate
from affidavit.incidents.intake.other_account_alerts import ForeignAlert
from affidavit.incidents.store.state import Status
from affidavit.incidents.watchdog import tick
from affidavit.ports.lifecycle_hooks import HookAction

ENDING = an_incident(
    "inc-ending",
    subject=NODE,
    resources=(NODE.id,),
    signal=Signal.NODE_EVENT,
    occurred_at=AT,
    lifecycle=LifecycleAction(group="workers", hook="save-logs", token="token-1"),
)
SAVED = CollectionStanding(state=CollectionState.WORKING, says="it is being indexed", is_saved=True)
FAILED = CollectionStanding(state=CollectionState.FAILED, says="the agent is offline")


@dataclass
class Hooks:
    """A group that waits for its token until somebody completes the action."""

    waiting: set[str] = field(default_factory=lambda: {"token-1"})
    heartbeats: int = 0
    error: Exception | None = None

    def heartbeat(self, action: HookAction) -> bool:
        self._fail()
        self.heartbeats += action.token in self.waiting
        return action.token in self.waiting

    def go_on(self, action: HookAction) -> None:
        self._fail()
        self.waiting.discard(action.token)

    def _fail(self) -> None:
        if self.error is not None:
            raise self.error


def holding(
    folder: Path, evidence: Evidence, hooks: Hooks, boundary: Boundary | None = None, clock: FakeClock | None = None
) -> Bench:
    clock = clock or FakeClock(AT)
    bench = a_bench(folder, clock=clock, boundary=boundary)
    readiness = Readiness(evidence=evidence)
    table = local_tables(folder, clock)[0]
    held = HeldNodes(
        table=Watched(table, boundary, "held") if boundary is not None else table,
        clock=clock,
        hooks=Watched(hooks, boundary, "hooks") if boundary is not None else hooks,
        states=bench.states,
        evidence=readiness,
        telemetry=bench.supervisor.telemetry,
    )
    return replace(bench, supervisor=replace(bench.supervisor, readiness=readiness, held=held))


def a_round(bench: Bench, after: timedelta = 5 * MINUTE) -> None:
    bench.clock.pass_by(after)
    tick(bench.supervisor, until=bench.clock.now() + 10 * MINUTE)


def receive(bench: Bench) -> None:
    bench.supervisor.receive(ENDING, remaining=5 * MINUTE)


def test_the_group_waits_with_heartbeats_while_the_node_is_collected_and_goes_on_once_it_is_saved(
    tmp_path: Path,
) -> None:
    hooks, evidence = Hooks(), Evidence()
    bench = holding(tmp_path, evidence, hooks)
    receive(bench)
    assert (hooks.waiting, hooks.heartbeats) == ({"token-1"}, 1)
    a_round(bench)
    assert (hooks.waiting, hooks.heartbeats) == ({"token-1"}, 2)
    evidence.standing = SAVED
    a_round(bench)
    assert hooks.waiting == set(), "the archive is in the bucket, and indexing needs no node"


@pytest.mark.parametrize("standing", [SAVED, FAILED])
def test_a_node_that_is_not_needed_any_more_is_let_go_at_once(tmp_path: Path, standing: CollectionStanding) -> None:
    hooks = Hooks()
    receive(holding(tmp_path, Evidence(standing=standing), hooks))
    assert hooks.waiting == set()


def test_a_fresh_bundle_ends_the_wait_at_once(tmp_path: Path) -> None:
    hooks = Hooks()
    receive(holding(tmp_path, Evidence(stored=[a_bundle()]), hooks))
    assert hooks.waiting == set()


def test_the_end_of_indexing_lets_the_node_go(tmp_path: Path) -> None:
    hooks, evidence = Hooks(), Evidence()
    bench = holding(tmp_path, evidence, hooks)
    receive(bench)
    evidence.stored.append(a_bundle())
    evidence.standing = CollectionStanding(state=CollectionState.DONE, says="done", index_id="ix-1")
    bench.supervisor.wake(NODE, remaining=5 * MINUTE)
    assert hooks.waiting == set()
    state = bench.states.get_state(ENDING.incident_id)
    assert state is not None
    assert state.status is Status.DIAGNOSED


def test_no_node_is_held_longer_than_the_limit(tmp_path: Path) -> None:
    hooks = Hooks()
    bench = holding(tmp_path, Evidence(), hooks)
    receive(bench)
    while hooks.waiting:
        a_round(bench, MINUTE)
    assert bench.clock.now() - AT == HOLD_LIMIT


def test_a_node_that_is_not_ours_is_let_go_at_once(tmp_path: Path) -> None:
    hooks = Hooks()
    bench = holding(tmp_path, Evidence(), hooks)
    supervisor = replace(bench.supervisor, gate=NodeGate(directory=None))
    named = replace(ENDING, subject=replace(NODE, id="ip-10-0-0-1.internal"))
    with pytest.raises(ForeignAlert):
        supervisor.receive(named, remaining=5 * MINUTE)
    assert hooks.waiting == set()


def test_a_node_that_is_not_ours_is_let_go_by_the_next_round_when_the_group_did_not_hear_us(tmp_path: Path) -> None:
    hooks = Hooks(error=Throttled("slow down"))
    bench = holding(tmp_path, Evidence(), hooks)
    bench = replace(bench, supervisor=replace(bench.supervisor, gate=NodeGate(directory=None)))
    named = replace(ENDING, subject=replace(NODE, id="ip-10-0-0-1.internal"))
    with pytest.raises(ForeignAlert):
        bench.supervisor.receive(named, remaining=5 * MINUTE)
    hooks.error = None
    a_round(bench)
    assert (hooks.waiting, hooks.heartbeats) == (set(), 0)


def test_a_hook_of_somebody_else_is_neither_held_nor_completed(tmp_path: Path) -> None:
    """Another program drains the node and tells the group when it is done; the node is collected all the same."""
    hooks, evidence = Hooks(), Evidence()
    bench = holding(tmp_path, evidence, hooks)
    assert bench.supervisor.held is not None
    held = replace(bench.supervisor.held, own_hooks=("affidavit*",))
    bench = replace(bench, supervisor=replace(bench.supervisor, held=held))
    receive(bench)
    a_round(bench, HOLD_LIMIT)
    assert (hooks.waiting, hooks.heartbeats) == ({"token-1"}, 0)
    assert len(set(evidence.tokens)) == 1


def test_a_group_that_cannot_be_asked_now_is_asked_again_until_it_goes_on(tmp_path: Path) -> None:
    hooks = Hooks(error=Throttled("slow down"))
    bench = holding(tmp_path, Evidence(standing=SAVED), hooks)
    receive(bench)
    assert hooks.waiting == {"token-1"}
    hooks.error = None
    a_round(bench)
    assert hooks.waiting == set()


def test_an_action_that_is_over_is_forgotten_and_a_late_delivery_holds_nobody(tmp_path: Path) -> None:
    hooks = Hooks(waiting=set())
    bench = holding(tmp_path, Evidence(), hooks)
    receive(bench)
    receive(bench)
    assert bench.supervisor.held is not None
    assert bench.supervisor.held.table.query(f"held#{NODE.id}") == []


def crash_points(*, after: bool) -> int:
    with memory_folder() as folder:
        boundary = Boundary(after=after)
        receive(holding(folder, Evidence(), Hooks(), boundary))
        return len(boundary.calls)


@pytest.mark.parametrize("after", [False, True])
def test_whatever_call_a_worker_dies_at_the_node_is_let_go_and_collected_once(after: bool) -> None:
    """A worker that dies before the action is written down has not taken the alert: SNS delivers it again."""
    points = crash_points(after=after)
    assert points > 10
    for point in range(1, points + 1):
        with memory_folder() as folder:
            hooks, evidence, clock = Hooks(), Evidence(), FakeClock(AT)
            with suppress(Killed):
                receive(holding(folder, evidence, hooks, Boundary(point, after=after), clock))
            bench = holding(folder, evidence, hooks, clock=clock)
            if bench.supervisor.held is not None and not bench.supervisor.held.table.query(f"held#{NODE.id}"):
                receive(bench)
            for _ in range(5):
                a_round(bench)
            assert hooks.waiting == set(), f"killed at call {point}"
            assert len(set(evidence.tokens)) <= 1
