"""Runs one attempt at an incident: investigates under a lease, checks the result, stores it once."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta

from affidavit.errors import AffidavitError, UpstreamFailed
from affidavit.incidents.attempt.answer_ledger import Ledger
from affidavit.incidents.attempt.diagnostician_port import (
    AgentError,
    AgentResult,
    ErrorCategory,
    LeaseLost,
    Limits,
    RunOutcome,
)
from affidavit.incidents.attempt.evidence_without_chat_model import TOKEN_BUDGET, gather_context
from affidavit.incidents.attempt.result_check import judged, proven
from affidavit.incidents.delivery_outcome import Handled
from affidavit.incidents.evidence.control_plane_port import TOOL as NODE_STATE
from affidavit.incidents.evidence.readiness import TOOL as EVIDENCE
from affidavit.incidents.evidence.readiness import EvidenceAwaited, EvidenceReady, needs_evidence
from affidavit.incidents.store.checkpoint import StoredProgress, ledger_of
from affidavit.incidents.store.state import MOST_ATTEMPTS, Lease, Status
from affidavit.incidents.supervisor_dependencies import Equipment
from affidavit.ports.json import JsonValue
from affidavit.ports.table import Put

NOTHING_NAMED = "the alert names nothing that can be looked at"
BREAKER_REASON = "circuit breaker: too many incidents in window"
# Long enough for a throttled service to recover, and each wait is longer than the one before.
RETRY_AFTER = timedelta(minutes=2)
# Asking stops this long before the end, so that what was found can still be stored.
STORING_TIME = timedelta(seconds=20)
REASONS = {
    RunOutcome.RECURSION_LIMIT: "recursion limit exhausted without diagnosis",
    RunOutcome.DEADLINE: "deadline reached without diagnosis",
    RunOutcome.TOKEN_CAP: "token budget exhausted without diagnosis",
    RunOutcome.UNVERIFIED: "no verifiable evidence",
    RunOutcome.REFUSED: "the chat model refused to answer",
    RunOutcome.SILENT: "the chat model called no tool, also when reminded",
    RunOutcome.FOREIGN: "refused",
}


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """`under` has the stores and whoever investigates."""

    under: Equipment
    lease: Lease

    def run(self) -> Handled:
        """An error that is no result is stored as such, and raised for the event source."""
        lease, telemetry = self.lease, self.under.telemetry
        try:
            handled = self._run()
        except LeaseLost as lost:
            telemetry.log("lease_lost", incident_id=lease.incident_id, epoch=lease.epoch, message=str(lost))
            return Handled.LOST
        except Exception as error:
            self._note_failure(error)
            self.under.people.tell(lease.incident_id)
            raise
        self.under.people.tell(lease.incident_id)
        return handled

    def _run(self) -> Handled:
        lease, under = self.lease, self.under
        ledger = ledger_of(lease, under.records)
        progress = StoredProgress(lease, ledger, states=under.states, records=under.records)
        if not lease.incident.subject.id:  # only incidents of earlier versions
            under.states.transition_state(lease, Status.RECEIVED, Status.FAILED, reason=NOTHING_NAMED)
            return Handled.RAN
        if not self._has_evidence(ledger):
            return Handled.AWAITING
        if not under.breaker.admit(lease.incident_id):
            self._defer(ledger, progress)
            return Handled.DEFERRED
        under.states.transition_state(lease, Status.RECEIVED, Status.INVESTIGATING)
        limits = Limits(deadline=lease.deadline, max_tokens=under.max_tokens)
        result = under.diagnostician().investigate(
            lease.incident, ledger=ledger, limits=limits, spent=lease.spent, checkpoint=progress
        )
        self._finish(judged(result, lease.incident, ledger.entries, under.source), ledger, progress)
        return Handled.RAN

    def _has_evidence(self, ledger: Ledger) -> bool:
        """False when the incident was put down to wait for it. What was chosen is recorded like a tool's answer."""
        lease, under = self.lease, self.under
        if under.readiness is None or not needs_evidence(lease.incident):
            return True
        found = under.readiness.of(lease.incident, now=under.clock.now(), since=lease.awaiting_since)
        match found:
            case EvidenceAwaited():
                under.states.await_evidence(lease, since=found.since, due_at=found.due_at)
                under.telemetry.log("awaiting_evidence", incident_id=lease.incident_id, message=found.says)
                return False
            case EvidenceReady():
                asked: dict[str, JsonValue] = {"instanceId": lease.incident.subject.id}
                ledger.record(EVIDENCE, asked, found.record)
                if found.node_state is not None:
                    ledger.record(NODE_STATE, asked, found.node_state)
                return True

    def _finish(self, result: AgentResult, ledger: Ledger, progress: StoredProgress) -> None:
        """Result and transition are one transaction: whoever loses it stores nothing."""
        lease, under = self.lease, self.under
        evidence = None
        if result.error is not None:
            evidence, result = self._without_chat_model(result, ledger)
        write = under.contexts.write_of(lease, result, progress.ledger_keys, evidence=evidence)
        if result.diagnosis is not None:
            under.states.transition_state(lease, Status.INVESTIGATING, Status.DIAGNOSED, together_with=[write])
        elif result.error is not None:
            self._fail_to_run(result.error, [write])
        else:
            under.states.transition_state(
                lease, Status.INVESTIGATING, Status.FAILED, reason=_reason(result), together_with=[write]
            )
        self._report(result)

    def _report(self, result: AgentResult) -> None:
        under = self.under
        under.telemetry.report(self.lease.incident_id, result, max_tokens=under.max_tokens, spent=self.lease.spent)
        under.telemetry.count(
            Diagnosed=int(result.diagnosis is not None),
            Failed=int(result.diagnosis is None and result.error is None),
            Errors=int(result.error is not None),
        )

    def _fail_to_run(self, error: AgentError, writes: list[Put]) -> None:
        lease = self.lease
        retries = error.category.is_transient and lease.attempts < MOST_ATTEMPTS
        again = self.under.clock.now() + RETRY_AFTER * 2 ** (lease.attempts - 1) if retries else None
        self.under.states.transition_state(
            lease,
            Status.INVESTIGATING,
            Status.ERROR,
            reason=str(error),
            category=error.category.value,
            provider=error.provider or None,
            next_attempt_at=again,
            together_with=writes,
        )

    # --- when no chat model can or may be asked ----------------------------------------------------------------------

    def _defer(self, ledger: Ledger, progress: StoredProgress) -> None:
        lease, under = self.lease, self.under
        # Gathering may take longer than the first lease lasts.
        under.states.touch_updated_at(lease)
        empty = AgentResult(outcome=RunOutcome.DEFERRED, token_usage=lease.spent)
        evidence, result = self._without_chat_model(empty, ledger)
        under.states.transition_state(
            lease,
            Status.RECEIVED,
            Status.FAILED,
            reason=BREAKER_REASON,
            next_attempt_at=under.breaker.room_at(),
            is_deferred=True,
            together_with=[under.contexts.write_of(lease, result, progress.ledger_keys, evidence=evidence)],
        )
        under.telemetry.log("circuit_breaker_open", incident_id=lease.incident_id)
        under.telemetry.count(CircuitBreakerDeferred=1)

    def _without_chat_model(
        self, result: AgentResult, ledger: Ledger
    ) -> tuple[Mapping[str, JsonValue] | None, AgentResult]:
        """The facts and what rules can prove of them; only verified conclusions are kept."""
        under, incident = self.under, self.lease.incident
        if under.degraded is None:
            return None, result
        degraded = under.degraded(incident)
        latest = self.lease.deadline - STORING_TIME
        evidence = gather_context(
            degraded, ledger, time_left=lambda: latest - under.clock.now(), token_budget=TOKEN_BUDGET
        )
        best = result.best_so_far or degraded.conclude(ledger.entries)
        return evidence, replace(result, best_so_far=proven(best, incident, ledger.entries, under.source))

    def _note_failure(self, error: Exception) -> None:
        """Best effort: the error that is on its way out matters more than failing to write it down."""
        under, lease = self.under, self.lease
        under.telemetry.count(Errors=1)
        try:
            state = under.states.get_state(lease.incident_id)
            # When it ended before this went wrong, that end stays.
            if state is None or state.status.is_open:
                self._store_failure(error, Status.RECEIVED if state is None else state.status)
        except AffidavitError as second:
            under.telemetry.log("transition_failed", incident_id=lease.incident_id, message=str(second))

    def _store_failure(self, error: Exception, status: Status) -> None:
        retries = isinstance(error, UpstreamFailed) and error.is_retryable and self.lease.attempts < MOST_ATTEMPTS
        self.under.states.transition_state(
            self.lease,
            status,
            Status.ERROR,
            reason=f"{type(error).__name__}: {error}",
            category=ErrorCategory.UNKNOWN.value,
            next_attempt_at=self.under.clock.now() + RETRY_AFTER if retries else None,
        )


def _reason(result: AgentResult) -> str:
    stated = REASONS.get(result.outcome, "no diagnosis")
    is_told = result.outcome in (RunOutcome.UNVERIFIED, RunOutcome.FOREIGN)
    return "; ".join((stated, *result.gaps[:3])) if is_told else stated
