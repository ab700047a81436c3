"""Ways to a node's logs: each is tried only when the one before cannot work, once, and its reason is kept."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.support.clock import FakeClock
from tests.support.investigations.incidents import an_incident

from affidavit.adapters.local.table import SqliteTable
from affidavit.errors import Conflict, InputRefused, Throttled
from affidavit.evidence.incident_subject import Subject, SubjectKind
from affidavit.incidents.evidence.node_evidence_port import CollectionStanding, CollectionState
from affidavit.incidents.incident import Incident
from affidavit.node_evidence.climb_records import Climb, Climbs, RungName
from affidavit.node_evidence.ladder import Ladder

AT = datetime(2026, 1, 15, 10, 0, tzinfo=UTC)
NODE = Subject(kind=SubjectKind.NODE, id="i-0a11ce0000000001")
ALERT = an_incident(subject=NODE, resources=(NODE.id,), cluster="demo", occurred_at=AT)
WORKING = CollectionStanding(state=CollectionState.WORKING, says="it works")
FAILED = CollectionStanding(state=CollectionState.FAILED, says="the agent is out")
DONE = CollectionStanding(state=CollectionState.DONE, says="indexed", index_id="ix-1", is_saved=True)


@dataclass
class Way:
    name: RungName
    does: CollectionStanding | Exception
    asks_node: bool = True
    patience: timedelta = timedelta(minutes=10)
    looks: list[str] = field(default_factory=list)

    def stand(self, incident: Incident, climb: Climb) -> CollectionStanding:
        self.looks.append(climb.token)
        if isinstance(self.does, Exception):
            raise self.does
        return self.does


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(AT)


@pytest.fixture
def ladder(tmp_path: Path, clock: FakeClock) -> Callable[..., Ladder]:
    table = SqliteTable(tmp_path / "state.sqlite", "state", clock)

    def of(*ways: Way) -> Ladder:
        climbs = Climbs(table=table, clock=clock)
        return Ladder(rungs=ways, climbs=climbs, clock=clock, clusters=frozenset({"demo"}))

    return of


def ways(*does: CollectionStanding | Exception) -> list[Way]:
    asks = (True, True, False, False)
    return [Way(name, what, asks_node=ask) for name, what, ask in zip(RungName, does, asks, strict=False)]


def test_the_next_way_is_tried_only_when_the_one_before_cannot_work(ladder: Callable[..., Ladder]) -> None:
    first, second, third = ways(WORKING, WORKING, WORKING)
    assert ladder(first, second, third).stand(ALERT) == WORKING
    assert second.looks == []
    first.does = FAILED
    standing = ladder(third, second, first).stand(ALERT)
    assert standing.tried == ("ssm_runbook: the agent is out",)
    assert (len(second.looks), third.looks) == (1, [])


def test_a_way_that_was_given_up_is_not_taken_up_again_by_anybody(ladder: Callable[..., Ladder]) -> None:
    first, second = ways(InputRefused("no such node", hint="look"), WORKING)
    ladder(first, second).stand(ALERT)
    first.does = WORKING
    assert ladder(first, second).stand(ALERT).tried == ("ssm_runbook: no such node; look",)
    assert len(first.looks) == 1


@pytest.mark.parametrize("error", [Throttled("slow down"), Conflict("somebody is starting it")])
def test_what_may_pass_is_waited_for(ladder: Callable[..., Ladder], error: Exception) -> None:
    first, second = ways(error, WORKING)
    assert ladder(first, second).stand(ALERT).state is CollectionState.WORKING
    assert second.looks == []


def test_a_way_that_hangs_is_left_and_the_node_itself_is_not_asked_again(
    ladder: Callable[..., Ladder], clock: FakeClock
) -> None:
    first, second, third = ways(WORKING, WORKING, DONE)
    ladder(first, second, third).stand(ALERT)
    clock.pass_by(timedelta(minutes=10))
    standing = ladder(first, second, third).stand(ALERT)
    assert second.looks == []
    assert (standing.state, standing.index_id) == (CollectionState.DONE, "ix-1")
    assert standing.tried == ("ssm_runbook: it has not ended within 10 minutes (it works)",)


def test_what_a_person_stopped_is_not_asked_of_the_node_in_another_way(ladder: Callable[..., Ladder]) -> None:
    stopped = CollectionStanding(state=CollectionState.FAILED, says="it was stopped", spares_node=True)
    first, second, third = ways(stopped, WORKING, FAILED)
    standing = ladder(first, second, third).stand(ALERT)
    assert second.looks == []
    assert standing.state is CollectionState.FAILED
    assert standing.tried == ("ssm_runbook: it was stopped", "console_output: the agent is out")


def test_a_node_of_a_cluster_that_is_not_allowed_is_collected_in_no_way(ladder: Callable[..., Ladder]) -> None:
    (first,) = ways(WORKING)
    other = an_incident(subject=NODE, resources=(NODE.id,), cluster="theirs", occurred_at=AT)
    standing = ladder(first).stand(other)
    assert standing.state is CollectionState.REFUSED
    assert "ALLOWED_CLUSTERS" in standing.says
    assert first.looks == []


def test_what_was_brought_is_remembered_as_the_nodes_own(ladder: Callable[..., Ladder]) -> None:
    made = ladder(*ways(DONE))
    made.stand(ALERT)
    assert [(climb.index_id, climb.rung) for climb in made.climbs.of_node(NODE.id)] == [("ix-1", RungName.SSM_RUNBOOK)]
