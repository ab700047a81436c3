"""The best diagnosis that the recorded answers prove without a chat model. It is verified like any other."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from affidavit.agent.rules.alert import RaisedBy
from affidavit.agent.rules.aws_reported_faults import key_faults, role_faults, source_faults, state_faults
from affidavit.agent.rules.breaking_changes import with_change
from affidavit.agent.rules.errors.error_message_faults import told_faults, unread_faults
from affidavit.agent.rules.fault import Fault, Passed, names
from affidavit.agent.rules.health import counted_words, doubts, shown_by, unread_metric, unreadable_lines
from affidavit.agent.rules.ledger_facts import CHANGES, CONFIG, Facts, facts
from affidavit.agent.rules.limit_faults import concurrency_faults, init_timeout_faults, memory_faults, timeout_faults
from affidavit.agent.rules.network.reachability_faults import network_faults
from affidavit.agent.rules.permissions.denial_faults import passed_denials, permission_faults
from affidavit.evidence.confidence import Level
from affidavit.evidence.diagnosis import (
    Diagnosis,
    EvidencePointer,
    FaultType,
    IncidentSeverity,
    ProducedBy,
    RemediationStep,
    RiskLevel,
)
from affidavit.verification.confidence import UNSTATED, with_confidence
from affidavit.verification.ledger_entry import Entry
from affidavit.verification.pointer_check import verify, verify_pointer

# Causes before effects: what an earlier rule explains is no fault of its own.
RULES = (
    permission_faults,
    role_faults,
    key_faults,
    state_faults,
    source_faults,
    network_faults,
    concurrency_faults,
    memory_faults,
    init_timeout_faults,
    told_faults,
    timeout_faults,
    unread_faults,
)
_ORDER = list(IncidentSeverity)
_MOST_FAULTS = 6
UNSURE = replace(UNSTATED, level=Level.LOW)


def best_so_far(
    entries: Sequence[Entry], gaps: Sequence[str] = (), *, raised: RaisedBy | None = None
) -> Diagnosis | None:
    """None when nothing can be proven: neither a fault nor that there is none."""
    known = facts(entries, raised)
    sorted_out = _doubted(known, _without_echoes(sorted(_faults(known, entries), key=_turn)))
    found = [with_change(fault, known) for fault in sorted_out]
    past = list(passed_denials(known))
    own = (*(gap for fault in found for gap in fault.gaps), *(one.gap for one in past if one.gap))
    missing = (*gaps, *_unanswered(known), *dict.fromkeys(own))
    diagnosis = _of_faults(found, past, entries, missing) if found else _of_none(known, entries, missing)
    if diagnosis is None or not verify(diagnosis, entries).holds:
        return None
    return with_confidence(diagnosis, entries)


def _turn(fault: Fault) -> int:
    """What keeps every run from starting comes first, what may be over last: a plan is followed from the top."""
    if fault.is_doubtful:
        return 2
    return 0 if fault.severity is IncidentSeverity.CRITICAL else 1


def _faults(known: Facts, entries: Sequence[Entry]) -> Iterator[Fault]:
    explained: set[str] = set()
    for rule in RULES:
        before = frozenset(explained)
        for fault in list(rule(known)):
            proof = tuple(one for one in fault.proof if verify_pointer(0, one, entries, None).holds)
            if proof and not (fault.explains and fault.explains <= before):
                explained |= fault.explains
                yield replace(fault, proof=proof)


def _without_echoes(found: Sequence[Fault]) -> list[Fault]:
    """What nobody can read adds nothing to a fault that is known: it becomes a gap of that one."""
    known = [fault for fault in found if fault.kind is not FaultType.UNKNOWN]
    if not known:
        return list(found[:_MOST_FAULTS])
    unread = [fault for fault in found if fault.kind is FaultType.UNKNOWN]
    told = tuple(f"also seen, and not explained: {fault.cause}"[:500] for fault in unread)
    first = replace(known[0], gaps=(*known[0].gaps, *told), is_sure=known[0].is_sure and not unread)
    return [first, *known[1:_MOST_FAULTS]]


def _doubted(known: Facts, found: list[Fault]) -> list[Fault]:
    """Runs that complained, though nobody says that they failed, may have a fault of their own."""
    unsaid = [run for run in known.history.runs if run.run.complaints and not run.reasons]
    if not found or not unsaid:
        return found
    gap = f"{len(unsaid)} more runs logged errors and went on; what became of their work is not known"
    return [replace(found[0], gaps=(*found[0].gaps, gap), is_sure=False), *found[1:]]


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
        confidence=UNSTATED if all(fault.is_sure for fault in found) else UNSURE,
        produced_by=ProducedBy.RULES,
    )


def _of_none(known: Facts, entries: Sequence[Entry], gaps: Sequence[str]) -> Diagnosis | None:
    """Nothing is wrong now, if that is shown; else, with a failure told and no cause seen, unknown."""
    against = doubts(known)
    if not against:
        return _healthy(known, entries, gaps)
    counted = known.point(CONFIG, "Metrics", "errors", shows="Runs that failed, as Lambda counts them.")
    shown = [one for one in (counted, *unreadable_lines(known)) if one is not None]
    holding = tuple(one for one in shown if verify_pointer(0, one, entries, None).holds)
    is_told = known.metrics.get("errors") or (known.raised is not None and known.history.runs)
    if not is_told or not holding:
        return None
    cause = f"Something failed, and nothing that was read says why: {'; '.join(against)}."
    return _plain(cause, (FaultType.UNKNOWN,), holding, known, (*gaps, *against))


def _healthy(known: Facts, entries: Sequence[Entry], gaps: Sequence[str]) -> Diagnosis:
    is_over = known.history.failed or known.metrics.get("throttles")
    cause = (
        "The failure is over: the newest runs succeed."
        if is_over
        else "Nothing is wrong in what was read: the newest runs succeed."
    )
    holding = tuple(one for one in shown_by(known) if verify_pointer(0, one, entries, None).holds)
    found = _plain(cause, (), holding, known, gaps)
    if not counted_words(known):
        return found
    # The alarm is on words that the log shows; how many of them it counted, nobody read.
    return found.model_copy(update={"confidence": UNSURE, "open_obligations": (unread_metric(known),)})


def _plain(
    cause: str,
    kinds: tuple[FaultType, ...],
    evidence: tuple[EvidencePointer, ...],
    known: Facts,
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
        confidence=UNSTATED,
        produced_by=ProducedBy.RULES,
    )


def _unanswered(known: Facts) -> list[str]:
    """What of changes was not read stands beside the confidence: no fault depends on it."""
    failed = [f"{tool} failed: {text}"[:500] for tool, text in sorted(known.errors.items()) if tool != CHANGES]
    unread = [
        f"{tool} could not read {part.get('what')}: {part.get('why')}"[:500]
        for tool, answer in sorted(known.answers.items())
        if tool != CHANGES
        for part in cast("list[Mapping[str, Any]]", answer.get("not_read") or [])
    ]
    return [*failed, *unread][:50]
