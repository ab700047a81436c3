"""Repairs under storms: many redeemers, and an executor that is killed at every boundary."""

import os
import signal
import time
import traceback
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from tests.support.clock import FakeClock
from tests.support.faults import Boundaries, FailingTable, sigkill
from tests.support.investigations.incidents import memory_folder
from tests.support.repairing.every_repair import EveryRepair, make_every
from tests.support.repairing.remediation import a_plan, an_action
from tests.support.repairing.repairs import ALICE, CountedDoor, Workshop, a_workshop, arn_of
from tests.support.storms import IS_FULL, storm

from affidavit.adapters.aws.clients import AwsClients
from affidavit.adapters.aws.storage.table import DynamoTable
from affidavit.errors import Conflict, Throttled
from affidavit.incidents.incident import IncidentId
from affidavit.incidents.store.state import Status, state_key
from affidavit.ports.aws_reads_and_changes import ApiCall
from affidavit.ports.json import Item
from affidavit.ports.table import Put, Table
from affidavit.remediation.actions.action_type import Aim
from affidavit.remediation.actions.catalog import action_type, catalog
from affidavit.remediation.execution.executor import Executor
from affidavit.remediation.plan.plan_record import Action, PlanId
from affidavit.remediation.plan.seal import canonical_bytes
from affidavit.remediation.record.check import broken_record
from affidavit.remediation.record.phases import Phase
from affidavit.remediation.record.store import PlanRow, PlanStore
from affidavit.sandbox.aws.resources import make_table
from affidavit.sandbox.sandbox import Sandbox

pytestmark = pytest.mark.slow


@pytest.fixture
def folder() -> Iterator[Path]:
    with memory_folder() as made:
        yield made


@pytest.mark.parametrize("store", ["sqlite", "dynamodb"])
def test_many_redeemers_of_many_plans_start_each_once(store: str, folder: Path, request: pytest.FixtureRequest) -> None:
    workshop, redeemers, plans = a_workshop(folder), storm(10, full=50), storm(30, full=200)
    if store == "dynamodb":
        workshop.plans = PlanStore(_dynamo_table(request, workshop.clock), workshop.bench.objects, workshop.clock)
    ids = [_approved(workshop, number).plan_id for number in range(plans)]
    executor = workshop.executor

    def redeem(plan_id: str) -> str | None:
        row = workshop.plans.get(plan_id)
        if row.phase is not Phase.APPROVED:
            return None
        try:
            return executor.redeem(row, workshop.plans.plan(row)).plan_id
        except Conflict:
            return None

    # All redeemers of a plan come at once, four of them at the same moment: more would only wait for each other.
    with ThreadPoolExecutor(4) as pool:
        started = list(pool.map(redeem, [one for one in ids for _ in range(redeemers)]))
    assert len(started) == redeemers * plans
    assert sorted(one for one in started if one is not None) == sorted(ids)


def _dynamo_table(request: pytest.FixtureRequest, clock: FakeClock) -> Table:
    request.getfixturevalue("aws_environment")
    sandbox, name = request.getfixturevalue("sandbox"), f"storm-{uuid4().hex}"
    make_table(sandbox.account, name)
    return DynamoTable(AwsClients(sandbox.region), name, clock)


def _approved(workshop: Workshop, number: int) -> PlanRow:
    """Of an incident that only its row tells of: nothing else of it is asked for."""
    incident, now = IncidentId(f"inc-{number}"), workshop.clock.now()
    key = state_key(incident)
    workshop.plans.table.write(Put(item={"pk": key.pk, "sk": key.sk, "status": Status.DIAGNOSED.value}))
    names = {"plan_id": PlanId(f"plan-{number}"), "incident_id": incident}
    plan = a_plan(an_action(target=arn_of(f"orders-{number}")), **names, expires_at=now + timedelta(hours=1))
    return workshop.approved(replace(plan, created_at=now))


# --- killed executors ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def every(sandbox: Sandbox) -> Iterator[EveryRepair]:
    """One account for all types; each has its own things in it."""
    with memory_folder() as made, pytest.MonkeyPatch.context() as patch:
        for name, value in sandbox.environment.items():
            patch.setenv(name, value)
        for service in ("EC2", "SSM", "AUTO_SCALING"):
            patch.setenv(f"AWS_ENDPOINT_URL_{service}", sandbox.environment["AWS_ENDPOINT_URL"])
        workshop = a_workshop(made, sandbox)
        workshop.read_back_seconds = 60.0
        yield make_every(sandbox, workshop)


@dataclass
class KilledDoor:
    """The real door. Every call is a boundary, and one that was made leaves a line in a file: files outlive a kill."""

    inner: Any
    boundaries: Boundaries
    made: Path

    def open(self, grant: Any) -> Any:
        return KilledChanger(self, self.inner.open(grant))


@dataclass
class KilledChanger:
    door: KilledDoor
    inner: Any

    def call(self, call: Any) -> Any:
        with self.door.boundaries.around("call"):
            answer = self.inner.call(call)
            with self.door.made.open("a") as file:
                file.write(f"{call.action}\n")
            return answer


@dataclass
class Killing:
    """Has plans carried out by real processes that kill themselves at a boundary. Forked ones: imports cost once."""

    workshop: Workshop
    folder: Path

    def run(self, plan_id: str, at: int | None = None, *, work: str = "run") -> list[str]:
        """Without a boundary: those that there are."""
        report = self.folder / "boundaries"
        child = os.fork()
        if child == 0:
            try:
                boundaries = Boundaries(at=at, act=sigkill)
                self._work(plan_id, boundaries, work)
                report.write_text("\n".join(boundaries.reached))
            except BaseException:  # noqa: BLE001 - whatever it was, the child must not go on as a second pytest
                traceback.print_exc()
            finally:
                os._exit(0)
        _, status = os.waitpid(child, 0)
        if at is None:
            return report.read_text().splitlines()
        assert os.WIFSIGNALED(status)
        assert os.WTERMSIG(status) == signal.SIGKILL
        return []

    def calls(self) -> list[str]:
        """What was called since the last time, by any process."""
        made = self._made.read_text().splitlines() if self._made.exists() else []
        self._made.unlink(missing_ok=True)
        return made

    def settle(self, plan_id: str) -> PlanRow:
        """As a person does who runs it again, once the executor is taken for dead."""
        self.workshop.clock.pass_by(timedelta(minutes=21))
        if not self.workshop.plans.get(plan_id).phase.has_ended:
            door, self.workshop.door = self.workshop.door, KilledDoor(self.workshop.door, Boundaries(), self._made)
            while _cannot_tell_yet(self.workshop.executor, plan_id):
                time.sleep(0.05)
            self.workshop.door = door
        return self.workshop.plans.get(plan_id)

    def _work(self, plan_id: str, boundaries: Boundaries, work: str) -> None:
        mine = replace(self.workshop, door=KilledDoor(self.workshop.door, boundaries, self._made))
        mine.plans = PlanStore(FailingTable(mine.plans.table, boundaries), mine.bench.objects, mine.clock)
        if work == "undo":
            mine.executor.undo(plan_id, ALICE.identity)
        else:
            mine.executor.run(plan_id)

    @property
    def _made(self) -> Path:
        return self.folder / "calls"


def _cannot_tell_yet(executor: Executor, plan_id: str) -> bool:
    """AWS may still carry out what the dead one asked for: then whoever settles tries again later."""
    try:
        executor.run(plan_id)
    except Conflict as conflict:
        if "nobody can say yet" not in str(conflict):
            raise
        return True
    return False


def writes_and_calls(boundaries: list[str]) -> list[int]:
    return [at for at, what in enumerate(boundaries) if ".write" in what or what.startswith("call")]


def mechanism(kind: str) -> tuple[object, ...]:
    """What an executor goes by: types that are alike in it pass through the same lines of it."""
    of = action_type(kind)
    return kind.partition(".")[0], of.has_token, of.undo_class, of.subject_kind


# The first type of each mechanism. What dies around its call may have an effect: there all types are killed.
WHOLE = [*catalog()] if IS_FULL else [*{mechanism(kind): kind for kind in reversed(catalog())}.values()]


@pytest.mark.parametrize("kind", list(catalog()))
def test_an_executor_killed_at_every_boundary_has_at_most_one_effect_and_is_settled_right(
    kind: str, every: EveryRepair, folder: Path
) -> None:
    workshop, killing, ends = every.workshop, Killing(every.workshop, folder), dict[Phase, int]()
    row = workshop.approved_by_all(every.action(kind))
    boundaries = killing.run(row.plan_id)
    once = killing.calls()
    assert workshop.plans.get(row.plan_id).phase is Phase.PROVEN
    places = writes_and_calls(boundaries)
    for at in places if kind in WHOLE else [one for one in places if boundaries[one].startswith("call")]:
        workshop.clock.pass_by(timedelta(hours=1))
        action = every.action(kind)
        row = workshop.approved_by_all(action)
        killing.run(row.plan_id, at)
        intents = [one for one in workshop.plans.record(row.plan_id) if one.phase is Phase.INTENT_WRITTEN]
        before = killing.calls()
        assert not before or [one.details["undo"] for one in intents] == [action.undo], boundaries[at]
        row = killing.settle(row.plan_id)
        made = before + killing.calls()
        assert made == once[: len(made)], boundaries[at]
        is_repaired = made == once
        assert row.phase is (Phase.PROVEN if is_repaired else Phase.STALE), boundaries[at]
        state = action_type(kind).read(Aim(target=action.target, arguments=action.arguments), workshop.reader).state
        assert state == (action.expected if is_repaired else action.precondition.state), boundaries[at]
        assert workshop.status(row.incident_id) is (Status.REMEDIATED if is_repaired else Status.DIAGNOSED)
        assert list(broken_record(workshop.plans, row.plan_id)) == []
        assert workshop.starts.releasing(workshop.plans.plan(row)) == [], "nobody waits for the dead"
        ends[row.phase] = ends.get(row.phase, 0) + 1
    assert len(places) >= 12
    assert set(ends) == {Phase.STALE, Phase.PROVEN}


MIXED = (
    "lambda.concurrency.restore",
    "iam.inline_policy.restore",
    "ec2.egress.restore",
    "lambda.permission.restore",
    "ec2.route.restore",
    "kms.key.enable",
)


@pytest.mark.parametrize("failing", range(len(MIXED)))
def test_whichever_step_of_many_types_fails_the_others_are_taken_back_in_reverse_order(
    failing: int, every: EveryRepair
) -> None:
    actions = [every.action(kind) for kind in MIXED]
    every.workshop.clock.pass_by(timedelta(hours=1))
    door = CountedDoor(every.workshop.door.inner)
    workshop = replace(every.workshop, door=door)
    row = workshop.approved_by_all(*actions)

    made = [one.action for action in actions[:failing] for one in calls_of(action, None)]
    back = [one.action for action in reversed(actions[:failing]) for one in calls_of(action, action.undo)]

    def fail(_: ApiCall) -> None:
        if len(door.calls) == len(made) + 1:
            raise Throttled("not now")

    door.before = fail
    row = workshop.executor.run(row.plan_id)
    assert row.phase is (Phase.UNDONE if failing else Phase.STALE)
    assert [one.action for one in door.calls] == [*made, calls_of(actions[failing], None)[0].action, *back]
    for action in actions:
        live = action_type(action.type).read(Aim(target=action.target, arguments=action.arguments), workshop.reader)
        assert canonical_bytes(live.state) == canonical_bytes(action.precondition.state), action.type


def calls_of(action: Action, arguments: Item | None) -> tuple[ApiCall, ...]:
    return action_type(action.type).calls(Aim(target=action.target, arguments=arguments or action.arguments), None)


@pytest.mark.parametrize("kind", ["lambda.permission.restore", "ec2.route.restore"])
def test_an_undo_killed_at_every_boundary_is_ended_by_the_next_and_made_once(
    kind: str, every: EveryRepair, folder: Path
) -> None:
    workshop, killing = every.workshop, Killing(every.workshop, folder)

    def proven() -> tuple[Action, str]:
        workshop.clock.pass_by(timedelta(hours=1))
        action = every.action(kind)
        return action, workshop.executor.run(workshop.approved_by_all(action).plan_id).plan_id

    boundaries = killing.run(proven()[1], work="undo")
    once = killing.calls()
    for at in writes_and_calls(boundaries):
        action, plan_id = proven()
        killing.run(plan_id, at, work="undo")
        row = killing.settle(plan_id)
        made = killing.calls()
        assert made in ([], once), boundaries[at]
        # Killed before its first write it was never asked for.
        assert row.phase is (Phase.UNDONE if made else Phase.PROVEN), boundaries[at]
        state = action_type(kind).read(Aim(target=action.target, arguments=action.arguments), workshop.reader).state
        assert state == (action.precondition.state if made else action.expected), boundaries[at]
        assert list(broken_record(workshop.plans, plan_id)) == []
        assert workshop.starts.releasing(workshop.plans.plan(row)) == [], "nobody waits for the dead"
    assert len(writes_and_calls(boundaries)) == 10
