"""Tries one way after the other to get a node's logs, each only when the one before cannot work."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import assert_never

from affidavit.errors import AffidavitError, Conflict, UpstreamFailed
from affidavit.incidents.evidence.node_evidence_port import CollectionStanding, CollectionState, collection_token
from affidavit.incidents.incident import Incident
from affidavit.node_evidence.climb_records import Climb, Climbs
from affidavit.node_evidence.rungs import Rung, in_order
from affidavit.ports.clock import Clock


@dataclass(frozen=True, kw_only=True)
class Ladder:
    """`clusters` are those whose nodes may be collected; nobody climbs for any other."""

    rungs: Sequence[Rung]
    climbs: Climbs
    clock: Clock
    clusters: frozenset[str]

    def stand(self, incident: Incident) -> CollectionStanding:
        if incident.cluster not in self.clusters:
            named = f"cluster {incident.cluster}" if incident.cluster else "a cluster that nobody knows"
            return _refused(
                f"nodes of {named} may not be collected here; ask an operator to add it to ALLOWED_CLUSTERS"
            )
        rungs = in_order(self.rungs)
        climb = self.climbs.begun(incident.subject.id, collection_token(incident), rungs[0].name)
        while True:
            rung = next(rung for rung in rungs if rung.name is climb.rung)
            standing = self._look(rung, incident, climb)
            if not _is_over(standing):
                return self._remembered(standing, climb)
            following = _following(rungs, rung, spares_node=climb.spares_node or standing.spares_node)
            if following is None:
                return _ended(standing, climb, rung)
            climb = self.climbs.gone_on(
                climb, following.name, reason=_reason(rung, standing), spares_node=standing.spares_node
            )

    def _look(self, rung: Rung, incident: Incident, climb: Climb) -> CollectionStanding:
        try:
            standing = rung.stand(incident, climb)
        except Conflict as error:
            standing = _working(f"{error}; it is asked again")
        except UpstreamFailed as error:
            standing = _working(f"{error}; it is asked again") if error.is_retryable else _refused(_told(error))
        except AffidavitError as error:
            standing = _refused(_told(error))
        if standing.state.is_under_way and self.clock.now() >= climb.begun_at + rung.patience:
            minutes = int(rung.patience.total_seconds() // 60)
            says = f"it has not ended within {minutes} minutes ({standing.says})"
            return replace(standing, state=CollectionState.FAILED, says=says, spares_node=rung.asks_node)
        return standing

    def _remembered(self, standing: CollectionStanding, climb: Climb) -> CollectionStanding:
        if standing.index_id is not None:
            self.climbs.indexed(climb, standing.index_id)
        return replace(standing, tried=climb.reasons)


def _is_over(standing: CollectionStanding) -> bool:
    """Whether this rung brought nothing and will bring nothing."""
    match standing.state:
        case CollectionState.WORKING | CollectionState.DONE:
            return False
        case CollectionState.FAILED | CollectionState.REFUSED:
            return True
        case _:
            assert_never(standing.state)


def _following(rungs: Sequence[Rung], rung: Rung, *, spares_node: bool) -> Rung | None:
    later = rungs[list(rungs).index(rung) + 1 :]
    return next((one for one in later if not (spares_node and one.asks_node)), None)


def _ended(standing: CollectionStanding, climb: Climb, rung: Rung) -> CollectionStanding:
    return replace(standing, tried=(*climb.reasons, _reason(rung, standing)))


def _reason(rung: Rung, standing: CollectionStanding) -> str:
    return f"{rung.name.value}: {standing.says}"


def _told(error: AffidavitError) -> str:
    return f"{error}; {error.hint}" if error.hint else str(error)


def _working(says: str) -> CollectionStanding:
    return CollectionStanding(state=CollectionState.WORKING, says=says)


def _refused(says: str) -> CollectionStanding:
    return CollectionStanding(state=CollectionState.REFUSED, says=says)
