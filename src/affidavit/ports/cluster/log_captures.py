"""Asks the node monitoring agent of a cluster for the logs of a node, through the cluster's API."""

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from affidavit.ports.cluster.api_connection import ClusterPlace


@dataclass(frozen=True, kw_only=True, slots=True)
class LogCapture:
    """A request to the agent, as it stands. `token` is the one we asked with; empty: somebody else asked."""

    node_name: str
    uid: str
    token: str
    has_ended: bool
    has_succeeded: bool
    says: str
    finished_at: datetime | None

    @property
    def is_ours(self) -> bool:
        return bool(self.token)


class NodeCaptures(Protocol):
    """There is at most one request for a node at a time: the API gives it the node's name."""

    def find(self, node_name: str, *, place: ClusterPlace) -> LogCapture | None:
        """None when nobody asked, or nobody could be asked."""
        ...

    def ask(self, node_name: str, *, place: ClusterPlace, token: str, destination: str) -> None:
        """The agent uploads its archive to `destination`.

        Raises Conflict when there is a request already, NotFound when the cluster has no such agent.
        """
        ...

    def forget(self, capture: LogCapture, *, place: ClusterPlace) -> None:
        """Remove this very request, and no later one under the same name."""
        ...
