"""Lists the indexed bundles of a node: when each was made, and whether the node is known to have made it.

Reads markers and indexes as JSON, without the rules: whoever receives alerts should not have to load them.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from affidavit.incidents.evidence.node_evidence_port import BundleAtHand
from affidavit.nodes.library.object_keys import markers_prefix
from affidavit.ports.object_store import ObjectMissing, ObjectStore

HANDED_IN = "it was uploaded, and no collection that was asked for here delivered it"
PUT_IN_PLACE = "it lies where a collection puts its archive, and somebody else than the node wrote it"


class _Marker(BaseModel):
    """The fields of a library's marker that are used here."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    index_id: str
    index_key: str
    indexed_at: datetime
    origin: str | None = None
    is_handed_in: bool = False


@dataclass(frozen=True, kw_only=True)
class StoredBundles:
    objects: ObjectStore

    def of(
        self, instance_id: str, *, collected: frozenset[str], climbed: frozenset[str] = frozenset()
    ) -> Sequence[BundleAtHand]:
        """Newest first. `collected` are the indexes of bundles that the node was asked for and uploads itself;
        `climbed` of those that were put there for an incident, whose writer was checked then.
        """
        markers = sorted(self._markers(instance_id), key=lambda one: (one.indexed_at, one.index_id), reverse=True)
        return [
            BundleAtHand(
                index_id=marker.index_id,
                collected_at=self._collected_at(marker),
                indexed_at=marker.indexed_at,
                unproven=_unproven(marker, collected, climbed),
            )
            for marker in markers
        ]

    def _markers(self, instance_id: str) -> Iterator[_Marker]:
        for stored in self.objects.list(markers_prefix(instance_id)):
            try:
                yield _Marker.model_validate_json(self.objects.get(stored.key))
            except (ValidationError, ObjectMissing):
                continue  # whoever asks the library about it is told

    def _collected_at(self, marker: _Marker) -> datetime | None:
        try:
            clock: dict[str, Any] = json.loads(self.objects.get(marker.index_key)).get("clock") or {}
            moment = datetime.fromisoformat(str(clock.get("collected_at")))
        except (ObjectMissing, ValueError, AttributeError):
            return None
        return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def _unproven(marker: _Marker, collected: frozenset[str], climbed: frozenset[str]) -> str:
    if marker.origin == "unproven":
        return "nothing ties it to the node that it claims to be of"
    if marker.origin == "proven" or marker.index_id in climbed:
        return ""
    if marker.index_id in collected:
        return PUT_IN_PLACE if marker.is_handed_in else ""
    return HANDED_IN
