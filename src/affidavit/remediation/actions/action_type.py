"""What every action of the catalog can do. To add one: a module with an `ActionType`, and a line in `catalog.py`."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from pydantic import BaseModel, ConfigDict

from affidavit.evidence.diagnosis import FaultType, RiskLevel
from affidavit.evidence.incident_subject import Subject, SubjectKind
from affidavit.ports.argument_sources import SourceDocument
from affidavit.ports.aws_reads_and_changes import ApiCall, StateReader
from affidavit.ports.json import Item
from affidavit.remediation.plan.plan_record import UndoClass


class Arguments(BaseModel):
    """The base of every action's arguments: what is not named in it is refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


@dataclass(frozen=True, kw_only=True, slots=True)
class Aim:
    """Which thing is changed, and to what. The undo of an action is an aim with the old values."""

    target: str
    """The ARN of what is changed; the lock is taken on it."""
    arguments: Item


@dataclass(frozen=True, kw_only=True, slots=True)
class Reading:
    """The live state that an aim would change, and nothing beside it.

    `token` is what AWS compares on a write (a RevisionId), from the same answer as the state; None where the API has no
    such thing. `is_settled` is False while AWS still carries a change out.
    """

    state: Item
    token: str | None = None
    is_settled: bool = True


class ActionType(Protocol):
    """One kind of repair. All methods but those with a `reader` are pure; none of them writes."""

    name: str
    """`lambda.concurrency.restore`"""
    risk: RiskLevel
    undo_class: UndoClass
    repairs: frozenset[FaultType]
    """The faults of a diagnosis for which this action is looked at."""
    subject_kind: SubjectKind
    """What the diagnosis must be about. `aims` is asked for no other kind."""
    arguments: type[Arguments]
    has_token: bool
    """Whether AWS compares a token on the write. Without one the state is re-read right before and right after."""

    def aims(self, subject: Subject, said: SourceDocument, reader: StateReader) -> Sequence[Aim]:
        """What this source would have changed on the subject, or nothing: it says nothing of it, or all is as it says.

        Values come from `said.document` alone. The reader only tells what is there now.
        """
        ...

    def read(self, aim: Aim, reader: StateReader) -> Reading:
        """Raises NotFound when the target is gone, UpstreamFailed or Throttled when nobody could look."""
        ...

    def problems(self, aim: Aim, live: Reading, reader: StateReader) -> Sequence[str]:
        """The extra precheck: why this must not be done, each a sentence. Empty when nothing speaks against it."""
        ...

    def expected(self, aim: Aim, state: Item) -> Item:
        """The state after the aim was carried out on `state`."""
        ...

    def undo(self, aim: Aim, state: Item) -> Item | None:
        """The arguments that bring `state` back; None where `undo_class` is none."""
        ...

    def calls(self, aim: Aim, token: str | None) -> tuple[ApiCall, ...]:
        """The exact calls. IAM is asked for exactly their actions on their resources, under their conditions."""
        ...

    def touches(self, aim: Aim, reader: StateReader) -> Sequence[str]:
        """ARNs of everything that the change reaches, the target among them."""
        ...
