"""A fleet in memory for collection: nodes, a runbook that does as it is told, an index ready when a test says so."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

from affidavit.adapters.local.table import SqliteTable
from affidavit.collection.tool_dependencies import Desk
from affidavit.errors import AffidavitError, InputRefused
from affidavit.ports.node_collector import Execution, Step
from affidavit.ports.node_directory import Node
from tests.support.clock import FakeClock

NODE = "i-0123456789abcdef0"
OTHER_NODE = "i-0fedcba9876543210"
STRANGER = "i-0aaaaaaaaaaaaaaaa"
REGION = "ca-central-1"
CLUSTER = "prod"


class ScriptedCollector:
    """Dedups on the ClientToken like SSM. A test sets statuses and failures, and may step in around a start."""

    def __init__(self) -> None:
        self.executions: dict[str, Execution] = {}
        self.by_token: dict[str, str] = {}
        self.regions: list[str] = []
        self.stopped: list[str] = []
        self.refuses: dict[str, AffidavitError] = {}
        self.find_fails: AffidavitError | None = None
        self.stop_fails: AffidavitError | None = None
        self.before_start: Callable[[], None] = lambda: None
        self._lock = threading.Lock()

    def start(self, instance_id: str, *, region: str, client_token: str) -> str:
        self.before_start()
        if instance_id in self.refuses:
            raise self.refuses[instance_id]
        with self._lock:
            self.regions.append(region)
            if client_token not in self.by_token:
                self._begin(instance_id, client_token)
            return self.by_token[client_token]

    def _begin(self, instance_id: str, client_token: str) -> None:
        execution_id = str(uuid4())
        self.by_token[client_token] = execution_id
        self.executions[execution_id] = Execution(
            execution_id=execution_id,
            instance_id=instance_id,
            status="InProgress",
            started=None,
            ended=None,
            steps=(Step(name="Validate", status="Success"), Step(name="Collect", status="InProgress")),
            failure=None,
            archive_key=None,
        )

    def find(self, execution_id: str, *, region: str) -> Execution | None:
        if self.find_fails is not None:
            raise self.find_fails
        return self.executions.get(execution_id)

    def stop(self, execution_id: str, *, region: str) -> None:
        self.stopped.append(execution_id)
        if self.stop_fails is not None:
            raise self.stop_fails
        self.becomes(execution_id, "Cancelling")

    def becomes(
        self, execution_id: str, status: str, *, failure: str | None = None, ended: datetime | None = None
    ) -> None:
        steps = self.executions[execution_id].steps
        if status == "Success":
            steps = tuple(Step(name=step.name, status="Success") for step in steps)
        self.executions[execution_id] = replace(
            self.executions[execution_id], status=status, failure=failure, steps=steps, ended=ended
        )

    def forget(self, execution_id: str) -> None:
        del self.executions[execution_id]


class ListedNodes:
    def __init__(self, nodes: Sequence[Node] = ()) -> None:
        self.nodes = list(nodes) or [a_node(NODE), a_node(OTHER_NODE)]

    def region_of(self, instance_id: str) -> str | None:
        return next((node.region for node in self.nodes if node.instance_id == instance_id), None)

    def cluster_of(self, instance_id: str, *, region: str) -> str | None:
        here = [node for node in self.nodes if node.region == region and node.instance_id == instance_id]
        return here[0].cluster if here else None

    def nodes_of(self, cluster: str, *, region: str) -> Sequence[Node]:
        found = [node for node in self.nodes if node.cluster == cluster and node.region == region]
        if not found:
            raise InputRefused(f"no cluster {cluster} in {region}")
        return found


@dataclass
class SetIndex:
    indexed: set[str] = field(default_factory=set)
    failures: dict[str, str] = field(default_factory=dict)
    doubts: dict[str, str] = field(default_factory=dict)

    def doubt(self, instance_id: str, execution: Execution) -> str:
        return self.doubts.get(execution.execution_id, "")

    def is_indexed(self, instance_id: str, execution: Execution) -> bool:
        return execution.execution_id in self.indexed

    def index_of(self, instance_id: str, execution: Execution) -> str | None:
        return f"ix-{execution.execution_id}" if self.is_indexed(instance_id, execution) else None

    def failure(self, instance_id: str, execution: Execution) -> str | None:
        return self.failures.get(execution.execution_id)


def a_node(
    instance_id: str,
    *,
    zone: str = "ca-central-1a",
    instance_type: str = "m5.large",
    state: str = "running",
    is_healthy: bool | None = True,
    cluster: str = CLUSTER,
    region: str = REGION,
) -> Node:
    return Node(
        instance_id=instance_id,
        cluster=cluster,
        region=region,
        zone=zone,
        instance_type=instance_type,
        state=state,
        is_healthy=is_healthy,
    )


class Fleet:
    """The desk and everything behind it, within a test's reach."""

    def __init__(self, folder: Path, nodes: Sequence[Node] = ()) -> None:
        self.clock = FakeClock(datetime(2026, 3, 1, 12, 0, tzinfo=UTC))
        self.table = SqliteTable(folder / "state.db", "state", self.clock)
        self.collector = ScriptedCollector()
        self.directory = ListedNodes(nodes)
        self.index = SetIndex()
        self.desk = Desk(
            state=self.table,
            clock=self.clock,
            collector=self.collector,
            directory=self.directory,
            index=self.index,
            region=REGION,
            is_enabled=True,
            clusters=frozenset({CLUSTER}),
            pause=lambda _seconds: None,
        )
