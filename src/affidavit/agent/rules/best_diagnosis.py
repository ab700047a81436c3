"""The best diagnosis that the recorded answers prove without a chat model. It is verified like any other."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from affidavit.agent.certainty import certainty
from affidavit.agent.rules.capacity import memory_faults, throttling_faults, timeout_faults
from affidavit.agent.rules.facts import CONFIG, IAM, LOGS, Facts, facts
from affidavit.agent.rules.fault import Fault, Passed, names, proofs
from affidavit.agent.rules.network import network_faults
from affidavit.agent.rules.permissions import passed_denials, permission_faults
from affidavit.agent.rules.startup import code_faults, configuration_faults, unknown_faults
from affidavit.evidence.diagnosis import (
    Diagnosis,
    EvidencePointer,
    FaultType,
    IncidentSeverity,
    ProducedBy,
    RemediationStep,
    RiskLevel,
)
from affidavit.verification.entry import Entry
from affidavit.verification.verify import verify, verify_pointer

# Causes before effects: what an earlier rule explains is no fault of its own.
RULES = (
    permission_faults,
    configuration_faults,
    network_faults,
    throttling_faults,
    memory_faults,
    timeout_faults,
    code_faults,
    unknown_faults,
)
_ORDER = list(IncidentSeverity)


def best_so_far(entries: Sequence[Entry], gaps: Sequence[str] = ()) -> Diagnosis | None:
    """None when nothing can be proven: neither a fault nor that there is none."""
    known = facts(entries)
    found = sorted(_faults(known, entries), key=_turn)
    past = list(passed_denials(known))
    own = (*(gap for fault in found for gap in fault.gaps), *(one.gap for one in past if one.gap))
    missing = (*gaps, *_unanswered(known), *dict.fromkeys(own))
    diagnosis = _of_faults(found, past, entries, missing) if found else _of_none(known, entries, missing)
    return diagnosis if diagnosis is not None and verify(diagnosis, entries).holds else None


def _turn(fault: Fault) -> int:
    """What keeps every run from starting comes first, what may be over last: a plan is followed from the top."""
    if fault.is_doubtful:
        return 2
    return 0 if fault.severity is IncidentSeverity.CRITICAL else 1


def _faults(known: Facts, entries: Sequence[Entry]) -> Iterator[Fault]:
    explained: set[str] = set()
    for rule in RULES:
        for fault in list(rule(known)):
            own = _signs_of(fault, known)
            if own and own <= explained:
                continue
            if fault.kind is FaultType.CONFIGURATION and fault.explains & explained & {"update-failed", "state-failed"}:
                continue
            proof = tuple(one for one in fault.proof if verify_pointer(0, one, entries, None).holds)
            if proof:
                explained |= fault.explains
                yield replace(fault, proof=proof)


def _signs_of(fault: Fault, known: Facts) -> set[str]:
    """Kinds of log signs this fault rests on alone; empty when a setting proves it."""
    if any(one.tool != LOGS for one in fault.proof) and fault.kind not in _LOG_BORN:
        return set()
    places = {one.field for one in fault.proof if one.tool == LOGS}
    return {
        sign.kind
        for run in known.history.runs
        for sign in run.signs
        if f"/events/{sign.event}/message" in places and sign.kind in _KINDS.get(fault.kind, ())
    }


_KINDS: dict[FaultType, tuple[str, ...]] = {
    FaultType.TIMEOUT: ("timed-out",),
    FaultType.CODE_ERROR: ("raised", "key-missing", "import-failed"),
    FaultType.UNKNOWN: ("exited", "killed"),
}
_LOG_BORN = frozenset(_KINDS)


def _of_faults(
    found: Sequence[Fault], past: Sequence[Passed], entries: Sequence[Entry], gaps: Sequence[str]
) -> Diagnosis:
    evidence: list[EvidencePointer] = []
    steps: list[RemediationStep] = []
    for fault in found:
        first = len(evidence)
        evidence.extend(fault.proof)
        steps.append(
            RemediationStep(
                action=fault.remedy.action,
                details=fault.remedy.details,
                evidence_basis=tuple(range(first, len(evidence))),
                risk_level=fault.remedy.risk,
                requires_approval=fault.remedy.risk is not RiskLevel.LOW,
            )
        )
    over = (pointer for one in past for pointer in one.proof)
    evidence.extend(pointer for pointer in over if verify_pointer(0, pointer, entries, None).holds)
    cause = "; ".join(fault.cause for fault in found)
    return Diagnosis(
        root_cause=f"{cause[0].upper()}{cause[1:]}."[:4000],
        fault_types=tuple(dict.fromkeys(fault.kind for fault in found)),
        affected_resources=names(*(name for fault in found for name in fault.resources)),
        severity=min((fault.severity for fault in found), key=_ORDER.index),
        evidence=tuple(evidence),
        remediation_plan=tuple(steps),
        gaps=tuple(gaps),
        confidence=certainty(entries, evidence=len(evidence), gaps=gaps),
        produced_by=ProducedBy.RULES,
    )


def _of_none(known: Facts, entries: Sequence[Entry], gaps: Sequence[str]) -> Diagnosis | None:
    """Nothing is wrong now, if good runs say so; else, with failures counted and no cause seen, unknown."""
    runs = known.history.runs
    if runs and runs[-1].is_good and known.config:
        return _healthy(known, entries, gaps)
    counted = (
        known.point(CONFIG, "Metrics", "errors", shows="Runs that failed.") if known.metrics.get("errors") else None
    )
    if counted is None:
        return None
    unseen = (*gaps, "why the runs failed")
    return _plain(
        "Runs fail, and nothing that was read says why.", (FaultType.UNKNOWN,), (counted,), known, entries, unseen
    )


def _healthy(known: Facts, entries: Sequence[Entry], gaps: Sequence[str]) -> Diagnosis:
    last = known.history.runs[-1]
    # The newest run did well and no rule found a fault: whatever sign there is belongs to the past.
    over = known.history.newest_signs()
    pointers = proofs(
        known.point(LOGS, "events", last.report or 0, "message", shows="The newest run, which ended well."),
        *(known.quote(sign, shows="An earlier failure; the newest run does not show it.") for sign in over),
        known.point(CONFIG, "Metrics", "errors", shows="Failed runs in the window of the metrics."),
        known.point(CONFIG, "State", shows="The function's state."),
        known.point(IAM, "simulated_decisions", 0, "decision", shows="IAM's simulator now."),
    )
    cause = (
        "The failure is over: the newest runs succeed."
        if over or known.metrics.get("throttles")
        else "Nothing is wrong in what was read: the newest runs succeed."
    )
    holding = tuple(one for one in pointers if verify_pointer(0, one, entries, None).holds)
    return _plain(cause, (), holding, known, entries, gaps)


def _plain(
    cause: str,
    kinds: tuple[FaultType, ...],
    evidence: tuple[EvidencePointer, ...],
    known: Facts,
    entries: Sequence[Entry],
    gaps: Sequence[str],
) -> Diagnosis:
    return Diagnosis(
        root_cause=cause,
        fault_types=kinds,
        affected_resources=names(known.function) if kinds else (),
        severity=IncidentSeverity.LOW if not kinds else IncidentSeverity.MEDIUM,
        evidence=evidence,
        remediation_plan=(),
        gaps=tuple(gaps),
        confidence=certainty(entries, evidence=len(evidence), gaps=gaps),
        produced_by=ProducedBy.RULES,
    )


def _unanswered(known: Facts) -> list[str]:
    failed = [f"{tool} failed: {text}"[:500] for tool, text in sorted(known.errors.items())]
    unread = [
        f"{tool} could not read {part.get('what')}: {part.get('why')}"[:500]
        for tool, answer in sorted(known.answers.items())
        for part in cast("list[Mapping[str, Any]]", answer.get("not_read") or [])
    ]
    return [*failed, *unread][:50]
