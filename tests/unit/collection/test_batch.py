from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.fleet import CLUSTER, Fleet, a_node

from affidavit.collection.batch import batch_collect, batch_id_of, batch_status
from affidavit.collection.history import history
from affidavit.collection.node_choice import choose
from affidavit.collection.requests import BatchCollectRequest, BatchStatusRequest, HistoryRequest, Strategy
from affidavit.collection.task_state import TaskState
from affidavit.collection.tool_answers import BatchAnswer
from affidavit.errors import InputRefused, NotFound, Throttled, UpstreamFailed
from affidavit.ports.node_directory import Node
from affidavit.ports.table import Key

ZONES = ("ca-central-1a", "ca-central-1b", "ca-central-1d")
TYPES = ("m5.large", "c5.xlarge")


def nodes(count: int, **other: Any) -> list[Node]:
    """Every zone and type in turn."""
    return [
        a_node(f"i-{number:017x}", zone=ZONES[number % 3], instance_type=TYPES[number % 2], **other)
        for number in range(count)
    ]


def ask(fleet: Fleet, token: str | None = "b", **options: Any) -> BatchAnswer:
    return batch_collect(BatchCollectRequest(cluster_name=CLUSTER, idempotency_token=token, **options), fleet.desk)


def look(fleet: Fleet, batch_id: str) -> BatchAnswer:
    return batch_status(BatchStatusRequest(batch_id=batch_id), fleet.desk)


def test_a_sample_starts_one_execution_a_node_and_counts_states(tmp_path: Path) -> None:
    fleet = Fleet(tmp_path, nodes(12))
    answer = ask(fleet)
    wire = answer.model_dump(mode="json")
    assert wire["counts"] == {"total": 5, "working": 5, "completed": 0, "failed": 0, "cancelled": 0, "unknown": 0}
    assert (answer.nodes_found, answer.left_out, answer.task.state) == (12, 7, TaskState.WORKING)
    assert answer.task.task_id == answer.batch_id
    assert {node.execution_id for node in answer.nodes} == set(fleet.collector.executions)


def test_a_batch_follows_its_nodes_to_the_end(tmp_path: Path) -> None:
    fleet = Fleet(tmp_path, nodes(3))
    batch = ask(fleet, strategy="all")
    first, second, third = (node.execution_id or "" for node in batch.nodes)
    fleet.collector.becomes(first, "Success")
    fleet.collector.becomes(second, "Failed", failure="why")
    fleet.collector.becomes(third, "Cancelled")
    assert look(fleet, batch.batch_id).task.state is TaskState.WORKING, "one is not indexed"
    fleet.index.indexed.add(first)
    ended = look(fleet, batch.batch_id)
    assert (ended.task.state, ended.task.ttl) == (TaskState.COMPLETED, 0)
    assert (ended.counts.completed, ended.counts.failed, ended.counts.cancelled) == (1, 1, 1)
    assert "1 of 3 nodes collected and indexed; 0 working, 1 failed, 1 cancelled" in ended.task.message


def test_a_batch_of_which_nothing_came_has_not_completed(tmp_path: Path) -> None:
    fleet = Fleet(tmp_path, nodes(2))
    batch = ask(fleet, strategy="all")
    for node in batch.nodes:
        fleet.collector.becomes(node.execution_id or "", "Failed")
    assert look(fleet, batch.batch_id).task.state is TaskState.FAILED


def test_a_node_that_cannot_be_collected_is_reported_and_the_rest_go_on(tmp_path: Path) -> None:
    fleet = Fleet(tmp_path, nodes(4))
    bad = fleet.directory.nodes[1].instance_id
    fleet.collector.refuses[bad] = UpstreamFailed("the SSM agent is not online", hint="check the instance role")
    answer = ask(fleet, strategy="all")
    failed = next(node for node in answer.nodes if node.instance_id == bad)
    assert (failed.state, failed.execution_id) == (TaskState.FAILED, None)
    assert "the SSM agent is not online; check the instance role" in failed.message
    assert (answer.counts.working, answer.counts.failed) == (3, 1)


def test_asking_again_starts_only_what_has_not_been_started(tmp_path: Path) -> None:
    fleet = Fleet(tmp_path, nodes(4))
    bad = fleet.directory.nodes[1].instance_id
    fleet.collector.refuses[bad] = Throttled("slow down")
    first = ask(fleet, strategy="all")
    del fleet.collector.refuses[bad]
    again = ask(fleet, strategy="all")
    assert (first.batch_id, first.idempotent, again.idempotent) == (again.batch_id, False, True)
    assert again.counts.working == 4
    assert len(fleet.collector.regions) == 4
    before = {node.instance_id: node.execution_id for node in first.nodes if node.execution_id}
    assert before.items() <= {node.instance_id: node.execution_id for node in again.nodes}.items()


def test_a_node_that_was_started_is_not_asked_again_when_its_reservation_has_expired(tmp_path: Path) -> None:
    fleet = Fleet(tmp_path, nodes(3))
    ask(fleet, strategy="all")
    fleet.clock.pass_by(timedelta(hours=25))
    assert ask(fleet, strategy="all").counts.working == 3
    assert len(fleet.collector.regions) == 3


def test_a_call_that_failed_late_does_not_hide_what_another_call_started(tmp_path: Path) -> None:
    fleet = Fleet(tmp_path, nodes(1))
    calls: list[int] = []

    def another_call_is_quicker() -> None:
        calls.append(1)
        if len(calls) == 1:
            fleet.clock.pass_by(timedelta(seconds=91))
            ask(fleet, strategy="all")
            raise UpstreamFailed("the connection broke")

    fleet.collector.before_start = another_call_is_quicker
    answer = ask(fleet, strategy="all")
    assert (answer.counts.working, answer.counts.failed) == (1, 0)
    assert answer.nodes[0].execution_id in fleet.collector.executions


class Killed(BaseException):
    pass


def test_a_batch_that_died_half_way_is_continued(tmp_path: Path) -> None:
    fleet = Fleet(tmp_path, nodes(12))
    calls: list[int] = []

    def die_at_the_fourth() -> None:
        calls.append(1)
        if len(calls) >= 4:
            raise Killed

    fleet.collector.before_start = die_at_the_fourth
    with pytest.raises(Killed):
        ask(fleet, strategy="all")
    fleet.collector.before_start = lambda: None
    started = dict(fleet.collector.by_token)
    assert len(started) == 3
    # Nodes that joined meanwhile do not change what the batch is about.
    fleet.directory.nodes += [a_node("i-0ffffffff")]
    fleet.clock.pass_by(timedelta(seconds=91))
    answer = ask(fleet, strategy="all")
    assert (answer.counts.total, answer.counts.working) == (12, 12)
    assert started.items() <= fleet.collector.by_token.items()
    assert len(fleet.collector.executions) == 12


def test_a_batch_that_died_half_way_says_which_nodes_were_not_asked(tmp_path: Path) -> None:
    fleet = Fleet(tmp_path, nodes(3))

    def die() -> None:
        raise Killed

    fleet.collector.before_start = die
    with pytest.raises(Killed):
        ask(fleet, strategy="all")
    seen = look(fleet, batch_id_of(CLUSTER, fleet.desk.region, Strategy.ALL, 200, "b"))
    assert (seen.counts.unknown, seen.task.state) == (3, TaskState.WORKING)
    assert "not asked yet" in seen.nodes[0].message


def test_without_a_token_the_same_question_within_minutes_is_the_same_batch(tmp_path: Path) -> None:
    fleet = Fleet(tmp_path, nodes(3))
    first = ask(fleet, token=None)
    fleet.clock.pass_by(timedelta(minutes=4))
    assert ask(fleet, token=None).batch_id == first.batch_id
    assert ask(fleet, token=None, strategy="all").batch_id != first.batch_id
    fleet.clock.pass_by(timedelta(minutes=2))
    assert ask(fleet, token=None).batch_id != first.batch_id


def test_a_batch_is_kept_for_two_days(tmp_path: Path) -> None:
    fleet = Fleet(tmp_path, nodes(1))
    batch_id = ask(fleet).batch_id
    assert fleet.table.get(Key(pk=f"BATCH#{batch_id}", sk="META")) is not None
    fleet.clock.pass_by(timedelta(hours=47))
    assert look(fleet, batch_id).counts.total == 1
    fleet.clock.pass_by(timedelta(hours=2))
    with pytest.raises(NotFound):
        look(fleet, batch_id)


def test_a_batch_of_a_cluster_that_is_not_on_the_list_asks_nobody(tmp_path: Path) -> None:
    fleet = Fleet(tmp_path, nodes(3))
    for desk in (replace(fleet.desk, clusters=frozenset()), replace(fleet.desk, is_enabled=False)):
        with pytest.raises(InputRefused):
            batch_collect(BatchCollectRequest(cluster_name=CLUSTER), desk)
    assert not fleet.collector.executions


def test_a_cluster_that_does_not_exist_is_not_found(tmp_path: Path) -> None:
    fleet = Fleet(tmp_path, nodes(1))
    with pytest.raises(NotFound, match="no cluster"):
        ask(fleet, region="eu-west-1")


def test_the_collections_of_a_batch_are_in_history(tmp_path: Path) -> None:
    fleet = Fleet(tmp_path, nodes(2))
    batch = ask(fleet)
    listed = {entry.execution_id for entry in history(HistoryRequest(), fleet.desk).collections}
    assert listed == {node.execution_id for node in batch.nodes}


# --- which nodes -----------------------------------------------------------------------------------------------------


def test_a_sample_spreads_over_zones_and_types() -> None:
    chosen = choose(nodes(30), Strategy.SAMPLE, 6, cluster=CLUSTER).nodes
    assert sorted(node.zone for node in chosen) == [zone for zone in ZONES for _ in range(2)]
    assert sorted(node.instance_type for node in chosen) == sorted(TYPES * 3)


def test_a_rare_zone_and_a_rare_type_are_in_the_sample() -> None:
    fleet = [a_node(f"i-{n:017x}") for n in range(50)]
    fleet += [a_node("i-0fffffff1", zone="ca-central-1b"), a_node("i-0fffffff2", instance_type="p4d.24xlarge")]
    chosen = {node.instance_id for node in choose(fleet, Strategy.SAMPLE, 3, cluster=CLUSTER).nodes}
    assert {"i-0fffffff1", "i-0fffffff2"} <= chosen


@given(st.permutations(nodes(9)))
def test_the_order_of_listing_changes_nothing(listed: list[Node]) -> None:
    assert choose(listed, Strategy.SAMPLE, 4, cluster=CLUSTER) == choose(nodes(9), Strategy.SAMPLE, 4, cluster=CLUSTER)


def test_unhealthy_takes_those_known_to_be_and_says_whom_nobody_could_judge() -> None:
    fleet = [
        a_node("i-00000001", is_healthy=True),
        a_node("i-00000002", is_healthy=False),
        a_node("i-00000003", is_healthy=None),
        a_node("i-00000004", is_healthy=False, state="stopped"),
    ]
    choice = choose(fleet, Strategy.UNHEALTHY, 10, cluster=CLUSTER)
    assert [node.instance_id for node in choice.nodes] == ["i-00000002"]
    assert choice.passed_over == (
        ("i-00000003", "nobody could say whether it is healthy"),
        ("i-00000004", "it is stopped"),
    )


def test_a_node_whose_tags_name_another_cluster_is_passed_over() -> None:
    choice = choose([a_node("i-00000001"), a_node("i-00000002", cluster="")], Strategy.ALL, 5, cluster=CLUSTER)
    assert [node.instance_id for node in choice.nodes] == ["i-00000001"]
    assert choice.passed_over == (("i-00000002", "its tags name another cluster, or several"),)


def test_no_unhealthy_node_is_not_a_bill_of_health(tmp_path: Path) -> None:
    fleet = Fleet(tmp_path, nodes(3, is_healthy=None))
    with pytest.raises(NotFound, match="3 passed over: nobody could say") as missing:
        ask(fleet, strategy="unhealthy")
    assert "says nothing about whether the nodes are well" in missing.value.hint


def test_all_takes_every_running_node_up_to_the_limit_and_says_how_many_were_left_out() -> None:
    choice = choose(nodes(7) + nodes(1, state="terminated"), Strategy.ALL, 5, cluster=CLUSTER)
    assert (len(choice.nodes), choice.left_out) == (5, 2)
    assert [reason for _, reason in choice.passed_over] == ["it is terminated"]
