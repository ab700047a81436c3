"""The port of whoever has, or can get, the evidence of a node. `node_evidence/` implements it."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from affidavit.incidents.incident import Incident


@dataclass(frozen=True, kw_only=True, slots=True)
class BundleAtHand:
    """An indexed bundle of the node. `collected_at` is what the bundle says of itself; None when it does not.

    `unproven` says why nothing proves that the node itself made it; empty when something does. `partial` says what it
    is, when it is less than the logs of a node.
    """

    index_id: str
    collected_at: datetime | None
    indexed_at: datetime
    unproven: str = ""
    partial: str = ""


class CollectionState(StrEnum):
    WORKING = "working"
    DONE = "done"
    """Collected and indexed."""
    FAILED = "failed"
    REFUSED = "refused"
    """Nobody may or can be asked; nothing was started."""

    @property
    def is_under_way(self) -> bool:
        return self is CollectionState.WORKING


@dataclass(frozen=True, kw_only=True, slots=True)
class CollectionStanding:
    """`index_id` is the index of what was collected, once it is known. `tried` tells every way and what came of it."""

    state: CollectionState
    says: str
    index_id: str | None = None
    tried: tuple[str, ...] = ()
    is_saved: bool = False
    """The archive is in the bucket, whether or not it is indexed yet: the node is needed no more."""
    spares_node: bool = False
    """The node itself is not to be asked again: somebody stopped that, or it may still be at it."""


class NodeEvidence(Protocol):
    def bundles(self, instance_id: str) -> Sequence[BundleAtHand]:
        """Newest first. Raises AffidavitError when nobody can tell."""
        ...

    def collect(self, incident: Incident) -> CollectionStanding:
        """Ask for the node's bundle, once for an incident however often this is called; where it stands.

        Raises nothing of ours: what cannot be asked for is REFUSED, what may work later is WORKING.
        """
        ...

    def peers(self, incident: Incident) -> Sequence[str]:
        """Other nodes of the cluster that have a bundle, for comparison; a few at most."""
        ...


def collection_token(incident: Incident) -> str:
    """The same for the same incident, whoever asks: a second collection cannot start."""
    return f"incident-{hashlib.sha256(incident.incident_id.encode()).hexdigest()[:32]}"
