from datetime import timedelta

import pytest
from tests.support.fleet import NODE, OTHER_NODE, Fleet

from affidavit.collection.collect import collect
from affidavit.collection.history import history
from affidavit.collection.requests import CancelRequest, CollectRequest, HistoryRequest, StatusRequest
from affidavit.collection.status_and_cancel import cancel as stop
from affidavit.collection.status_and_cancel import status
from affidavit.collection.task_state import TaskState
from affidavit.collection.tool_answers import StatusAnswer
from affidavit.errors import Conflict, NotFound, UpstreamFailed


def started(fleet: Fleet, instance_id: str = NODE, token: str = "t") -> str:
    return collect(CollectRequest(instance_id=instance_id, idempotency_token=token), fleet.desk).execution_id


def ask(fleet: Fleet, execution_id: str, *, cancel: bool = False) -> StatusAnswer:
    if cancel:
        return stop(CancelRequest(execution_id=execution_id), fleet.desk)
    return status(StatusRequest(execution_id=execution_id), fleet.desk)


@pytest.mark.parametrize(
    ("ssm", "state"),
    [
        ("Pending", "working"),
        ("InProgress", "working"),
        ("Waiting", "working"),
        ("TimedOut", "failed"),
        ("Failed", "failed"),
        ("Cancelling", "cancelled"),
        ("Cancelled", "cancelled"),
        ("PendingChangeCalendarOverride", "working"),
    ],
)
def test_each_status_of_ssm_has_its_task_state(fleet: Fleet, ssm: str, state: str) -> None:
    execution_id = started(fleet)
    fleet.collector.becomes(execution_id, ssm)
    answer = ask(fleet, execution_id).model_dump(mode="json")
    assert (answer["task"]["state"], answer["collectionStatus"]) == (state, ssm)
    polling = (600, 15) if state == "working" else (0, 0)
    assert (answer["task"]["ttl"], answer["task"]["suggestedPollInterval"]) == polling


def test_a_status_nobody_knows_is_named(fleet: Fleet) -> None:
    execution_id = started(fleet)
    fleet.collector.becomes(execution_id, "RunbookInProgress")
    assert "'RunbookInProgress'" in ask(fleet, execution_id).task.message


def test_completed_means_collected_and_indexed(fleet: Fleet) -> None:
    execution_id = started(fleet)
    fleet.index.indexed.add(execution_id)
    assert ask(fleet, execution_id).task.state is TaskState.WORKING, "an index alone is no collection"
    fleet.index.indexed.clear()
    fleet.collector.becomes(execution_id, "Success")
    waiting = ask(fleet, execution_id)
    assert (waiting.task.state, waiting.task.message) == (TaskState.WORKING, "collected; the bundle is being indexed")
    assert (waiting.progress.percent, waiting.progress.current_step) == (66, "Index the bundle")
    fleet.index.indexed.add(execution_id)
    done = ask(fleet, execution_id)
    assert (done.task.state, done.task.ttl, done.progress.percent) == (TaskState.COMPLETED, 0, 100)


def test_a_bundle_of_unproven_origin_says_so(fleet: Fleet) -> None:
    execution_id = started(fleet)
    fleet.collector.becomes(execution_id, "Success")
    fleet.index.indexed.add(execution_id)
    fleet.index.doubts[execution_id] = "origin: unproven: it was uploaded by another node"
    assert ask(fleet, execution_id).task.message.endswith("; origin: unproven: it was uploaded by another node")


def test_a_bundle_that_waits_long_for_its_index_says_so(fleet: Fleet) -> None:
    execution_id = started(fleet)
    fleet.collector.becomes(execution_id, "Success", ended=fleet.clock.now())
    assert ask(fleet, execution_id).task.message == "collected; the bundle is being indexed"
    fleet.clock.pass_by(timedelta(minutes=40))
    task = ask(fleet, execution_id).task
    assert task.state is TaskState.WORKING
    assert "collected 40 minutes ago and still not indexed" in task.message


def test_what_was_completed_stays_so_when_a_later_bundle_replaces_the_archive(fleet: Fleet) -> None:
    execution_id = started(fleet)
    fleet.collector.becomes(execution_id, "Success")
    fleet.index.indexed.add(execution_id)
    assert ask(fleet, execution_id).task.state is TaskState.COMPLETED
    fleet.index.indexed.clear()
    assert ask(fleet, execution_id).task.state is TaskState.COMPLETED


def test_a_bundle_that_could_not_be_indexed_fails_with_its_reason_and_may_be_repaired(fleet: Fleet) -> None:
    execution_id = started(fleet)
    fleet.collector.becomes(execution_id, "Success")
    fleet.index.failures[execution_id] = "the archive is cut short"
    failed = ask(fleet, execution_id)
    assert failed.task.state is TaskState.FAILED
    assert "the archive is cut short" in failed.task.message
    assert failed.progress.percent < 100
    fleet.index.failures.clear()
    fleet.index.indexed.add(execution_id)
    assert ask(fleet, execution_id).task.state is TaskState.COMPLETED
    assert history(HistoryRequest(), fleet.desk).collections[0].state is TaskState.COMPLETED


def test_a_failure_carries_ssms_reason_or_says_that_there_is_none(fleet: Fleet) -> None:
    execution_id = started(fleet)
    fleet.collector.becomes(execution_id, "Failed", failure="Step Collect: not enough space")
    assert "not enough space" in ask(fleet, execution_id).task.message
    fleet.collector.becomes(execution_id, "TimedOut")
    assert ask(fleet, execution_id).task.message == "the collection ended as TimedOut: SSM gives no reason"


def test_progress_counts_the_steps_and_names_the_one_under_way(fleet: Fleet) -> None:
    answer = ask(fleet, started(fleet))
    assert answer.task.message == "InProgress: Collect"
    assert answer.progress.model_dump() == {
        "stepsDone": 1,
        "stepsTotal": 3,
        "percent": 33,
        "currentStep": "Collect",
        "steps": [
            {"name": "Validate", "status": "Success"},
            {"name": "Collect", "status": "InProgress"},
            {"name": "Index the bundle", "status": "Pending"},
        ],
    }


def test_an_execution_that_was_not_started_here_is_not_found_and_not_stopped(fleet: Fleet) -> None:
    execution_id = fleet.collector.start(NODE, region="ca-central-1", client_token="somebody else's")
    with pytest.raises(NotFound) as missing:
        ask(fleet, execution_id, cancel=True)
    assert "history" in missing.value.hint
    assert not fleet.collector.stopped


def test_an_execution_is_known_for_two_days(fleet: Fleet) -> None:
    execution_id = started(fleet)
    fleet.clock.pass_by(timedelta(hours=47, minutes=59))
    assert ask(fleet, execution_id).execution_id == execution_id
    fleet.clock.pass_by(timedelta(minutes=2))
    with pytest.raises(NotFound):
        ask(fleet, execution_id)


def test_an_execution_that_ssm_does_not_show_yet_is_working_and_one_it_forgot_is_not_found(fleet: Fleet) -> None:
    execution_id = started(fleet)
    fleet.collector.forget(execution_id)
    early = ask(fleet, execution_id)
    assert (early.task.state, early.collection_status, early.started_at) == (TaskState.WORKING, "Pending", None)
    fleet.clock.pass_by(timedelta(minutes=3))
    with pytest.raises(NotFound, match="does not know execution"):
        ask(fleet, execution_id)


def test_an_outage_is_an_error_not_a_state(fleet: Fleet) -> None:
    execution_id = started(fleet)
    fleet.collector.find_fails = UpstreamFailed("SSM is away")
    with pytest.raises(UpstreamFailed):
        ask(fleet, execution_id)


# --- cancel ----------------------------------------------------------------------------------------------------------


def test_cancel_stops_the_execution(fleet: Fleet) -> None:
    execution_id = started(fleet)
    answer = ask(fleet, execution_id, cancel=True)
    assert fleet.collector.stopped == [execution_id]
    assert (answer.task.state, answer.task.ttl, answer.collection_status) == (TaskState.CANCELLED, 0, "Cancelling")
    fleet.collector.becomes(execution_id, "Cancelled")
    assert ask(fleet, execution_id).task.message == "the collection was stopped"


@pytest.mark.parametrize("ended", ["Success", "Failed", "TimedOut", "Cancelled", "Cancelling"])
def test_what_has_ended_is_not_stopped_again(fleet: Fleet, ended: str) -> None:
    execution_id = started(fleet)
    fleet.collector.becomes(execution_id, ended)
    before = ask(fleet, execution_id).task
    after = ask(fleet, execution_id, cancel=True).task
    assert (after.state, after.message) == (before.state, f"{before.message}; there was nothing left to stop")
    assert not fleet.collector.stopped


def test_an_execution_that_ends_while_it_is_being_stopped_keeps_its_end(fleet: Fleet) -> None:
    execution_id = started(fleet)
    fleet.collector.stop_fails = Conflict("it has ended")
    task = ask(fleet, execution_id, cancel=True).task
    assert "it ended before it could be stopped" in task.message


# --- history ---------------------------------------------------------------------------------------------------------


def test_history_is_newest_first_with_states_by_node_or_of_all(fleet: Fleet) -> None:
    ids: list[str] = []
    for number, node in enumerate([NODE, OTHER_NODE, NODE]):
        ids.append(started(fleet, node, f"t{number}"))
        fleet.clock.pass_by(timedelta(minutes=1))
    fleet.collector.becomes(ids[0], "Failed", failure="why")
    everything = history(HistoryRequest(), fleet.desk)
    assert [entry.execution_id for entry in everything.collections] == ids[::-1]
    assert [entry.state for entry in everything.collections] == ["working", "working", "failed"]
    assert (everything.truncated, everything.retention_hours) == (False, 48)
    one = history(HistoryRequest(instance_id=NODE), fleet.desk)
    assert [entry.execution_id for entry in one.collections] == [ids[2], ids[0]]


def test_history_says_when_there_is_more(fleet: Fleet) -> None:
    for number in range(3):
        started(fleet, token=f"t{number}")
    assert history(HistoryRequest(limit=2), fleet.desk).truncated
    exact = history(HistoryRequest(limit=3), fleet.desk)
    assert (len(exact.collections), exact.truncated) == (3, False)


def test_history_forgets_after_two_days(fleet: Fleet) -> None:
    started(fleet)
    fleet.clock.pass_by(timedelta(hours=49))
    assert history(HistoryRequest(), fleet.desk).collections == []


def test_an_end_is_remembered_and_not_asked_for_again(fleet: Fleet) -> None:
    execution_id = started(fleet)
    fleet.collector.becomes(execution_id, "Failed", failure="no space")
    ask(fleet, execution_id)
    fleet.collector.find_fails = UpstreamFailed("SSM is away")
    (entry,) = history(HistoryRequest(), fleet.desk).collections
    assert entry.state is TaskState.FAILED
    assert "no space" in entry.message


def test_a_state_that_cannot_be_read_is_null_with_its_reason(fleet: Fleet) -> None:
    started(fleet)
    fleet.collector.find_fails = UpstreamFailed("SSM is away")
    (entry,) = history(HistoryRequest(), fleet.desk).collections
    assert (entry.state, entry.message) == (None, "its state could not be read: SSM is away")
