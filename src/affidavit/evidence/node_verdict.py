"""The verdict on a node: which faults are causes, what they explain, and what nobody can explain from this bundle.

Attribute names are the names on the wire. Every id is a finding's id in the index that holds the verdict.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Annotated

from affidavit.evidence.confidence import Confidence, Level
from affidavit.evidence.diagnosis import FaultType
from affidavit.evidence.finding import ABSENT_WHEN_NONE, Evidence


class VerdictState(StrEnum):
    """Of the node as a whole, when the bundle was made."""

    OPEN = "open"
    OVER = "over"
    PLANNED = "planned"
    STARTUP = "startup"
    QUIET = "quiet"
    """No finding of medium or above. Never called healthy."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CausalLink:
    """One step of the proof: `cause` can bring about `effect`, in time, and nothing refutes it.

    `clock_seconds` is how far the two clocks may be apart; null where one of the two has no time, so that the
    mechanism alone speaks.
    """

    cause: str
    effect: str
    how: str
    clock_seconds: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class RootCause:
    """The first of `evidence` is the finding that is the cause; the others witness the same fault."""

    cause: str
    fault_type: FaultType
    since: datetime | None
    until: datetime | None
    still_open: bool
    explains: tuple[str, ...]
    evidence: tuple[str, ...]
    proof: tuple[CausalLink, ...]
    confidence: Level
    first_step: str
    on: Annotated[str | None, ABSENT_WHEN_NONE] = None
    """Which pod, device, subnet …, where a line names it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Refutation:
    """A line that speaks against a cause, such as `df` at 41 %."""

    says: str
    evidence: Evidence


@dataclass(frozen=True, kw_only=True, slots=True)
class Alternative:
    """Another cause that could explain something, and what speaks against it."""

    cause: str
    why_less_likely: str
    finding_ids: tuple[str, ...]
    against: tuple[Refutation, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class CandidateCause:
    """A cause that would explain an effect, but is not seen; `look_in` is where it would stand."""

    cause: str
    speaks_for: tuple[str, ...]
    speaks_against: tuple[str, ...]
    look_in: tuple[str, ...]
    absent: tuple[str, ...]
    """Those of `look_in` that this bundle does not hold."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Unexplained:
    """Findings of medium or above that no seen cause explains. `cause_unknown`: such a fault is usually an effect."""

    what: str
    finding_ids: tuple[str, ...]
    cause_unknown: bool
    could_be: tuple[CandidateCause, ...] = ()
    look_in: tuple[str, ...] = ()
    """Where the cause of such a fault usually stands; commands begin with `run: `."""
    absent: tuple[str, ...] = ()
    """Files of `look_in` that this bundle does not hold."""


@dataclass(frozen=True, kw_only=True, slots=True)
class NodeVerdict:
    summary: str
    root_causes: tuple[RootCause, ...]
    alternatives: tuple[Alternative, ...]
    unexplained: tuple[Unexplained, ...]
    state: VerdictState
    confidence: Confidence
    gaps: tuple[str, ...]
    faults: int
    """Distinct faults of medium or above, however many findings show them."""

    @property
    def finding_ids(self) -> frozenset[str]:
        """Every id the verdict speaks of."""
        told = (
            *((*cause.evidence, *cause.explains) for cause in self.root_causes),
            *(alternative.finding_ids for alternative in self.alternatives),
            *(entry.finding_ids for entry in self.unexplained),
            *((link.cause, link.effect) for cause in self.root_causes for link in cause.proof),
        )
        return frozenset(finding_id for ids in told for finding_id in ids)
