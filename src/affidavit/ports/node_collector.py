"""Asks a node for its bundle."""

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol


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
