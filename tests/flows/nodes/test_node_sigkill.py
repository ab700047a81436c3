"""A node's path, each step a process that is killed with SIGKILL: one collection, one diagnosis, nobody left waiting.

SSM, EC2 and Auto Scaling are the sandbox's, over HTTP; the stores lie in memory, so that many deaths take seconds.
"""

import operator
import os
import signal
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import count
from pathlib import Path

import pytest
from tests.support.clock import ClockAhead
from tests.support.faults import Boundaries, FailingCollector, FailingObjectStore, FailingTable, sigkill
from tests.support.investigations.incidents import memory_folder
from tests.support.processes import loaded  # noqa: F401 - read once, and not in every process
from tests.support.storms import some

from affidavit.adapters.aws.clients import AwsClients
from affidavit.adapters.aws.collector import SsmNodeCollector
from affidavit.adapters.aws.lifecycle_hooks import AutoScalingHooks
from affidavit.adapters.aws.node_directory import Ec2NodeDirectory
from affidavit.bootstrap import App, build_app, build_library
from affidavit.entrypoints.supervisor_wiring import build_supervisor
from affidavit.evidence.incident_subject import Subject, SubjectKind
from affidavit.incidents.incident import Incident
from affidavit.incidents.intake.event_reader import read_alert
from affidavit.incidents.store.state import Status
from affidavit.incidents.supervisor import Supervisor
from affidavit.incidents.telemetry import to_nowhere
from affidavit.incidents.watchdog import tick
from affidavit.investigation import analyze
from affidavit.nodes.ingest.bundle_intake import ingest
from affidavit.ports.lifecycle_hooks import HookAction, LifecycleHooks
from affidavit.sandbox.account.node_archives import archive_of
from affidavit.sandbox.account.nodes import CLUSTER, FleetNode
from affidavit.sandbox.aws.automation import Conduct, archive_key
from affidavit.sandbox.aws.resources import BUCKET
from affidavit.sandbox.sandbox import Sandbox
from affidavit.settings import Settings

REMAINING = timedelta(minutes=5)
LEASE = timedelta(minutes=7)
numbers = count(1)
Step = Callable[["World", Boundaries], None]


@dataclass(frozen=True)
class FailingHooks:
    inner: LifecycleHooks
    boundaries: Boundaries

    def heartbeat(self, action: HookAction) -> bool:
        with self.boundaries.around("hooks.heartbeat"):
            return self.inner.heartbeat(action)

    def go_on(self, action: HookAction) -> None:
        with self.boundaries.around("hooks.go_on"):
            self.inner.go_on(action)


@dataclass(frozen=True, kw_only=True)
class World:
    """A node that Auto Scaling ends, and a deployment of ours."""

    sandbox: Sandbox
    folder: Path
    node: FleetNode
    token: str
    at: datetime
    clock: ClockAhead

    def app(self, boundaries: Boundaries) -> App:
        chosen = {"ENABLE_COLLECTION": "true", "ALLOWED_CLUSTERS": CLUSTER, "CHAT_PROVIDER": "offline"}
        app = build_app(Settings.from_environment({"AFFIDAVIT_DATA": str(self.folder), **chosen}))
        clients = AwsClients(self.node.region)
        return replace(
            app,
            clock=self.clock,
            objects=FailingObjectStore(app.objects, boundaries),
            state=FailingTable(app.state, boundaries),
            incident_state=FailingTable(app.incident_state, boundaries),
            incident_context=FailingTable(app.incident_context, boundaries),
            collector=FailingCollector(SsmNodeCollector(clients, BUCKET), boundaries),
            directory=Ec2NodeDirectory(clients),
            hooks=FailingHooks(AutoScalingHooks(clients), boundaries),
        )

    def supervisor(self, boundaries: Boundaries) -> Supervisor:
        return build_supervisor(self.app(boundaries), emit=to_nowhere, account=lambda: "000000000000")

    def watch(self, after: timedelta) -> None:
        """A round of the watchdog, when the lease of a dead worker has run out."""
        self.clock.ahead += after
        supervisor = self.supervisor(Boundaries())
        tick(supervisor, until=supervisor.clock.now() + timedelta(minutes=10))

    @property
    def alert(self) -> Incident:
        detail = {
            "EC2InstanceId": self.node.instance_id,
            "AutoScalingGroupName": "workers",
            "LifecycleHookName": "affidavit-save-logs",
            "LifecycleActionToken": self.token,
            "LifecycleTransition": "autoscaling:EC2_INSTANCE_TERMINATING",
        }
        read = read_alert(
            {
                "id": self.token,
                "detail-type": "EC2 Instance-terminate Lifecycle Action",
                "source": "aws.autoscaling",
                "account": "000000000000",
                "region": self.node.region,
                "time": self.at.isoformat(),
                "detail": detail,
            },
            now=self.at,
        )
        assert isinstance(read, Incident)
        return read


def alerted(world: World, boundaries: Boundaries) -> None:
    world.supervisor(boundaries).receive(world.alert, remaining=REMAINING)


def indexed(world: World, boundaries: Boundaries) -> None:
    """What the bucket's event starts once the node has uploaded."""
    app = world.app(boundaries)
    ingest(archive_key(world.node.instance_id), build_library(app), analyze=analyze, workers=1, keeps_archive=False)


def woken(world: World, boundaries: Boundaries) -> None:
    subject = Subject(kind=SubjectKind.NODE, id=world.node.instance_id)
    world.supervisor(boundaries).wake(subject, remaining=REMAINING)


STEPS: tuple[Step, ...] = (alerted, indexed, woken)


@pytest.fixture
def make(sandbox: Sandbox, aws_environment: dict[str, str]) -> Iterator[Callable[[], World]]:
    with memory_folder() as folder:

        def world() -> World:
            number = next(numbers)
            node = FleetNode(instance_id=f"i-0de1d0000{number:08x}", faults=("oom",))
            sandbox.fleet.add(node)
            sandbox.automation.conduct(node.instance_id, Conduct(step_seconds=0.0))
            token = str(uuid.uuid4())
            sandbox.lifecycle.begin(token)
            place = folder / str(number)
            place.mkdir()
            return World(
                sandbox=sandbox, folder=place, node=node, token=token, at=datetime.now(UTC), clock=ClockAhead()
            )

        yield world


def uploaded(world: World) -> None:
    """The sandbox's bucket is not the one in memory: what the node brought is carried over."""
    until = time.monotonic() + 60
    while not any(run.status == "Success" for run in world.sandbox.automation.runs_of(world.node.instance_id)):
        assert time.monotonic() < until, "it was not collected"
        time.sleep(0.01)
    objects = world.app(Boundaries()).objects
    objects.put_new(archive_key(world.node.instance_id), archive_of(world.node), purpose="collect")


def in_a_process(step: Step, world: World, boundaries: Boundaries) -> bool:
    """Whether it was killed."""
    child = os.fork()
    if child == 0:
        step(world, boundaries)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL


def boundaries_of(make: Callable[[], World]) -> dict[Step, list[str]]:
    """What an undisturbed path passes, step by step."""
    world, reached = make(), dict[Step, list[str]]()
    for step in STEPS:
        if step is indexed:
            uploaded(world)
        boundaries = Boundaries()
        step(world, boundaries)
        reached[step] = boundaries.reached
    proven(world)
    return reached


def lived_through(world: World, step: Step, deadly: Boundaries) -> None:
    """Killed at one boundary of one step. Then what comes by itself: the events again, and the watchdog, later."""
    for one in STEPS:
        if one is indexed:
            uploaded(world)
        if one is not step:
            one(world, Boundaries())
            continue
        assert in_a_process(one, world, deadly), f"{step.__name__} never reached {deadly}"
        # SNS and SQS deliver again what nobody said to have handled.
        one(world, Boundaries())
        world.watch(LEASE)
    proven(world)


def proven(world: World) -> None:
    supervisor = world.supervisor(Boundaries())
    state = supervisor.states.get_state(world.alert.incident_id)
    assert state is not None
    context = supervisor.contexts.get_context(state.incident_id)
    assert state.status is Status.DIAGNOSED, state
    assert context is not None
    assert context.diagnosis is not None
    assert len(list(supervisor.states.listed(world.at, limit=10))) == 1
    assert len(world.sandbox.automation.runs_of(world.node.instance_id)) == 1
    assert world.sandbox.lifecycle.results[world.token] == "CONTINUE"


# A boundary of each kind that the path is made of, by the step that passes it and its name.
NAMED = (
    (alerted, "affidavit-state.write after"),  # the rung is taken
    (alerted, "collector.start after"),  # it is asked, and nobody heard the answer
    (indexed, "affidavit-state.write after"),  # it is indexed, and nobody told
    (woken, "incident-state.write after"),  # the worker that was woken dies
    (woken, "incident-state.write_all before"),  # diagnosed, and not stored
)


def test_killed_at_each_kind_of_boundary_a_node_is_collected_once_diagnosed_once_and_let_go(
    make: Callable[[], World],
) -> None:
    reached = boundaries_of(make)
    for step, name in NAMED:
        assert name in reached[step], f"{step.__name__} passes {', '.join(dict.fromkeys(reached[step]))}"
        # By its name: how often a path renews its lease before it, and so its number, depends on how fast it is.
        lived_through(make(), step, Boundaries(only=partial(operator.eq, name), act=sigkill))


@pytest.mark.slow
def test_crashes_all_along_the_path_leave_no_group_waiting_and_no_node_collected_twice(
    make: Callable[[], World],
) -> None:
    """Spread over every boundary of the path, in turn."""
    reached = boundaries_of(make)
    every = [(step, at) for step, names in reached.items() for at in range(len(names))]
    for step, at in some(every, 12):
        lived_through(make(), step, Boundaries(at=at, act=sigkill))
