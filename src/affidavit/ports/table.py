"""Stores items under two keys. Writes carry conditions; transactions write all or nothing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from affidavit.errors import Conflict
from affidavit.ports.json import Item, JsonValue


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
        self, pk: str, *, sk_prefix: str = "", newest_first: bool = False, limit: int | None = None, after: str = ""
    ) -> Sequence[Item]:
        """Items of one partition in the order of `sk`; those behind `after` in that order, which need not exist."""
        ...

    def due_before(self, due: str, at: float, *, limit: int = 100) -> Sequence[Item]:
        """Items with this `due` and `due_at <= at`, earliest first. May lag behind writes: decide by a condition."""
        ...
