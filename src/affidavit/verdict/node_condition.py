"""The schema of a condition that a node can suffer from: how it shows, what it can cause, and where to look for it."""

import re
from datetime import timedelta
from enum import StrEnum
from functools import cached_property
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from affidavit.evidence.diagnosis import FaultType
from affidavit.evidence.finding import Finding

_SPAN = re.compile(r"(\d+)([smhd])")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}

Texts = tuple[Annotated[str, Field(min_length=1)], ...]


class _Data(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


def _span(value: object) -> object:
    found = _SPAN.fullmatch(value) if isinstance(value, str) else None
    return timedelta(**{_UNITS[found[2]]: int(found[1])}) if found is not None else value


def _by_id(value: object) -> object:
    """A bare text names a rule, a check or a signal."""
    return {"by": value} if isinstance(value, str) else value


Span = Annotated[timedelta, BeforeValidator(_span)]


class CauseRole(StrEnum):
    """How to treat a condition that nothing seen explains."""

    CAUSE = "cause"
    """It is a cause by itself."""
    STATE = "state"
    """A setting or a counter: a cause only of something that is seen to follow from it."""
    EFFECT = "effect"
    """Something else caused it: never a cause by itself."""


class ShownBy(_Data):
    """`by` is a rule, a check or a signal family; the rest narrows it down to some of its findings."""

    by: str
    says: str | None = None
    """A pattern in the line or in what was measured."""
    unless: str | None = None
    where: dict[str, str] = {}
    """By kind of entity: a pattern that one of the finding's names of this kind must match."""
    unless_seen: Texts = ()
    """Does not count when one of these rules found something in the same component."""
    when_seen: Texts = ()
    """Counts only when one of these rules found something, in whichever component: a second witness."""
    component: str | None = None

    def fits(self, finding: Finding, line: str) -> bool:
        """`line` is the whole line that the finding quotes: what went wrong often stands at its end."""
        if self.component is not None and finding.component != self.component:
            return False
        text = f"{line}\n{finding.detail or ''}"
        if self.says is not None and not _search(self.says, text):
            return False
        if self.unless is not None and _search(self.unless, text):
            return False
        return all(self._names(finding, kind, pattern) for kind, pattern in self.where.items())

    @staticmethod
    def _names(finding: Finding, kind: str, pattern: str) -> bool:
        return any(entity.kind == kind and _search(pattern, entity.name) for entity in finding.entities)


class CausalEdge(_Data):
    """The condition with this edge can cause `effect`, at most `within` after it was last seen."""

    effect: str
    how: Annotated[str, Field(min_length=12, max_length=200)]
    within: Span = timedelta(minutes=30)
    same: Texts = ()
    """Kinds of entity whose names must be the same where both sides name one."""
    weak: bool = False
    """Possible but rare: any other cause that is seen goes first."""


class GraphSample(_Data):
    """Findings as `rule +minutes`, and the conditions that must lead, in order. Empty when nothing may be blamed."""

    seen: Annotated[Texts, Field(min_length=1)]
    leads: Texts


class Condition(_Data):
    id: Annotated[str, Field(pattern=r"^[a-z0-9-]+$")]
    name: Annotated[str, Field(min_length=6, max_length=90)]
    fault_type: FaultType
    role: CauseRole = CauseRole.CAUSE
    shown_by: Annotated[tuple[Annotated[ShownBy, BeforeValidator(_by_id)], ...], Field(min_length=1)]
    """The order decides which finding is shown first when several show the condition."""
    causes: tuple[CausalEdge, ...] = ()
    seen_late: Span = timedelta(0)
    """Its first line can come so long after its effects began."""
    only_allows: bool = False
    """A limit or a size, usual on many nodes: it confirms the fault that is in the logs, and never leads instead."""
    from_start: bool = False
    """Every node begins in it, so that it began before its cause says nothing. That it holds on is the fault."""
    lasts: bool = False
    """It stays until somebody acts, even if no further line says so."""
    refuted_by: Texts = ()
    """Measured facts that refute the condition when only a line claims it: `df` with room refutes a full disk."""
    unlikely_by: Texts = ()
    """Facts that make it unlikely where no line shows it: they tell the state at the collection, not before it."""
    look_in: Texts = ()
    """Files, or commands after `run:`, that would show it."""
    samples: tuple[GraphSample, ...] = ()

    @cached_property
    def signs(self) -> frozenset[str]:
        return frozenset(sign.by for sign in self.shown_by)

    @cached_property
    def witnesses(self) -> frozenset[str]:
        """Rules that decide whether a sign counts."""
        return frozenset(name for sign in self.shown_by for name in (*sign.unless_seen, *sign.when_seen))


def _search(pattern: str, text: str) -> bool:
    return re.search(pattern, text, re.IGNORECASE) is not None
