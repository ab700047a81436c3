"""Where collections are asked for and looked after: the ports, and what is allowed here."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Final, Protocol

from affidavit.ports import Clock, Execution, NodeCollector, NodeDirectory, Table

# Longer than the collector's call with all its retries. A start that outlives it is still safe: whoever takes over
# hands SSM the same ClientToken.
LEASE: Final = timedelta(seconds=90)
PATIENCE: Final = timedelta(seconds=10)


class IndexProbe(Protocol):
    """Whether the bundle of one execution has been indexed. An earlier bundle of the node does not count."""

    def is_indexed(self, instance_id: str, execution: Execution) -> bool: ...

    def failure(self, instance_id: str, execution: Execution) -> str | None:
        """Why this execution's bundle could not be indexed; None while nobody has failed."""
        ...


@dataclass(frozen=True, kw_only=True)
class Desk:
    state: Table
    clock: Clock
    collector: NodeCollector | None
    directory: NodeDirectory | None
    index: IndexProbe
    region: str
    """Of clusters whose region the caller leaves out."""
    is_enabled: bool = False
    clusters: frozenset[str] = frozenset()
    lease: timedelta = LEASE
    """How long a caller that reserved an execution may take to start it before another may."""
    patience: timedelta = PATIENCE
    """How long a caller waits for another one that is starting the same execution."""
    pause: Callable[[float], None] = time.sleep
