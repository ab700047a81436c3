"""The port of whoever can say how the control plane of a cluster sees a node. `node_evidence/` implements it."""

from collections.abc import Mapping
from typing import Protocol

from affidavit.incidents.incident import Incident
from affidavit.ports.json import JsonValue

TOOL = "get_node_state"
"""The name under which it is recorded among the answers of tools."""


class NodeStates(Protocol):
    def state(self, incident: Incident) -> Mapping[str, JsonValue]:
        """Conditions, events and pods as they are now. Raises nothing of ours: what nobody could tell is `error`."""
        ...
