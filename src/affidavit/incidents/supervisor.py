"""Decides what a delivery is, and starts an attempt if no worker holds the incident.

A duplicate is answered with a read or two, so nothing here loads what only an attempt needs: neither a chat-model
library (`diagnostician` builds the investigator at the moment it is needed) nor the verifier.
"""

from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta

from affidavit.errors import Conflict
from affidavit.evidence.diagnosis import FaultType
from affidavit.evidence.incident_subject import Subject, SubjectKind
from affidavit.incidents.delivery_outcome import Handled, Receipt
from affidavit.incidents.incident import Incident, IncidentId
from affidavit.incidents.intake.node_gate import NoNodeOfOurs
from affidavit.incidents.intake.other_account_alerts import ForeignAlert
from affidavit.incidents.intake.same_failure import is_retry, is_same_failure
from affidavit.incidents.store.joined_alerts import AlarmEpisode
from affidavit.incidents.store.state import IncidentState, Lease, not_known
from affidavit.incidents.supervisor_dependencies import Equipment

STALE_REASON = "stale watchdog timeout"
# Each time somebody else was faster. Then it is opened without looking: two incidents are better than none.
PLACING_TRIES = 5


@dataclass(frozen=True, kw_only=True)
class Supervisor(Equipment):
    def receive(self, alert: Incident, *, remaining: timedelta) -> Receipt:
        """Handle one delivery. `remaining` is how long this worker may live. Raises ForeignAlert or NoNodeOfOurs."""
        if self.held is None or not self.held.awaits_us(alert):
            return self._receive(alert, remaining)
        self.held.hold(alert)
        try:
            receipt = self._receive(alert, remaining)
        except (ForeignAlert, NoNodeOfOurs):
            self.held.settle(alert, None)
            raise
        self.held.settle(alert, receipt.incident_id)
        return receipt

    def _receive(self, alert: Incident, remaining: timedelta) -> Receipt:
        seen = self.states.get_state(alert.incident_id)
        return self._handled(seen, remaining) if seen is not None else self._receive_new(alert, remaining)

    def resume(self, incident_id: IncidentId, *, remaining: timedelta) -> Handled:
        """Give an incident that is due its next attempt."""
        return self._handled(self._known(incident_id), remaining).handled

    def resume_stored(self, lease: Lease, *, remaining: timedelta) -> Handled:
        """Run an incident that was only opened: under its first lease while that lasts, else as one that is due."""
        seen = self._known(lease.incident_id)
        if seen.epoch == lease.epoch and seen.is_leased(self.clock.now()):
            return self.run(replace(lease, deadline=self.clock.now() + remaining))
        return self._handled(seen, remaining).handled

    def redrive(self, incident_id: IncidentId, *, remaining: timedelta) -> Handled:
        """Run an incident again on a person's word, whether or not it is due. One that has a diagnosis is kept."""
        seen = self._known(incident_id)
        if seen.status.has_diagnosis or seen.is_leased(self.clock.now()):
            raise Conflict(
                f"incident {incident_id} is {seen.status}",
                hint="`affidavit incident show` has its diagnosis; a running one ends or falls free by itself",
            )
        lease = self.states.reopen(seen, deadline=self.clock.now() + remaining)
        return self._skip(seen) if lease is None else self.run(lease)

    def give_up(self, seen: IncidentState) -> bool:
        """Close an incident that killed its last worker; False when it is alive or was taken over."""
        closed = self.states.give_up(seen, STALE_REASON)
        if closed is not None:
            self._salvage(closed)
        self.people.tell(seen.incident_id)
        return closed is not None

    def wake(self, subject: Subject, *, remaining: timedelta) -> list[Receipt]:
        """Evidence of this subject is there: run the incidents that wait for it."""
        woken: list[Receipt] = []
        if self.held is not None:
            self.held.look(subject.id)
        for seen in self.states.waiting_for(subject):
            lease = self.states.wake(seen, deadline=self.clock.now() + remaining)
            handled = Handled.SKIPPED if lease is None else self.run(lease)
            woken.append(Receipt(incident_id=seen.incident_id, handled=handled))
        return woken

    def note_ok(self, alarm: Incident) -> None:
        """An alarm went back to OK: its incident says so, and when it fires again, that is another failure."""
        with suppress(ForeignAlert, NoNodeOfOurs):  # of a node that is gone its id says enough
            alarm = self._placed(alarm)
        over = self.states.episodes.note_ok(alarm)
        if over is not None:
            self.states.note_resolved(over)

    def run(self, lease: Lease) -> Handled:
        """Investigate under a lease. An error that is no result is stored as such, and raised for the event source."""
        # Here, because a duplicate needs none of it.
        from affidavit.incidents.attempt.leased_investigation import Attempt

        return Attempt(under=self, lease=lease).run()

    # --- an incident that is known -----------------------------------------------------------------------------------

    def _handled(self, seen: IncidentState, remaining: timedelta) -> Receipt:
        return Receipt(incident_id=seen.incident_id, handled=self._handle(seen, remaining))

    def _handle(self, seen: IncidentState, remaining: timedelta) -> Handled:
        if not seen.is_due(self.clock.now()):
            return self._skip(seen)
        if not seen.has_attempts_left:
            self.give_up(seen)
            return Handled.SKIPPED
        lease = self.states.take(seen.incident, seen, deadline=self.clock.now() + remaining)
        return self._skip(seen) if lease is None else self.run(lease)

    def _skip(self, seen: IncidentState) -> Handled:
        self.telemetry.log("delivery_skipped", incident_id=seen.incident_id, status=seen.status)
        return Handled.SKIPPED

    def _known(self, incident_id: IncidentId) -> IncidentState:
        seen = self.states.get_state(incident_id)
        if seen is None:
            raise not_known(incident_id)
        return seen

    def _salvage(self, closed: IncidentState) -> None:
        from affidavit.incidents.attempt.salvage import keep_leftovers

        try:
            keep_leftovers(closed, self)
        except Exception as error:  # noqa: BLE001 - it is closed; whatever fails here, its people are told
            self.telemetry.log(
                "leftovers_failed", incident_id=closed.incident_id, message=f"{type(error).__name__}: {error}"
            )

    # --- an alert that nobody saw before -----------------------------------------------------------------------------

    def _receive_new(self, alert: Incident, remaining: timedelta) -> Receipt:
        """It joins the incident of the same failure, or opens its own."""
        alert = self._placed(alert)
        for attempt in range(PLACING_TRIES + 1):
            episode = self.states.episodes.current(alert)
            joined = self._joined(alert, episode)
            if joined is not None:
                return self._handled(joined, remaining)
            self.home.check(alert)
            lease = self.states.open(
                self._redacted(alert), episode, deadline=self.clock.now() + remaining, is_last=attempt == PLACING_TRIES
            )
            if lease is not None:
                return Receipt(incident_id=alert.incident_id, handled=self.run(lease))
            if (seen := self.states.get_state(alert.incident_id)) is not None:
                return self._handled(seen, remaining)
        raise Conflict(
            f"incident {alert.incident_id} could not be opened: others were faster {PLACING_TRIES + 1} times",
            hint="the alert comes again by itself",
        )

    def _placed(self, alert: Incident) -> Incident:
        """Of a node: its instance, which must be one that may be looked at. Raises ForeignAlert or NoNodeOfOurs."""
        if alert.subject.kind is not SubjectKind.NODE:
            return alert
        self.home.check(alert)
        return self.gate.placed(alert)

    def _joined(self, alert: Incident, episode: AlarmEpisode | None) -> IncidentState | None:
        known = self.states.episodes.joined_to(alert.incident_id)
        if known is not None:
            return self.states.get_state(known)
        before = self.states.get_state(alert.may_join) if alert.may_join is not None else None
        if before is not None and is_retry(alert, before):
            return before
        newest = self.states.get_state(episode.incident_id) if episode is not None else None
        if episode is None or newest is None:
            return None
        if not is_same_failure(alert, newest, episode, lambda: self._fault_types(newest)):
            return None
        # When it changed meanwhile, the next look decides.
        if not self.states.episodes.join(alert, episode):
            return None
        self.telemetry.log("alert_joined", incident_id=newest.incident_id, signal=alert.signal, status=newest.status)
        return newest

    def _fault_types(self, state: IncidentState) -> tuple[FaultType, ...]:
        context = self.contexts.get_context(state.incident_id)
        return context.diagnosis.fault_types if context is not None and context.diagnosis is not None else ()

    def _redacted(self, alert: Incident) -> Incident:
        # Its patterns take a while to load, and a duplicate needs none.
        from affidavit.incidents.intake.alert_redaction import redacted_alert

        return redacted_alert(alert)
