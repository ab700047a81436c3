"""Tells which nodes there are."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


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

    def instance_named(self, name: str, *, region: str) -> str | None:
        """The instance of a Kubernetes node, by its private DNS name or address. None when none or several have it."""
        ...

    def name_of(self, instance_id: str, *, region: str) -> str | None:
        """The private DNS name, which most nodes have as their name in Kubernetes; None when it has none any more."""
        ...

    def nodes_of(self, cluster: str, *, region: str) -> Sequence[Node]:
        """Raises InputRefused when there is no such cluster."""
        ...
