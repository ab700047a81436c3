"""The supervisor: decides what a delivery is, and has an incident that nobody works on attempted.

A duplicate is answered with a read or two, so nothing here loads what only an attempt needs: neither a chat-model
library (the investigator is built by `diagnostician` at the moment it is needed) nor the verifier.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Literal

from affidavit.errors import Conflict
from affidavit.incidents.breaker import Breaker
from affidavit.incidents.context import IncidentContexts
from affidavit.incidents.diagnostician import Diagnostician
from affidavit.incidents.incident import Incident, IncidentId
from affidavit.incidents.people import People
from affidavit.incidents.records import Records
from affidavit.incidents.state import Lease, State, not_known
from affidavit.incidents.states import IncidentStates
from affidavit.incidents.telemetry import Telemetry
from affidavit.ports import Clock, Notifier

if TYPE_CHECKING:
    from affidavit.evidence.citation import ByteSource
    from affidavit.incidents.degraded import Degraded

STALE_REASON = "stale watchdog timeout"


class Handled(StrEnum):
    """What became of a delivery."""

    RAN = "ran"
    SKIPPED = "already handled"
    DEFERRED = "deferred"
    LOST = "taken over"


@dataclass(frozen=True, kw_only=True)
class Supervisor:
    """`diagnostician` and `degraded` are called only when an incident really runs."""

    states: IncidentStates
    contexts: IncidentContexts
    records: Records
    breaker: Breaker
    telemetry: Telemetry
    clock: Clock
    diagnostician: Callable[[], Diagnostician]
    max_tokens: int
    degraded: "Callable[[Incident], Degraded] | None" = None
    source: "ByteSource | None" = None
    notifier: Notifier | None = None

    @property
    def people(self) -> People:
        return People(states=self.states, contexts=self.contexts, telemetry=self.telemetry, notifier=self.notifier)

    # --- deciding ----------------------------------------------------------------------------------------------------

    def receive(self, incident: Incident, *, remaining: timedelta) -> Handled:
        """Handle one delivery. `remaining` is how long this worker may live."""
        incident = self.joined(incident)
        seen = self.states.get_state(incident.incident_id)
        if self._skips(seen):
            return self._skip(incident.incident_id, seen)
        if seen is not None and not seen.has_attempts_left:
            self.give_up(seen)
            return Handled.SKIPPED
        lease = self.states.take(incident, seen, deadline=self.clock.now() + remaining)
        return self._skip(incident.incident_id, seen) if lease is None else self.run(lease)

    def resume(self, incident_id: IncidentId, *, remaining: timedelta) -> Handled:
        """Give an incident that is due its next attempt."""
        seen = self.states.get_state(incident_id)
        if seen is None:
            raise not_known(incident_id)
        return self.receive(replace(seen.incident, may_join=None), remaining=remaining)

    def redrive(self, incident_id: IncidentId, *, remaining: timedelta) -> Handled:
        """Run an incident again on a person's word, whether or not it is due. One that has a diagnosis is kept."""
        seen = self.states.get_state(incident_id)
        if seen is None:
            raise not_known(incident_id)
        if seen.status.has_diagnosis or seen.is_leased(self.clock.now()):
            raise Conflict(
                f"incident {incident_id} is {seen.status}",
                hint="`affidavit incident show` has its diagnosis; a running one ends or falls free by itself",
            )
        lease = self.states.reopen(seen, deadline=self.clock.now() + remaining)
        return self._skip(incident_id, seen) if lease is None else self.run(lease)

    def give_up(self, seen: State) -> bool:
        """Close an incident that killed its last worker; False when it is alive or was taken over."""
        closed = self.states.give_up(seen, STALE_REASON)
        if closed is not None:
            self._keep_leftovers(closed)
        self.people.tell(seen.incident.incident_id)
        return closed is not None

    def _keep_leftovers(self, closed: State) -> None:
        from affidavit.incidents.leftovers import keep_leftovers

        try:
            keep_leftovers(closed, self)
        except Exception as error:  # noqa: BLE001 - it is closed; whatever fails here, its people are told
            self.telemetry.log(
                "leftovers_failed", incident_id=closed.incident_id, message=f"{type(error).__name__}: {error}"
            )

    def _dedup_or_recover(self, incident_id: IncidentId) -> Literal["skip"] | None:
        """None: nobody has it, so it is to be run. A fresh lease or an end means skip."""
        return "skip" if self._skips(self.states.get_state(incident_id)) else None

    def _skips(self, seen: State | None) -> bool:
        return seen is not None and not seen.is_due(self.clock.now())

    def _skip(self, incident_id: IncidentId, seen: State | None) -> Handled:
        self.telemetry.log("delivery_skipped", incident_id=incident_id, status=seen.status if seen else None)
        return Handled.SKIPPED

    def joined(self, incident: Incident) -> Incident:
        """A retry just past the border of a window belongs to the incident that began shortly before."""
        if incident.may_join is None:
            return incident
        earlier = self.states.get_state(incident.may_join)
        age = None if earlier is None else incident.occurred_at - earlier.incident.occurred_at
        if age is None or not timedelta() <= age < timedelta(minutes=5):
            return incident
        return replace(incident, incident_id=incident.may_join, may_join=None)

    def run(self, lease: Lease) -> Handled:
        """Investigate under a lease. An error that is no result is stored as such, and raised for the event source."""
        from affidavit.incidents.attempt import Attempt

        return Attempt(under=self, lease=lease).run()
