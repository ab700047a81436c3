"""One fault a rule found, with its proof and what to do about it."""

from collections.abc import Iterable
from dataclasses import dataclass

from affidavit.evidence.diagnosis import EvidencePointer, FaultType, IncidentSeverity, RiskLevel


@dataclass(frozen=True, kw_only=True)
class Remedy:
    action: str
    details: str
    risk: RiskLevel = RiskLevel.LOW


@dataclass(frozen=True, kw_only=True)
class Fault:
    kind: FaultType
    cause: str
    resources: tuple[str, ...]
    proof: tuple[EvidencePointer, ...]
    remedy: Remedy
    severity: IncidentSeverity = IncidentSeverity.HIGH
    explains: frozenset[str] = frozenset()
    """Labels of failure reasons that are effects of this fault, not separate faults."""
    gaps: tuple[str, ...] = ()
    is_doubtful: bool = False
    """It was there; whether it still is, nothing shows."""
    is_sure: bool = True
    """What was read means this and nothing else; otherwise the diagnosis is held with low confidence."""


@dataclass(frozen=True, kw_only=True)
class Passed:
    """A failure that is over. `gap` says what its end leaves open."""

    proof: tuple[EvidencePointer, ...]
    gap: str = ""


def proofs(*pointers: EvidencePointer | None) -> tuple[EvidencePointer, ...]:
    return tuple(pointer for pointer in pointers if pointer is not None)


def names(*values: object) -> tuple[str, ...]:
    return tuple(dict.fromkeys(str(value) for value in values if value))


def quoted(values: Iterable[str]) -> str:
    return ", ".join(sorted(set(values)))


def sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."
