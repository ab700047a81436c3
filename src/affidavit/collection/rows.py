"""The rows that collection keeps in the state table, and for how long. Every reader treats an expired row as absent."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final, Self, cast

from pydantic import BaseModel, ConfigDict

from affidavit.collection.requests import Strategy
from affidavit.collection.task_state import TaskState
from affidavit.ports.json import Item, JsonValue
from affidavit.ports.table import Key

RESERVATION_LIFE: Final = timedelta(hours=24)
EXECUTION_LIFE: Final = timedelta(hours=48)
BATCH_LIFE: Final = timedelta(hours=48)
# A second click or a retry after a lost answer comes at once; a new collection of the same node comes later.
SAME_QUESTION: Final = timedelta(minutes=5)

ALL_NODES: Final = "HISTORY"


def reservation_key(instance_id: str, token: str) -> Key:
    return Key(pk=f"IDEMP#{instance_id}#{token}", sk="IDEMPOTENCY")


def recent_key(instance_id: str) -> Key:
    return Key(pk=f"IDEMP#{instance_id}", sk="RECENT")


def recent_batch_key(cluster: str, region: str, strategy: Strategy, max_nodes: int) -> Key:
    return Key(pk=f"BATCH#{cluster}", sk=f"RECENT#{region}#{strategy}#{max_nodes}")


def execution_key(execution_id: str) -> Key:
    return Key(pk=f"EXEC#{execution_id}", sk="REGION")


def batch_key(batch_id: str) -> Key:
    return Key(pk=f"BATCH#{batch_id}", sk="META")


def batch_node_key(batch_id: str, instance_id: str) -> Key:
    return Key(pk=f"BATCH#{batch_id}", sk=f"NODE#{instance_id}")


def history_of(instance_id: str | None) -> str:
    """The partition of a node's collections, or of all nodes'."""
    return ALL_NODES if instance_id is None else f"{ALL_NODES}#{instance_id}"


class Row(BaseModel):
    """Fields without a value are not stored, so that a condition can say `Lacks`."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    @classmethod
    def of(cls, item: Item) -> Self:
        return cls.model_validate(item)

    def item(self, key: Key, *, now: datetime, life: timedelta) -> Item:
        values = cast("Mapping[str, JsonValue]", self.model_dump(mode="json", exclude_none=True))  # dumped as JSON
        return {**values, "pk": key.pk, "sk": key.sk, "ttl": int((now + life).timestamp())}


class Reservation(Row):
    """A caller's claim to start an execution, written before SSM is called. `execution_id` is set once it is known."""

    instance_id: str
    token: str
    region: str
    cluster: str
    client_token: str
    owner: str
    lease_until: float
    execution_id: str | None = None

    @property
    def key(self) -> Key:
        return reservation_key(self.instance_id, self.token)


class KnownExecution(Row):
    """An execution that we started. `state` is set once it has ended for good."""

    execution_id: str
    instance_id: str
    region: str
    cluster: str
    token: str
    recorded_at: datetime
    state: TaskState | None = None
    message: str = ""
    index_id: str | None = None
    """Of the bundle it delivered, as it was when it had just been indexed."""


class ChosenNode(Row):
    instance_id: str
    zone: str
    instance_type: str


class PassedOverNode(Row):
    instance_id: str
    reason: str


class Batch(Row):
    """The nodes of a batch. They are chosen once, so a second call continues the same batch."""

    batch_id: str
    cluster: str
    region: str
    strategy: Strategy
    token: str
    nodes: list[ChosenNode]
    nodes_found: int
    left_out: int
    passed_over: list[PassedOverNode]
    passed_over_total: int


class AskedNode(Row):
    """Has either `execution_id` or `trouble`."""

    instance_id: str
    execution_id: str | None = None
    trouble: str | None = None
