"""Repairs under storms: many redeemers, and an executor that is killed at every boundary."""

import os
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from tests.support.faults import Boundaries, FailingTable, sigkill
from tests.support.incidents import memory_folder
from tests.support.remediation import an_action
from tests.support.repaired_function import make_function
from tests.support.repairs import Workshop, a_workshop, arn_of

from affidavit.errors import Conflict
from affidavit.incidents.store.state import Status
from affidavit.remediation.record.check import broken_record
from affidavit.remediation.record.phases import Phase
from affidavit.remediation.record.store import PlanStore
from affidavit.sandbox.laptop import Sandbox

pytestmark = pytest.mark.slow
CONCURRENCY = "lambda.concurrency.restore"


@pytest.fixture
def folder() -> Iterator[Path]:
    with memory_folder() as made:
        yield made


def test_fifty_redeemers_of_two_hundred_plans_start_each_once(folder: Path) -> None:
    workshop = a_workshop(folder)
    plans = [workshop.plan(an_action(target=arn_of(f"orders-{number}"))) for number in range(200)]
    rows = [workshop.approved(plan) for plan in plans]
    started, lock = list[str](), threading.Lock()

    def redeem(number: int) -> None:
        for at in range(len(plans)):
            place = (at + number * 4) % len(plans)
            try:
                row = workshop.executor.redeem(rows[place], plans[place])
            except Conflict:
                continue
            with lock:
                started.append(row.plan_id)

    with ThreadPoolExecutor(50) as pool:
        list(pool.map(redeem, range(50)))
    assert sorted(started) == sorted(plan.plan_id for plan in plans)


@pytest.fixture
def workshop(folder: Path, sandbox: Sandbox, aws_environment: dict[str, str]) -> Workshop:
    return a_workshop(folder, sandbox)


class KilledDoor:
    def __init__(self, inner: Any, boundaries: Boundaries) -> None:
        self.inner, self.boundaries = inner, boundaries

    def open(self, grant: Any) -> Any:
        changer, boundaries = self.inner.open(grant), self.boundaries

        class _Changer:
            def call(self, call: Any) -> Any:
                with boundaries.around("call"):
                    return changer.call(call)

        return _Changer()


def run_in_child(folder: Path, sandbox: Sandbox, workshop: Workshop, plan_id: str, at: int | None) -> list[str]:
    """A real process that kills itself at this boundary. Without one: the boundaries that there are."""
    report = folder / f"boundaries-{uuid4().hex}"
    child = os.fork()
    if child == 0:
        try:
            mine = a_workshop(folder, sandbox)
            mine.sources.documents = workshop.sources.documents
            mine.clock.at = workshop.clock.at
            boundaries = Boundaries(at=at, act=sigkill)
            table = FailingTable(mine.plans.table, boundaries)
            mine.plans = PlanStore(table, mine.bench.objects, mine.clock)
            mine.door = KilledDoor(mine.door, boundaries)
            mine.executor.run(plan_id)
            report.write_text("\n".join(boundaries.reached))
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    if at is not None:
        assert os.WIFSIGNALED(status)
        assert os.WTERMSIG(status) == signal.SIGKILL
        return []
    return report.read_text().splitlines()


def test_an_executor_killed_at_every_boundary_has_at_most_one_effect_and_is_settled_right(
    folder: Path, sandbox: Sandbox, workshop: Workshop
) -> None:
    client, ends = sandbox.client("lambda"), dict[str, int]()
    name = make_function(sandbox, f"orders-{uuid4().hex[:8]}")

    def approved() -> Any:
        client.put_function_concurrency(FunctionName=name, ReservedConcurrentExecutions=0)
        workshop.clock.pass_by(timedelta(minutes=1))
        return workshop.approved(workshop.plan(workshop.action(CONCURRENCY, arn_of(name), {"reserved": 5})))

    boundaries = run_in_child(folder, sandbox, workshop, approved().plan_id, None)
    writes = [place for place, what in enumerate(boundaries) if ".write" in what or what.startswith("call")]
    assert len(writes) >= 12
    for at in writes:
        row = approved()
        run_in_child(folder, sandbox, workshop, row.plan_id, at)
        committed = client.get_function_concurrency(FunctionName=name).get("ReservedConcurrentExecutions") == 5
        record = workshop.plans.record(row.plan_id)
        assert not committed or any(one.details.get("undo") == {"reserved": 0} for one in record)
        workshop.clock.pass_by(timedelta(minutes=21))
        if not workshop.plans.get(row.plan_id).phase.has_ended:
            row = workshop.executor.run(row.plan_id)
        row = workshop.plans.get(row.plan_id)
        workshop.starts.release(workshop.plans.plan(row))
        now = client.get_function_concurrency(FunctionName=name).get("ReservedConcurrentExecutions")
        status = workshop.status(row.incident_id)
        if not committed and row.phase is not Phase.PROVEN:
            assert (row.phase, now, status) == (Phase.STALE, 0, Status.DIAGNOSED), boundaries[at]
        else:
            assert (row.phase, now, status) == (Phase.PROVEN, 5, Status.REMEDIATED), boundaries[at]
        assert list(broken_record(workshop.plans, row.plan_id)) == []
        ends[row.phase] = ends.get(row.phase, 0) + 1
    assert set(ends) == {Phase.STALE, Phase.PROVEN}
