import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from uuid import UUID

import pytest
from pydantic import ValidationError
from tests.support.fleet import NODE, OTHER_NODE, REGION, STRANGER, Fleet, a_node

from affidavit.collection.collect import collect
from affidavit.collection.requests import CollectRequest
from affidavit.collection.reservation import client_token_of
from affidavit.collection.rows import execution_key, recent_key, reservation_key
from affidavit.collection.task_state import TaskState
from affidavit.collection.tool_answers import CollectAnswer
from affidavit.errors import Conflict, InputRefused, NotFound, UpstreamFailed


def ask(fleet: Fleet, token: str | None = "t1", instance_id: str = NODE, region: str | None = None) -> CollectAnswer:
    return collect(CollectRequest(instance_id=instance_id, idempotency_token=token, region=region), fleet.desk)


def test_the_answer_has_the_names_of_the_contract(fleet: Fleet) -> None:
    answer = ask(fleet).model_dump(mode="json")
    assert set(answer) == {
        *("success", "truncated", "task", "executionId", "instanceId", "region", "idempotencyKey", "idempotent"),
    }
    message = f"the collection of {NODE} has started; ask status in 15 seconds"
    assert answer["task"] == {
        "taskId": answer["executionId"],
        "state": "working",
        "message": message,
        "ttl": 600,
        "suggestedPollInterval": 15,
    }
    assert (answer["success"], answer["idempotent"], answer["region"]) == (True, False, REGION)
    assert (answer["instanceId"], answer["idempotencyKey"]) == (NODE, "t1")


def test_one_token_is_one_execution_for_a_day(fleet: Fleet) -> None:
    first = ask(fleet)
    fleet.clock.pass_by(timedelta(hours=23, minutes=59))
    again = ask(fleet)
    assert (again.execution_id, again.idempotent, first.idempotent) == (first.execution_id, True, False)
    assert len(fleet.collector.executions) == 1


def test_another_token_or_another_node_is_another_execution(fleet: Fleet) -> None:
    answers = [ask(fleet), ask(fleet, token="t2"), ask(fleet, instance_id=OTHER_NODE)]
    assert len({answer.execution_id for answer in answers}) == 3


def test_the_client_token_is_a_uuid_made_of_node_and_token(fleet: Fleet) -> None:
    ask(fleet)
    (token,) = fleet.collector.by_token
    assert UUID(token).version == 5
    assert token == client_token_of(NODE, "t1")
    assert len({client_token_of(n, t) for n in (NODE, OTHER_NODE) for t in ("t1", "t2")}) == 4


def test_rows_live_as_long_as_the_contract_says(fleet: Fleet) -> None:
    execution_id = ask(fleet).execution_id
    now = fleet.clock.now().timestamp()
    reservation = fleet.table.get(reservation_key(NODE, "t1"))
    execution = fleet.table.get(execution_key(execution_id))
    assert reservation is not None
    assert execution is not None
    assert (reservation["pk"], reservation["sk"]) == (f"IDEMP#{NODE}#t1", "IDEMPOTENCY")
    assert (execution["pk"], execution["sk"], execution["region"]) == (f"EXEC#{execution_id}", "REGION", REGION)
    assert (reservation["ttl"], execution["ttl"]) == (now + 24 * 3600, now + 48 * 3600)


def test_without_a_token_a_hasty_second_call_starts_nothing(fleet: Fleet) -> None:
    first = ask(fleet, token=None)
    fleet.clock.pass_by(timedelta(minutes=4, seconds=59))
    again = ask(fleet, token=None)
    assert (again.execution_id, again.idempotency_key) == (first.execution_id, first.idempotency_key)
    fleet.clock.pass_by(timedelta(seconds=2))
    later = ask(fleet, token=None)
    assert later.execution_id != first.execution_id
    assert not later.idempotent


def test_the_token_made_for_a_caller_works_like_their_own(fleet: Fleet) -> None:
    first = ask(fleet, token=None)
    fleet.clock.pass_by(timedelta(hours=2))
    assert ask(fleet, token=first.idempotency_key).execution_id == first.execution_id


def test_a_token_that_outlives_its_day_returns_what_ssm_still_knows_and_says_so(fleet: Fleet) -> None:
    first = ask(fleet)
    fleet.clock.pass_by(timedelta(hours=25))
    again = ask(fleet)
    assert (again.execution_id, again.idempotent) == (first.execution_id, True)
    assert len(fleet.table.query("HISTORY")) == 1


def test_a_known_execution_comes_with_its_present_state(fleet: Fleet) -> None:
    execution_id = ask(fleet).execution_id
    fleet.collector.becomes(execution_id, "Failed", failure="no free space")
    task = ask(fleet).task
    assert (task.state, task.ttl, task.suggested_poll_interval) == (TaskState.FAILED, 0, 0)
    assert "no free space" in task.message
    assert "another idempotencyToken" in task.message


def test_a_known_execution_is_returned_even_when_its_state_cannot_be_read(fleet: Fleet) -> None:
    execution_id = ask(fleet).execution_id
    fleet.collector.find_fails = UpstreamFailed("SSM is away", is_retryable=True)
    answer = ask(fleet)
    assert (answer.execution_id, answer.task.state) == (execution_id, TaskState.WORKING)
    assert "could not be read just now (SSM is away)" in answer.task.message


def test_a_node_that_is_gone_still_has_its_execution(fleet: Fleet) -> None:
    execution_id = ask(fleet).execution_id
    fleet.directory.nodes.clear()
    assert ask(fleet).execution_id == execution_id
    fleet.desk = replace(fleet.desk, clusters=frozenset())
    with pytest.raises(InputRefused):
        ask(fleet)


def test_a_given_region_is_taken_and_a_wrong_one_refused(fleet: Fleet) -> None:
    fleet.directory.nodes.append(a_node(STRANGER, region="eu-west-1"))
    assert ask(fleet, instance_id=STRANGER).region == "eu-west-1"
    assert ask(fleet, instance_id=STRANGER, region="eu-west-1", token="t2").region == "eu-west-1"
    assert fleet.collector.regions == ["eu-west-1", "eu-west-1"]
    with pytest.raises(InputRefused, match="not known to belong to a cluster"):
        ask(fleet, instance_id=STRANGER, region="us-east-1", token="t3")
    assert len(fleet.collector.executions) == 2


# --- guards ----------------------------------------------------------------------------------------------------------


def test_nothing_is_collected_unless_it_is_switched_on(fleet: Fleet) -> None:
    fleet.desk = replace(fleet.desk, is_enabled=False)
    with pytest.raises(InputRefused) as refused:
        ask(fleet)
    assert "ENABLE_COLLECTION" in refused.value.hint
    assert not fleet.collector.executions


@pytest.mark.parametrize("clusters", [frozenset(), frozenset({"other"}), frozenset({"PROD"}), frozenset({"*"})])
def test_a_cluster_that_is_not_on_the_list_is_refused(fleet: Fleet, clusters: frozenset[str]) -> None:
    fleet.desk = replace(fleet.desk, clusters=clusters)
    with pytest.raises(InputRefused) as refused:
        ask(fleet)
    assert "ALLOWED_CLUSTERS" in refused.value.hint
    assert not fleet.collector.executions
    assert fleet.table.get(reservation_key(NODE, "t1")) is None
    assert fleet.table.get(recent_key(NODE)) is None


def test_an_unknown_node_is_refused(fleet: Fleet) -> None:
    with pytest.raises(NotFound, match=STRANGER):
        ask(fleet, instance_id=STRANGER)
    assert not fleet.collector.executions


def test_a_server_without_aws_says_what_is_missing(fleet: Fleet) -> None:
    fleet.desk = replace(fleet.desk, directory=None, collector=None)
    with pytest.raises(InputRefused) as refused:
        ask(fleet)
    assert "LOGS_BUCKET" in refused.value.hint


@pytest.mark.parametrize(
    "instance_id", ["", "i-123", "i-0123456789abcdef01", "I-0123456789abcdef0", f"{NODE}\n", "../x"]
)
def test_what_is_no_instance_id_is_refused(instance_id: str) -> None:
    with pytest.raises(ValidationError):
        CollectRequest(instance_id=instance_id)


@pytest.mark.parametrize("token", ["", "a b", "x" * 129, "naïve", "a\n"])
def test_what_is_no_token_is_refused(token: str) -> None:
    with pytest.raises(ValidationError):
        CollectRequest(instance_id=NODE, idempotency_token=token)


def test_an_argument_that_nobody_knows_is_refused() -> None:
    with pytest.raises(ValidationError):
        CollectRequest.model_validate({"instanceId": NODE, "force": True})


# --- races -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("token", ["t", None])
def test_of_fifty_callers_at_once_one_starts_in_each_of_twenty_rounds(fleet: Fleet, token: str | None) -> None:
    fleet.desk = replace(fleet.desk, pause=time.sleep)
    with ThreadPoolExecutor(max_workers=50) as pool:
        for round_number in range(20):
            node = a_node(f"i-{round_number:017x}")
            fleet.directory.nodes.append(node)
            together = threading.Barrier(50)

            def call(_: int, node_id: str = node.instance_id, together: threading.Barrier = together) -> CollectAnswer:
                together.wait()
                return ask(fleet, token=token, instance_id=node_id)

            answers = list(pool.map(call, range(50)))
            assert len({answer.execution_id for answer in answers}) == 1
            assert Counter(answer.idempotent for answer in answers) == {True: 49, False: 1}
    assert len(fleet.collector.executions) == 20
    assert len(fleet.collector.regions) == 20, "SSM was called more than once for a token"


def test_a_caller_waits_for_one_that_is_starting_and_gets_its_execution(fleet: Fleet) -> None:
    inside, go_on = threading.Event(), threading.Event()

    def hold() -> None:
        inside.set()
        assert go_on.wait(10)

    fleet.collector.before_start = hold
    fleet.desk = replace(fleet.desk, pause=lambda _seconds: go_on.set() or time.sleep(0.01))
    with ThreadPoolExecutor(max_workers=2) as pool:
        first = pool.submit(ask, fleet)
        assert inside.wait(10)
        second = pool.submit(ask, fleet)
        assert first.result(10).execution_id == second.result(10).execution_id
    assert len(fleet.collector.regions) == 1


def test_a_caller_that_waited_long_enough_is_told_to_come_back(fleet: Fleet) -> None:
    inside, go_on = threading.Event(), threading.Event()
    fleet.collector.before_start = lambda: inside.set() or go_on.wait(10)
    with ThreadPoolExecutor(max_workers=1) as pool:
        first = pool.submit(ask, fleet)
        assert inside.wait(10)
        with pytest.raises(Conflict) as conflict:
            ask(fleet)
        assert "idempotencyToken t1" in conflict.value.hint
        go_on.set()
        started = first.result(10)  # pauses take no time here, so nobody may ask before that
        assert ask(fleet).execution_id == started.execution_id


def test_a_slow_caller_that_was_taken_over_gets_the_same_execution(fleet: Fleet) -> None:
    inside, go_on = threading.Event(), threading.Event()

    def hold_the_first() -> None:
        if not inside.is_set():
            inside.set()
            assert go_on.wait(10)

    fleet.collector.before_start = hold_the_first
    with ThreadPoolExecutor(max_workers=1) as pool:
        slow = pool.submit(ask, fleet)
        assert inside.wait(10)
        fleet.clock.pass_by(timedelta(seconds=91))
        quick = ask(fleet)
        go_on.set()
        assert slow.result(10).execution_id == quick.execution_id
        assert (quick.idempotent, slow.result().idempotent) == (False, True)
    assert len(fleet.collector.executions) == 1
    assert len(fleet.table.query("HISTORY")) == 1


def test_after_a_refusal_by_ssm_the_same_token_may_try_again_at_once(fleet: Fleet) -> None:
    fleet.collector.refuses[NODE] = UpstreamFailed("the agent is not online")
    with pytest.raises(UpstreamFailed, match="agent is not online"):
        ask(fleet)
    del fleet.collector.refuses[NODE]
    assert not ask(fleet).idempotent
    assert list(fleet.collector.by_token) == [client_token_of(NODE, "t1")]
