"""Collection against the sandbox: real DynamoDB conditions and SSM Automation over HTTP, real processes that die."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from itertools import count
from pathlib import Path

import pytest
from tests.support.collecting import TOKEN, a_desk
from tests.support.storms import storm

from affidavit.bootstrap import build_app
from affidavit.collection.batch import batch_collect, batch_status
from affidavit.collection.collect import collect
from affidavit.collection.history import history
from affidavit.collection.requests import (
    BatchCollectRequest,
    BatchStatusRequest,
    CancelRequest,
    CollectRequest,
    HistoryRequest,
    StatusRequest,
    Strategy,
)
from affidavit.collection.status_and_cancel import cancel as stop
from affidavit.collection.status_and_cancel import status
from affidavit.collection.task_state import TaskState
from affidavit.collection.tool_answers import BatchAnswer, CollectAnswer, StatusAnswer
from affidavit.collection.tool_dependencies import Desk
from affidavit.errors import AffidavitError, InputRefused, NotFound, Throttled
from affidavit.investigation import analyze
from affidavit.knowledge import load_knowledge
from affidavit.nodes.ingest.bundle_intake import ingest
from affidavit.nodes.library.indexed_bundles import Library
from affidavit.sandbox.account.nodes import FleetNode
from affidavit.sandbox.aws.automation import Conduct
from affidavit.sandbox.sandbox import Sandbox
from affidavit.settings import Settings

ROOT = Path(__file__).parents[3]
CLUSTER = "collected"
numbers = count(1)

pytestmark = pytest.mark.usefixtures("aws_environment")


def a_node(sandbox: Sandbox, *, cluster: str = CLUSTER, conduct: Conduct | None = None, **traits: object) -> str:
    instance_id = f"i-0c011ec7{next(numbers):09x}"
    sandbox.fleet.add(FleetNode(instance_id=instance_id, cluster=cluster, **traits))
    sandbox.automation.conduct(instance_id, conduct or Conduct())
    return instance_id


def ask(desk: Desk, instance_id: str, token: str | None = TOKEN) -> CollectAnswer:
    return collect(CollectRequest(instance_id=instance_id, idempotency_token=token), desk)


def look(desk: Desk, execution_id: str, *, cancel: bool = False) -> StatusAnswer:
    if cancel:
        return stop(CancelRequest(execution_id=execution_id), desk)
    return status(StatusRequest(execution_id=execution_id), desk)


def wait_for(seen: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not seen():
        assert time.monotonic() < deadline, "it did not come"
        time.sleep(0.05)


@pytest.fixture
def desk() -> Desk:
    return a_desk(CLUSTER)


# --- once ------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_of_fifty_callers_at_once_one_starts_in_each_of_many_rounds(sandbox: Sandbox, desk: Desk) -> None:
    rounds = storm(6, full=20)
    nodes = [a_node(sandbox, conduct=Conduct(is_hanging=True)) for _ in range(rounds)]
    requests_before = sandbox.automation.start_requests
    # A slow machine must not end a lease or anybody's patience: here nobody dies.
    desk = replace(desk, lease=timedelta(minutes=5), patience=timedelta(minutes=5))
    with ThreadPoolExecutor(max_workers=50) as pool:
        for node in nodes:
            together = threading.Barrier(50)

            def call(_: int, node: str = node, together: threading.Barrier = together) -> CollectAnswer:
                together.wait()
                # With the region given, the race is for the reservation and not for EC2's answer.
                request = CollectRequest(instance_id=node, idempotency_token=TOKEN, region=desk.region)
                return collect(request, desk)

            answers = list(pool.map(call, range(50)))
            assert len({answer.execution_id for answer in answers}) == 1
            assert Counter(answer.idempotent for answer in answers) == {True: 49, False: 1}
    assert [len(sandbox.automation.runs_of(node)) for node in nodes] == [1] * rounds
    assert sandbox.automation.start_requests - requests_before == rounds


def killed(moment: str, what: str, name: str, cluster: str = CLUSTER) -> None:
    program = [sys.executable, "-m", "tests.support.collecting", moment, what, name, cluster]
    done = subprocess.run(program, cwd=ROOT, env=dict(os.environ), capture_output=True, text=True, timeout=60)
    assert done.returncode == -signal.SIGKILL, done.stderr


@pytest.mark.parametrize(("moment", "before"), [("reserved", 0), ("started", 1), ("answered", 1)])
def test_after_a_kill_the_same_token_gives_the_one_execution(
    sandbox: Sandbox, desk: Desk, moment: str, before: int
) -> None:
    node = a_node(sandbox)
    killed(moment, "node", node)
    assert len(sandbox.automation.runs_of(node)) == before
    answer = ask(desk, node)
    assert [run.execution_id for run in sandbox.automation.runs_of(node)] == [answer.execution_id]
    assert answer.idempotent is (moment == "answered")
    listed = history(HistoryRequest(instance_id=node), desk).collections
    assert [entry.execution_id for entry in listed] == [answer.execution_id]


def test_an_answer_of_ssm_that_is_lost_does_not_start_it_twice(sandbox: Sandbox, desk: Desk) -> None:
    node = a_node(sandbox, conduct=Conduct(lost_answers=1))
    # The caller may have to ask again; what counts is how often it ran.
    with suppress(AffidavitError):
        ask(desk, node)
    assert ask(desk, node).execution_id == sandbox.automation.runs_of(node)[0].execution_id
    assert len(sandbox.automation.runs_of(node)) == 1


def test_a_throttled_start_can_be_asked_for_again_at_once(sandbox: Sandbox, desk: Desk) -> None:
    node = a_node(sandbox, conduct=Conduct(refusals=("ThrottlingException",) * 3))
    with pytest.raises(Throttled):
        ask(desk, node)
    assert not sandbox.automation.runs_of(node)
    assert not ask(desk, node).idempotent
    assert len(sandbox.automation.runs_of(node)) == 1


def test_a_node_outside_the_list_or_of_no_cluster_is_refused(sandbox: Sandbox, desk: Desk) -> None:
    foreign = a_node(sandbox, cluster="somebody-elses")
    with pytest.raises(InputRefused, match="may not be collected"):
        ask(desk, foreign)
    with pytest.raises(NotFound):
        ask(desk, "i-0bbbbbbbbbbbbbbbb")
    with pytest.raises(InputRefused, match="not known to belong to a cluster"):
        collect(CollectRequest(instance_id=a_node(sandbox), region="eu-west-1"), desk)
    assert not sandbox.automation.runs_of(foreign)


# --- from collect to completed ---------------------------------------------------------------------------------------


def test_a_collection_is_completed_when_its_bundle_is_indexed(sandbox: Sandbox, desk: Desk) -> None:
    node = a_node(sandbox, faults=("oom",))
    library = a_library()
    execution_id = ask(desk, node).execution_id
    assert look(desk, execution_id).task.state is TaskState.WORKING
    wait_for(lambda: look(desk, execution_id).collection_status == "Success")
    waiting = look(desk, execution_id)
    assert (waiting.task.state, waiting.progress.current_step) == (TaskState.WORKING, "Index the bundle")
    ingest(archive_of(desk, execution_id), library, analyze=analyze)
    done = look(desk, execution_id)
    assert (done.task.state, done.task.ttl, done.progress.percent) == (TaskState.COMPLETED, 0, 100)
    assert any("oom" in finding.pattern.lower() for finding in library.open(node).index.findings)


def test_a_bundle_that_cannot_be_indexed_fails_with_its_reason(sandbox: Sandbox, desk: Desk) -> None:
    node = a_node(sandbox)
    execution_id = ask(desk, node).execution_id
    wait_for(lambda: look(desk, execution_id).collection_status == "Success")
    key = archive_of(desk, execution_id)
    app = build_app(Settings.from_environment())
    app.objects.put(key, b"this is no archive", purpose="test")
    with pytest.raises(AffidavitError):
        ingest(key, a_library(), analyze=analyze)
    failed = look(desk, execution_id).task
    assert (failed.state, failed.ttl) == (TaskState.FAILED, 0)
    assert "could not be indexed" in failed.message


def test_a_collection_that_fails_on_the_node_says_why(sandbox: Sandbox, desk: Desk) -> None:
    node = a_node(sandbox, conduct=Conduct(ends="Failed", failure="less than 10 % of the root volume is free"))
    execution_id = ask(desk, node).execution_id
    wait_for(lambda: look(desk, execution_id).task.state.has_ended)
    assert "less than 10 % of the root volume is free" in look(desk, execution_id).task.message
    assert history(HistoryRequest(instance_id=node), desk).collections[0].state is TaskState.FAILED


def test_a_collection_can_be_cancelled(sandbox: Sandbox, desk: Desk) -> None:
    node = a_node(sandbox, conduct=Conduct(is_hanging=True))
    execution_id = ask(desk, node).execution_id
    assert look(desk, execution_id, cancel=True).task.state is TaskState.CANCELLED
    wait_for(lambda: sandbox.automation.runs_of(node)[0].status == "Cancelled")
    assert look(desk, execution_id).task.message == "the collection was stopped"


def archive_of(desk: Desk, execution_id: str) -> str:
    assert desk.collector is not None
    execution = desk.collector.find(execution_id, region=desk.region)
    assert execution is not None
    assert execution.archive_key is not None
    return execution.archive_key


def a_library() -> Library:
    app = build_app(Settings.from_environment())
    return Library(objects=app.objects, state=app.state, clock=app.clock, knowledge=load_knowledge())


# --- batches ---------------------------------------------------------------------------------------------------------


def ask_all(desk: Desk, cluster: str) -> BatchAnswer:
    request = BatchCollectRequest(cluster_name=cluster, strategy=Strategy.ALL, idempotency_token=TOKEN)
    return batch_collect(request, desk)


def test_a_batch_reports_a_node_that_cannot_be_collected_and_collects_the_rest(sandbox: Sandbox) -> None:
    cluster = f"batch-{next(numbers)}"
    good = [a_node(sandbox, cluster=cluster, conduct=Conduct(is_hanging=True)) for _ in range(3)]
    refusing = Conduct(refusals=("InvalidAutomationExecutionParametersException",) * 9)
    bad = a_node(sandbox, cluster=cluster, conduct=refusing)
    desk = a_desk(cluster)
    answer = ask_all(desk, cluster)
    assert (answer.counts.working, answer.counts.failed) == (3, 1)
    assert [node.instance_id for node in answer.nodes if node.state is TaskState.FAILED] == [bad]
    assert [len(sandbox.automation.runs_of(node)) for node in [*good, bad]] == [1, 1, 1, 0]


def test_a_batch_that_was_killed_half_way_is_continued(sandbox: Sandbox) -> None:
    cluster = f"batch-{next(numbers)}"
    nodes = [a_node(sandbox, cluster=cluster, conduct=Conduct(is_hanging=True)) for _ in range(10)]
    killed("6", "batch", cluster, cluster)
    started = {run.execution_id for node in nodes for run in sandbox.automation.runs_of(node)}
    assert 0 < len(started) < 10
    desk = a_desk(cluster)
    answer = ask_all(desk, cluster)
    assert (answer.idempotent, answer.counts.working) == (True, 10)
    assert [len(sandbox.automation.runs_of(node)) for node in nodes] == [1] * 10
    assert started <= {node.execution_id for node in answer.nodes}
    assert batch_status(BatchStatusRequest(batch_id=answer.batch_id), desk).counts == answer.counts
