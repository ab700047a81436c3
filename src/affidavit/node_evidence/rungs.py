"""A rung: one way to get the logs of a node. And the order in which the ways are tried."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Protocol

from affidavit.incidents.evidence.node_evidence_port import CollectionStanding
from affidavit.incidents.incident import Incident
from affidavit.node_evidence.climb_records import Climb, RungName


class Rung(Protocol):
    @property
    def name(self) -> RungName: ...

    @property
    def asks_node(self) -> bool:
        """Whether the node itself must work for it."""
        ...

    @property
    def patience(self) -> timedelta:
        """How long it may be under way before the next one is tried."""
        ...

    def stand(self, incident: Incident, climb: Climb) -> CollectionStanding:
        """Ask for the logs if nobody did, and say where that stands. May be called any number of times.

        Raises AffidavitError when it cannot work; a failure that may pass is worth another look.
        """
        ...


def in_order(rungs: Sequence[Rung]) -> list[Rung]:
    return sorted(rungs, key=lambda rung: list(RungName).index(rung.name))
