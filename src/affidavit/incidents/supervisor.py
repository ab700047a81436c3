"""The supervisor: take an incident, have it investigated, believe only what verifies, store it once.

`receive` is the whole flow. It never imports a chat-model library: the investigator is built by `diagnostician` at the
moment it is needed, so a duplicate delivery is answered with a read or two.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from enum import StrEnum
from typing import Literal

from affidavit.errors import AffidavitError, Conflict, UpstreamFailed
from affidavit.evidence.citation import ByteSource
from affidavit.incidents.breaker import Breaker
from affidavit.incidents.context import IncidentContexts
from affidavit.incidents.degraded import TOKEN_BUDGET, Degraded, gather_context
from affidavit.incidents.diagnostician import AgentResult, Diagnostician, ErrorCategory, LeaseLost, Limits, Outcome
from affidavit.incidents.incident import Incident, IncidentId
from affidavit.incidents.ledger import Ledger
from affidavit.incidents.people import People
from affidavit.incidents.progress import StoredProgress, ledger_of
from affidavit.incidents.records import Records
from affidavit.incidents.state import MOST_ATTEMPTS, Lease, State, Status, not_known
from affidavit.incidents.states import IncidentStates
from affidavit.incidents.telemetry import Telemetry
from affidavit.incidents.verdicts import judged, proven
from affidavit.ports import Clock, JsonValue, Notifier, Put

BREAKER_REASON = "circuit breaker: too many incidents in window"
STALE_REASON = "stale watchdog timeout"
# Long enough for a throttled service to recover, and each wait is longer than the one before.
RETRY_AFTER = timedelta(minutes=2)
# Asking stops this long before the end, so that what was found can still be stored.
STORING_TIME = timedelta(seconds=20)
REASONS = {
    Outcome.RECURSION_LIMIT: "recursion limit exhausted without diagnosis",
    Outcome.DEADLINE: "deadline reached without diagnosis",
    Outcome.TOKEN_CAP: "token budget exhausted without diagnosis",
    Outcome.UNVERIFIED: "no verifiable evidence",
}


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
    degraded: Callable[[Incident], Degraded] | None = None
    source: ByteSource | None = None
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
        is_closed = self.states.give_up(seen, STALE_REASON)
        self.people.tell(seen.incident.incident_id)
        return is_closed

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

    # --- running -----------------------------------------------------------------------------------------------------

    def run(self, lease: Lease) -> Handled:
        """Investigate under a lease. An error that is no result is stored as such, and raised for the event source."""
        try:
            handled = self._run(lease)
        except LeaseLost as lost:
            self.telemetry.log("lease_lost", incident_id=lease.incident_id, epoch=lease.epoch, message=str(lost))
            return Handled.LOST
        except Exception as error:
            self._note_failure(lease, error)
            self.people.tell(lease.incident_id)
            raise
        self.people.tell(lease.incident_id)
        return handled

    def _run(self, lease: Lease) -> Handled:
        ledger = ledger_of(lease, self.records)
        progress = StoredProgress(lease, ledger, states=self.states, records=self.records)
        if not self.breaker.admit(lease.incident_id):
            self._defer(lease, ledger, progress)
            return Handled.DEFERRED
        self.states.transition_state(lease, Status.RECEIVED, Status.INVESTIGATING)
        limits = Limits(deadline=lease.deadline, max_tokens=self.max_tokens)
        result = self.diagnostician().investigate(
            lease.incident, ledger=ledger, limits=limits, spent=lease.spent, checkpoint=progress
        )
        self._finish(lease, judged(result, ledger.entries, self.source), ledger, progress)
        return Handled.RAN

    def _finish(self, lease: Lease, result: AgentResult, ledger: Ledger, progress: StoredProgress) -> None:
        """Result and transition are one transaction: whoever loses it stores nothing."""
        evidence = None
        if result.error is not None:
            evidence, result = self._without_chat_model(lease, result, ledger)
        write = self.contexts.write_of(lease, result, progress.ledger_keys, evidence=evidence)
        if result.diagnosis is not None:
            self.states.transition_state(lease, Status.INVESTIGATING, Status.DIAGNOSED, together_with=[write])
        elif result.error is not None:
            self._fail_to_run(lease, result.error.category, str(result.error), [write])
        else:
            reason = _reason(result)
            self.states.transition_state(
                lease, Status.INVESTIGATING, Status.FAILED, reason=reason, together_with=[write]
            )
        self.telemetry.report(lease.incident_id, result, max_tokens=self.max_tokens)
        self.telemetry.count(
            Diagnosed=int(result.diagnosis is not None),
            Failed=int(result.diagnosis is None and result.error is None),
            Errors=int(result.error is not None),
        )

    def _fail_to_run(self, lease: Lease, category: ErrorCategory, reason: str, writes: list[Put]) -> None:
        retries = category.is_transient and lease.attempts < MOST_ATTEMPTS
        again = self.clock.now() + RETRY_AFTER * 2 ** (lease.attempts - 1) if retries else None
        self.states.transition_state(
            lease,
            Status.INVESTIGATING,
            Status.ERROR,
            reason=reason,
            category=category.value,
            next_attempt_at=again,
            together_with=writes,
        )

    # --- when no chat model can or may be asked ----------------------------------------------------------------------

    def _defer(self, lease: Lease, ledger: Ledger, progress: StoredProgress) -> None:
        empty = AgentResult(outcome=Outcome.DEFERRED, token_usage=lease.spent)
        evidence, result = self._without_chat_model(lease, empty, ledger)
        self.states.transition_state(
            lease,
            Status.RECEIVED,
            Status.FAILED,
            reason=BREAKER_REASON,
            next_attempt_at=self.breaker.room_at(),
            is_deferred=True,
            together_with=[
                self.contexts.write_of(lease, result, progress.ledger_keys, evidence=evidence),
            ],
        )
        self.telemetry.log("circuit_breaker_open", incident_id=lease.incident_id)
        self.telemetry.count(CircuitBreakerDeferred=1)

    def _without_chat_model(
        self, lease: Lease, result: AgentResult, ledger: Ledger
    ) -> tuple[Mapping[str, JsonValue] | None, AgentResult]:
        """The facts and what rules can prove of them; only verified conclusions are kept."""
        if self.degraded is None:
            return None, result
        degraded = self.degraded(lease.incident)
        latest = lease.deadline - STORING_TIME
        evidence = gather_context(
            lease.incident, degraded.tools, ledger, may_ask=lambda: self.clock.now() < latest, token_budget=TOKEN_BUDGET
        )
        best = result.best_so_far or degraded.conclude(lease.incident, ledger.entries)
        return evidence, replace(result, best_so_far=proven(best, ledger.entries, self.source))

    def _note_failure(self, lease: Lease, error: Exception) -> None:
        """Best effort: the error that is on its way out matters more than failing to write it down."""
        self.telemetry.count(Errors=1)
        retries = isinstance(error, UpstreamFailed) and error.is_retryable and lease.attempts < MOST_ATTEMPTS
        try:
            state = self.states.get_state(lease.incident_id)
            if state is not None and not state.status.is_open:
                return  # it ended before this went wrong, and an end stays
            self.states.transition_state(
                lease,
                Status.RECEIVED if state is None else state.status,
                Status.ERROR,
                reason=f"{type(error).__name__}: {error}",
                category=ErrorCategory.UNKNOWN.value,
                next_attempt_at=self.clock.now() + RETRY_AFTER if retries else None,
            )
        except AffidavitError as second:
            self.telemetry.log("transition_failed", incident_id=lease.incident_id, message=str(second))


def _reason(result: AgentResult) -> str:
    stated = REASONS.get(result.outcome, "no diagnosis")
    return "; ".join((stated, *result.gaps[:3])) if result.outcome is Outcome.UNVERIFIED else stated
