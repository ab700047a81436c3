"""What the domain needs of the outside: a few small protocols. Adapters live in `adapters/local` and `adapters/aws`.

One contract suite (`tests/contracts`) runs on every adapter of a port.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol, TypeAlias

from affidavit.errors import Conflict, NotFound

JsonValue: TypeAlias = "bool | int | float | str | Sequence[JsonValue] | Mapping[str, JsonValue] | None"
Item: TypeAlias = Mapping[str, JsonValue]


class Clock(Protocol):
    def now(self) -> datetime:
        """Aware, UTC."""
        ...


class SystemClock:
    def now(self) -> datetime:
        return datetime.now(UTC)


# --- objects ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredObject:
    key: str
    size: int
    modified: datetime


class ObjectStore(Protocol):
    """Bytes under keys such as `eks_i-0abc/extracted/system/x.log`. A write is seen whole or not at all.

    Every method that names a missing object raises ObjectMissing; an outage raises UpstreamFailed.
    """

    def get(self, key: str) -> bytes: ...

    def read(self, key: str, start: int, end: int) -> bytes:
        """The bytes from `start` to `end` (exclusive), fewer when the object ends early."""
        ...

    def head(self, key: str) -> StoredObject | None: ...

    def put(self, key: str, data: bytes, *, purpose: str) -> None:
        """`purpose` names the tool that writes; it goes into the encryption context."""
        ...

    def put_new(self, key: str, data: bytes, *, purpose: str) -> bool:
        """False, and nothing written, when the object was there already. Atomic: of many callers one gets True."""
        ...

    def put_file(self, key: str, path: Path, *, purpose: str) -> None: ...

    def list(self, prefix: str) -> Iterator[StoredObject]:
        """In key order."""
        ...

    def folders(self, prefix: str, *, after: str = "") -> Iterator[str]:
        """First segments of keys that begin with `prefix` and come after `after`, each once, in key order."""
        ...

    def local_copy(self, key: str) -> Path:
        """A file with the object's bytes: the object itself in a directory, a cached download elsewhere. Read only."""
        ...

    def link(self, key: str, *, seconds: int) -> str:
        """A presigned URL, or a local path."""
        ...


class ObjectMissing(NotFound):
    pass


# --- tables ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, slots=True)
class Key:
    pk: str
    sk: str


@dataclass(frozen=True, slots=True)
class Absent:
    """No such item (or an expired one)."""


@dataclass(frozen=True, slots=True)
class Present:
    """There is such an item, and it has not expired."""


@dataclass(frozen=True, slots=True)
class Equals:
    attribute: str
    value: JsonValue


@dataclass(frozen=True, slots=True)
class AtMost:
    """The attribute is there and at most `value`."""

    attribute: str
    value: int | float


@dataclass(frozen=True, slots=True)
class Lacks:
    """The item is there without this attribute."""

    attribute: str


@dataclass(frozen=True, slots=True)
class AllOf:
    conditions: "tuple[Condition, ...]"


@dataclass(frozen=True, slots=True)
class AnyOf:
    conditions: "tuple[Condition, ...]"


Condition: TypeAlias = Absent | Present | Equals | AtMost | Lacks | AllOf | AnyOf


@dataclass(frozen=True, kw_only=True, slots=True)
class Put:
    """`item` has `pk` and `sk`; it replaces what was there."""

    item: Item
    when: Condition | None = None
    table: "Table | None" = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Update:
    """Changes some attributes; makes the item when `when` allows an absent one. `add` counts from 0."""

    key: Key
    set: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    add: Mapping[str, int] = field(default_factory=dict[str, int])
    remove: tuple[str, ...] = ()
    when: Condition | None = None
    table: "Table | None" = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Delete:
    key: Key
    when: Condition | None = None
    table: "Table | None" = None


Write: TypeAlias = Put | Update | Delete


class ConditionFailed(Conflict):
    """A stale writer lost. `existing` is the item that stood in the way, where the adapter could see it."""

    def __init__(self, message: str, *, existing: Item | None = None) -> None:
        super().__init__(message, hint="read the item again; somebody else changed it first")
        self.existing = existing


class Table(Protocol):
    """Items under two keys, `pk` and `sk`. Writes are conditional: a stale writer loses and learns so.

    An item whose `ttl` (epoch seconds) has passed is absent to every method, whether or not the store removed it yet.
    Items with both `due` (a text) and `due_at` (a number) also stand in a sparse index, read by `due_before`.
    """

    @property
    def name(self) -> str: ...

    def get(self, key: Key) -> Item | None:
        """A consistent read."""
        ...

    def write(self, write: Write) -> Item | None:
        """The item as it is after the write (None after a Delete). Raises ConditionFailed."""
        ...

    def write_all(self, writes: Sequence[Write]) -> None:
        """All or none, also across tables (a write's `table`). Raises ConditionFailed."""
        ...

    def query(
        self, pk: str, *, sk_prefix: str = "", newest_first: bool = False, limit: int | None = None
    ) -> Sequence[Item]:
        """Items of one partition in the order of `sk`."""
        ...

    def due_before(self, due: str, at: float, *, limit: int = 100) -> Sequence[Item]:
        """Items with this `due` and `due_at <= at`, earliest first. May lag behind writes: decide by a condition."""
        ...


# --- nodes -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    name: str
    status: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Execution:
    """One run of the collection runbook. `status` is the service's own word."""

    execution_id: str
    instance_id: str
    status: str
    started: datetime | None
    ended: datetime | None
    steps: tuple[Step, ...]
    failure: str | None
    archive_key: str | None


class NodeCollector(Protocol):
    """Asks a node for its bundle. The only port that acts on a node."""

    def start(self, instance_id: str, *, region: str, client_token: str) -> str:
        """The execution's id. The same token gives the same execution, however often it is asked."""
        ...

    def find(self, execution_id: str, *, region: str) -> Execution | None: ...

    def stop(self, execution_id: str, *, region: str) -> None: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Node:
    instance_id: str
    cluster: str
    region: str
    zone: str
    instance_type: str
    state: str
    is_healthy: bool | None
    """None when nobody could say."""


class NodeDirectory(Protocol):
    """Which nodes there are."""

    def region_of(self, instance_id: str) -> str | None: ...

    def cluster_of(self, instance_id: str, *, region: str) -> str | None: ...

    def nodes_of(self, cluster: str, *, region: str) -> Sequence[Node]:
        """Raises InputRefused when there is no such cluster."""
        ...


# --- workloads -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, slots=True)
class LogLine:
    at: int
    """Milliseconds since the epoch."""
    message: str


@dataclass(frozen=True, kw_only=True, slots=True)
class LogPage:
    lines: tuple[LogLine, ...]
    """Oldest first."""
    is_complete: bool
    """False when the window holds more than the limit, or the reading was given up."""


class WorkloadInspector(Protocol):
    """Reads what an account says about a Lambda function, in AWS's own field names. It cannot change anything.

    Every method raises NotFound for a thing that is not there, and UpstreamFailed when nobody could look.
    """

    def log_lines(self, group: str, *, start: int, end: int, limit: int) -> LogPage:
        """Lines of a log group from `start` to `end`, milliseconds, both included."""
        ...

    def function(self, name: str) -> Item:
        """GetFunctionConfiguration. It lacks the reserved concurrency."""
        ...

    def reserved_concurrency(self, name: str) -> int | None: ...

    def account_limits(self) -> Item:
        """The AccountLimit of GetAccountSettings."""
        ...

    def metric(self, name: str, *, function: str | None, statistic: str, start: int, end: int) -> float | None:
        """One number over the window from AWS/Lambda, of the whole account without a function; None: no datapoint."""
        ...

    def role(self, name: str) -> Item: ...

    def inline_policies(self, role: str) -> Mapping[str, Item]: ...

    def attached_policies(self, role: str) -> Sequence[str]: ...

    def policy_document(self, arn: str) -> Item:
        """The default version of a managed policy."""
        ...

    def simulate(self, role_arn: str, *, action: str, resource: str) -> Item:
        """One EvaluationResult of SimulatePrincipalPolicy."""
        ...

    def resource_policy(self, arn: str) -> Item | None:
        """The policy on a function, a bucket or a key; None when it has none."""
        ...

    def key_state(self, arn: str) -> str: ...

    def subnets(self, ids: Sequence[str]) -> Sequence[Item]: ...

    def security_groups(self, ids: Sequence[str]) -> Sequence[Item]: ...

    def route_tables(self, vpc_id: str) -> Sequence[Item]: ...

    def network_acls(self, vpc_id: str) -> Sequence[Item]: ...

    def endpoints(self, vpc_id: str) -> Sequence[Item]: ...

    def dns(self, vpc_id: str) -> Item:
        """`enableDnsSupport`, `enableDnsHostnames` and the `domain-name-servers` of the DHCP options."""
        ...


class FaultTarget(WorkloadInspector, Protocol):
    """The only port that can break a workload, and put it back. Every write may be repeated without harm."""

    def account(self) -> str: ...

    def tags(self, kind: str, name: str) -> Mapping[str, str]:
        """Of a `function`, a `role`, a `security_group` or a `network_acl`."""
        ...

    def put_inline_policy(self, role: str, name: str, document: Item) -> None: ...

    def delete_inline_policy(self, role: str, name: str) -> None: ...

    def attach_policy(self, role: str, arn: str) -> None: ...

    def detach_policy(self, role: str, arn: str) -> None: ...

    def set_reserved_concurrency(self, name: str, value: int | None) -> None: ...

    def allow_egress(self, group: str, permissions: Sequence[Item]) -> None: ...

    def revoke_egress(self, group: str, permissions: Sequence[Item]) -> None: ...

    def put_acl_entry(self, acl: str, entry: Item) -> None: ...

    def delete_acl_entry(self, acl: str, *, number: int, is_egress: bool) -> None: ...


# --- people ----------------------------------------------------------------------------------------------------------


class Notifier(Protocol):
    def notify(self, subject: str, message: str, *, key: str) -> None:
        """`key` names what it is about: after a crash people may be told twice, and the same key is the same notice."""
        ...
