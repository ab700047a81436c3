"""Records how far up the ladder an incident is: which way to get its node's logs is being tried.

The row is written before a rung is tried, and only ever goes on: whatever races or dies, a rung that was given up is
not taken up again, and none is skipped without its reason.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from pydantic import BaseModel, ConfigDict

from affidavit.ports.clock import Clock
from affidavit.ports.table import Absent, ConditionFailed, Equals, Key, Put, Table, Update

# As long as the collections through SSM are known.
KEPT: Final = timedelta(hours=48)


class RungName(StrEnum):
    """In the order in which they are tried."""

    SSM_RUNBOOK = "ssm_runbook"
    NODE_DIAGNOSTIC = "node_diagnostic"
    CONSOLE_OUTPUT = "console_output"
    HOST_LOGS = "host_logs"


class Climb(BaseModel):
    """How one incident gets its node's logs. `reasons` say why earlier rungs could not work."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    instance_id: str
    token: str
    rung: RungName
    begun_at: datetime
    reasons: tuple[str, ...] = ()
    spares_node: bool = False
    """The node itself is not to be asked again: somebody stopped that, or it may still be at it."""
    digest: str = ""
    """Of an archive that we write ourselves, noted before it is written."""
    index_id: str = ""

    @property
    def key(self) -> Key:
        return Key(pk=_partition(self.instance_id), sk=self.token)


@dataclass(frozen=True, kw_only=True)
class Climbs:
    """The rows, in the table of collections."""

    table: Table
    clock: Clock

    def of_node(self, instance_id: str) -> Iterator[Climb]:
        for item in self.table.query(_partition(instance_id)):
            yield Climb.model_validate(item)

    def begun(self, instance_id: str, token: str, first: RungName) -> Climb:
        """The climb of this token, begun now if it was not."""
        climb = Climb(instance_id=instance_id, token=token, rung=first, begun_at=self.clock.now())
        ttl = int((self.clock.now() + KEPT).timestamp())
        item = {"pk": climb.key.pk, "sk": climb.key.sk, **climb.model_dump(mode="json"), "ttl": ttl}
        try:
            self.table.write(Put(item=item, when=Absent()))
        except ConditionFailed:
            return self.again(climb)
        return climb

    def again(self, climb: Climb) -> Climb:
        item = self.table.get(climb.key)
        return climb if item is None else Climb.model_validate(item)

    def gone_on(self, climb: Climb, to: RungName, *, reason: str, spares_node: bool) -> Climb:
        """Whoever else went on meanwhile has decided."""
        return self._changed(
            climb,
            rung=to,
            begun_at=self.clock.now(),
            reasons=(*climb.reasons, reason),
            spares_node=climb.spares_node or spares_node,
            digest="",
        )

    def noted(self, climb: Climb, *, digest: str) -> Climb:
        return self._changed(climb, digest=digest)

    def indexed(self, climb: Climb, index_id: str) -> None:
        if climb.index_id != index_id:
            self._changed(climb, index_id=index_id)

    def _changed(self, climb: Climb, **values: object) -> Climb:
        new = climb.model_copy(update=values)
        told = new.model_dump(mode="json", include=set(values))
        try:
            self.table.write(Update(key=climb.key, set=told, when=Equals("rung", climb.rung.value)))
        except ConditionFailed:
            return self.again(climb)
        return new


def _partition(instance_id: str) -> str:
    return f"LADDER#{instance_id}"
