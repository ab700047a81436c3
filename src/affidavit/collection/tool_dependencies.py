"""What every collection tool needs: the ports, and the settings that say what may be collected."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Final, Protocol

from affidavit.ports.clock import Clock
from affidavit.ports.node_collector import Execution, NodeCollector
from affidavit.ports.node_directory import NodeDirectory
from affidavit.ports.table import Table

# Longer than the collector's call with all its retries. A start that outlives it is still safe: whoever takes over
# hands SSM the same ClientToken.
LEASE: Final = timedelta(seconds=90)
PATIENCE: Final = timedelta(seconds=10)


class IndexProbe(Protocol):
    """Tells whether the bundle of one execution has been indexed. An earlier bundle of the node does not count."""

    def is_indexed(self, instance_id: str, execution: Execution) -> bool: ...
    def doubt(self, instance_id: str, execution: Execution) -> str: ...

    def index_of(self, instance_id: str, execution: Execution) -> str | None:
        """The index of the bundle that this execution itself delivered; None when that cannot be told."""
        ...

    def failure(self, instance_id: str, execution: Execution) -> str | None:
        """Why this execution's bundle could not be indexed; None while no attempt has failed."""
        ...


@dataclass(frozen=True, kw_only=True)
class Desk:
    state: Table
    clock: Clock
    collector: NodeCollector | None
    directory: NodeDirectory | None
    index: IndexProbe
    region: str
    """Used for clusters whose region the caller does not give."""
    is_enabled: bool = False
    clusters: frozenset[str] = frozenset()
    lease: timedelta = LEASE
    """How long a caller that reserved an execution may take to start it before another may."""
    patience: timedelta = PATIENCE
    """How long a caller waits for another one that is starting the same execution."""
    pause: Callable[[float], None] = time.sleep
