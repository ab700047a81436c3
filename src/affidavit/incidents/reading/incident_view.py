"""One record of an incident for every reader: the command, the notices, the console.

What is shown first, what counts as not known, and when rules speak instead of a diagnosis is decided here alone.
Texts are as stored; a door hides secrets and escapes for its own medium.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime

from affidavit.evidence.diagnosis import Diagnosis, EvidencePointer, IncidentSeverity, RemediationStep, TokenUsage
from affidavit.evidence.incident_subject import SubjectKind
from affidavit.incidents.incident import IncidentId
from affidavit.incidents.store.state import IncidentState, Status
from affidavit.incidents.store.stored_diagnoses import IncidentContext


@dataclass(frozen=True, kw_only=True, slots=True)
class ClaimView:
    """One piece of evidence: what it shows, the value, and where that stands."""

    index: int
    says: str
    quote: str
    tool: str
    field: str
    claim: str

    def quoted(self, characters: int) -> tuple[str, int]:
        """The beginning of the quote, and how many characters it leaves out."""
        return self.quote[:characters], max(0, len(self.quote) - characters)


@dataclass(frozen=True, kw_only=True, slots=True)
class StepView:
    number: int
    action: str
    details: str
    basis: tuple[int, ...]
    risk: str
    notes: tuple[str, ...]

    @property
    def why(self) -> str:
        basis = ", ".join(f"[{index}]" for index in self.basis)
        return "".join((f"because of {basis}; risk {self.risk}", *(f", {note}" for note in self.notes)))


@dataclass(frozen=True, kw_only=True, slots=True)
class ConclusionView:
    """A diagnosis as people read it. `open_points` are what it needs and nothing shows; `not_known` is the rest."""

    cause: str
    severity: IncidentSeverity
    faults: tuple[str, ...]
    grade: str
    confidence: str
    basis: str
    affected: tuple[str, ...]
    claims: tuple[ClaimView, ...]
    plan: tuple[StepView, ...]
    open_points: tuple[str, ...]
    not_known: tuple[str, ...]
    by_rules: bool

    @property
    def kinds(self) -> str:
        return ", ".join(self.faults) or "no fault"


@dataclass(frozen=True, kw_only=True, slots=True)
class IncidentView:
    """`conclusion` is the stored diagnosis; `rules_prove` what rules alone could show of a run without one."""

    incident_id: IncidentId
    status: Status
    kind: SubjectKind
    subject: str
    resources: tuple[str, ...]
    account: str
    region: str
    occurred_at: datetime
    updated_at: datetime
    resolved_at: datetime | None
    """When we heard that every alert of it is over; the incident goes on all the same."""
    cause: str
    conclusion: ConclusionView | None
    rules_prove: ConclusionView | None
    not_known: tuple[str, ...]
    alert: str
    attempts: int
    epoch: int
    tokens: TokenUsage
    chat_calls: int
    answers: int
    reason: str
    category: str
    is_run_again: bool

    @property
    def about(self) -> str:
        return self.subject or self.incident_id


def view_of(state: IncidentState, context: IncidentContext | None) -> IncidentView:
    incident = state.incident
    diagnosis = context.diagnosis if context is not None and state.status.has_diagnosis else None
    best = context.best_so_far if context is not None and diagnosis is None else None
    spent = context.token_usage if context is not None and not state.status.is_open else state.spent
    return IncidentView(
        incident_id=incident.incident_id,
        status=state.status,
        kind=incident.subject.kind,
        subject=incident.subject.id,
        resources=incident.resources,
        account=incident.account,
        region=incident.region,
        occurred_at=incident.occurred_at,
        updated_at=state.updated_at,
        resolved_at=state.alerts_over_at,
        cause=diagnosis.root_cause if diagnosis is not None else f"No diagnosis: {state.error_reason or state.status}",
        conclusion=_conclusion(diagnosis),
        rules_prove=_conclusion(best),
        not_known=context.gaps if context is not None and diagnosis is None else (),
        alert=incident.message,
        attempts=state.attempts,
        epoch=state.epoch,
        tokens=spent,
        chat_calls=context.llm_calls if context is not None else 0,
        answers=len(state.ledger if state.status.is_open or context is None else context.ledger),
        reason=state.error_reason or "",
        category=state.error_category or "",
        is_run_again=state.next_attempt_at is not None,
    )


def hidden_view(view: IncidentView, hide: Callable[[str], str]) -> IncidentView:
    """The record with every text of alerts, logs and chat models passed through `hide`."""
    return replace(
        view,
        cause=hide(view.cause),
        conclusion=_hidden(view.conclusion, hide),
        rules_prove=_hidden(view.rules_prove, hide),
        not_known=tuple(map(hide, view.not_known)),
        alert=hide(view.alert),
        reason=hide(view.reason),
    )


def _hidden(conclusion: ConclusionView | None, hide: Callable[[str], str]) -> ConclusionView | None:
    if conclusion is None:
        return None
    return replace(
        conclusion,
        cause=hide(conclusion.cause),
        claims=tuple(replace(one, says=hide(one.says), quote=hide(one.quote)) for one in conclusion.claims),
        plan=tuple(replace(one, action=hide(one.action), details=hide(one.details)) for one in conclusion.plan),
        open_points=tuple(map(hide, conclusion.open_points)),
        not_known=tuple(map(hide, conclusion.not_known)),
    )


def _conclusion(diagnosis: Diagnosis | None) -> ConclusionView | None:
    if diagnosis is None:
        return None
    gaps = diagnosis.confidence.gaps or diagnosis.gaps
    return ConclusionView(
        cause=diagnosis.root_cause,
        severity=diagnosis.severity,
        faults=tuple(fault.value for fault in diagnosis.fault_types),
        grade=diagnosis.grade.value if diagnosis.grade is not None else "",
        confidence=diagnosis.confidence.level.value,
        basis=diagnosis.confidence.basis,
        affected=diagnosis.affected_resources,
        claims=tuple(_claim(index, pointer) for index, pointer in enumerate(diagnosis.evidence)),
        plan=tuple(_step(number, step) for number, step in enumerate(diagnosis.remediation_plan, start=1)),
        open_points=diagnosis.open_obligations,
        not_known=tuple(gap for gap in gaps if gap not in diagnosis.open_obligations),
        by_rules=diagnosis.produced_by.value == "rules",
    )


def _claim(index: int, pointer: EvidencePointer) -> ClaimView:
    quote = pointer.value if isinstance(pointer.value, str) else json.dumps(pointer.value)
    return ClaimView(
        index=index,
        says=pointer.interpretation,
        quote=quote,
        tool=pointer.tool,
        field=pointer.field,
        claim=pointer.claim.value,
    )


def _step(number: int, step: RemediationStep) -> StepView:
    notes = (("needs approval",) if step.requires_approval else ()) + (("advice",) if step.is_advice else ())
    return StepView(
        number=number,
        action=step.action,
        details=step.details,
        basis=step.evidence_basis,
        risk=step.risk_level.value,
        notes=notes,
    )
