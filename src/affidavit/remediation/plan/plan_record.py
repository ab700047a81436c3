"""What a plan and its actions say. Every field is sealed."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Annotated, NewType, TypeAlias

from pydantic import GetPydanticSchema, JsonValue

from affidavit.evidence.diagnosis import RiskLevel
from affidavit.evidence.incident_subject import Subject
from affidavit.incidents.incident import IncidentId
from affidavit.ports.argument_sources import ArgumentSource
from affidavit.ports.json import Item

PlanId = NewType("PlanId", str)
# Raised when what the Critic refuses changes, so that a plan says by which rules it was made.
POLICY_VERSION = "1"


# Our own name for JSON is recursive in a way that Pydantic cannot follow; it checks it as its own.
Document: TypeAlias = Annotated[Item, GetPydanticSchema(lambda _, handler: handler(dict[str, JsonValue]))]


class UndoClass(StrEnum):
    EXACT = "exact"
    """The undo brings back the state of before, byte for byte."""
    COMPENSATING = "compensating"
    """The undo turns it back, but what happened meanwhile stays (messages were read, a service was restarted)."""
    NONE = "none"


class OnFailedProof(StrEnum):
    """What happens when the change is in place and the symptom is not seen to be gone."""

    UNDO = "undo"
    HAND_OVER = "hand_over"


@dataclass(frozen=True, kw_only=True, slots=True)
class Precondition:
    """The live state that must still hold when the change is made. `sha256` is over its canonical JSON."""

    state: Document
    sha256: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Action:
    """One change. `arguments` and `undo` have the same shape: the undo is the same action with the old values.

    `undo` is None where `undo_class` is none. `expected` is the state that read-back must show.
    """

    type: str
    target: str
    arguments: Document
    source: ArgumentSource
    evidence_basis: tuple[int, ...]
    precondition: Precondition
    expected: Document
    undo: Document | None
    risk: RiskLevel
    undo_class: UndoClass


@dataclass(frozen=True, kw_only=True, slots=True)
class Advice:
    """A step of the diagnosis that no source gives arguments for: it stays for a person."""

    step: str
    why: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Symptom:
    """What must be seen after the change: `good_runs` good runs of the subject and no failing one, within a window."""

    subject: Subject
    window_seconds: int
    good_runs: int = 1


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """`blast_radius` are the ARNs that the change touches or that depend on what it touches.

    `needed_approvals` is how many different people must approve: two where an action's risk is high.
    """

    plan_id: PlanId
    incident_id: IncidentId
    diagnosis_sha256: str
    account: str
    region: str
    actions: tuple[Action, ...]
    advice: tuple[Advice, ...]
    symptom: Symptom
    on_failed_proof: OnFailedProof
    needed_approvals: int
    blast_radius: tuple[str, ...]
    created_by: str
    created_at: datetime
    expires_at: datetime
    policy_version: str = POLICY_VERSION

    @property
    def risk(self) -> RiskLevel:
        return max((action.risk for action in self.actions), key=list(RiskLevel).index, default=RiskLevel.LOW)
