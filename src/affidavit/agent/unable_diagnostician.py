"""Stands in for the diagnostician that could not be made: the incident ends with the reason instead of an exception."""

from dataclasses import dataclass

from affidavit.evidence.diagnosis import TokenUsage
from affidavit.incidents.attempt.answer_ledger import Ledger
from affidavit.incidents.attempt.diagnostician_port import AgentError, AgentResult, Checkpoint, Limits, RunOutcome
from affidavit.incidents.incident import Incident


@dataclass(frozen=True, kw_only=True)
class UnableDiagnostician:
    """Asks nobody, so the supervisor gathers what it can without a chat model."""

    error: AgentError

    def investigate(
        self, incident: Incident, *, ledger: Ledger, limits: Limits, spent: TokenUsage, checkpoint: Checkpoint
    ) -> AgentResult:
        return AgentResult(outcome=RunOutcome.ERROR, token_usage=spent, error=self.error)
