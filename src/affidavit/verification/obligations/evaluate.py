"""Evaluates the obligations of a diagnosis: what contradicts it, and what it needs that nothing shows."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import re2

from affidavit.errors import InvariantBroken
from affidavit.evidence.diagnosis import Diagnosis, EvidencePointer, FaultType, ProducedBy
from affidavit.verification.obligations.obligation_conditions import CONDITIONS
from affidavit.verification.obligations.recorded_incident_facts import LOGS, Situation
from affidavit.verification.obligations.run_facts import RunFacts, signs_in
from affidavit.yaml_loading import load_yaml

_FILE = Path(__file__).parent / "conclusions.yaml"
_MANY = 5
# What such a fault does to a run besides its own sign.
_EFFECTS: Mapping[FaultType, frozenset[FaultType]] = {
    FaultType.NETWORK_BLOCK: frozenset({FaultType.TIMEOUT, FaultType.DEPENDENCY}),
    FaultType.DEPENDENCY: frozenset({FaultType.TIMEOUT}),
    FaultType.THROTTLING: frozenset({FaultType.TIMEOUT}),
    FaultType.CREDENTIALS: frozenset({FaultType.PERMISSION_LOSS, FaultType.STARTUP}),
    FaultType.CONFIGURATION: frozenset({FaultType.STARTUP, FaultType.CODE_ERROR, FaultType.PERMISSION_LOSS}),
    FaultType.STARTUP: frozenset({FaultType.CONFIGURATION, FaultType.CODE_ERROR, FaultType.TIMEOUT}),
    FaultType.PERMISSION_LOSS: frozenset({FaultType.STARTUP}),
    FaultType.RESOURCE_LIMIT: frozenset({FaultType.CODE_ERROR}),
}


@dataclass(frozen=True, kw_only=True)
class Need:
    """Holds when one of its conditions does."""

    says: str
    any_of: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Obligation:
    needs: tuple[Need, ...]
    concept: Any
    """Words by which a cause speaks of this conclusion."""


def open_needs(diagnosis: Diagnosis, at: Situation) -> Iterator[str]:
    """What the faults that are named need and nothing shows, and failing runs that none of them explains."""
    if not at.entries:
        return
    for fault in diagnosis.fault_types:
        yield from _open(fault, diagnosis, at)
    yield from _unexplained(diagnosis, at)


def _open(fault: FaultType, diagnosis: Diagnosis, at: Situation) -> Iterator[str]:
    obligation = _of(fault)
    for need in obligation.needs:
        if not any(CONDITIONS[name](at, fault) for name in need.any_of):
            yield f"{fault}: {need.says}"
    if fault is FaultType.UNKNOWN and at.is_of_function:
        yield f"{fault}: what the failing runs mean is not known"
    if fault is not FaultType.UNKNOWN and not any(_shows(pointer, fault, at) for pointer in diagnosis.evidence):
        yield f"{fault}: nothing that is cited shows it"
    # A rule's cause and its fault are one piece; a chat model chooses its words and its label apart.
    is_told = diagnosis.produced_by is ProducedBy.CHAT_MODEL
    if is_told and obligation.concept.search(diagnosis.root_cause) is None:
        yield f"{fault}: the cause does not speak of it"


def _shows(pointer: EvidencePointer, fault: FaultType, at: Situation) -> bool:
    """A line that shows the fault, or a setting: what it must be, the needs say."""
    if _is_of_node(fault):
        return at.node.shows(pointer, fault)
    if pointer.tool != LOGS:
        return True
    run = at.event_run(pointer.field)
    is_sign = isinstance(pointer.value, str) and fault in signs_in(pointer.value)
    return is_sign or (run is not None and fault in run.faults)


def _unexplained(diagnosis: Diagnosis, at: Situation) -> Iterator[str]:
    named = set(diagnosis.fault_types)
    explained = named.union(*(_EFFECTS.get(fault, frozenset()) for fault in named)) if named else set[FaultType]()
    cited = [run.faults for pointer in diagnosis.evidence if (run := _cited(pointer, at)) is not None]
    for run in at.failing:
        if run.faults & explained or (run.faults and any(run.faults <= one for one in cited) and not named):
            continue
        if FaultType.UNKNOWN in named and not run.faults:
            continue
        if _has_stopped(run, at):
            continue
        if _is_past(run, at) and any(run.faults & one for one in cited):
            continue  # told as what is over
        kinds = ", ".join(sorted(run.faults)) or "an error of no known kind"
        yield f"the failing run {run.request_id} is not explained: it shows {kinds}"
        return


def _has_stopped(run: RunFacts, at: Situation) -> bool:
    """Many runs since, and none of them shows it."""
    last = max(place for place, one in enumerate(at.runs) if one is run or run.faults & one.faults)
    return len(at.runs) - 1 - last >= _MANY


def _is_past(run: RunFacts, at: Situation) -> bool:
    return bool(at.good_since) or run is not at.failing[-1]


def _cited(pointer: EvidencePointer, at: Situation) -> RunFacts | None:
    return at.event_run(pointer.field) if pointer.tool == LOGS else None


def _of(fault: FaultType) -> Obligation:
    table = obligations()
    return table["node" if _is_of_node(fault) else fault.value]


@cache
def obligations() -> Mapping[str, Obligation]:
    """By conclusion. Raises InvariantBroken when a condition is unknown, a fault is missing or a sample misbehaves."""
    data = load_yaml(_FILE.read_text())
    table = {name: _obligation(name, entry) for name, entry in data["conclusions"].items()}
    missing = [fault for fault in FaultType if fault.value not in table and not _is_of_node(fault)]
    wrong = [one for one in data["samples"] if FaultType(one["shows"]) not in signs_in(one["line"])]
    if missing or wrong:
        raise InvariantBroken(
            f"conclusions.yaml: {missing or wrong} misbehaves", hint="correct the file, or signs.yaml beside it"
        )
    return table


def _is_of_node(fault: FaultType) -> bool:
    return fault.value.startswith("node_") or fault is FaultType.WORKLOAD


def _obligation(name: str, entry: Mapping[str, Any]) -> Obligation:
    needs = tuple(Need(says=one["says"], any_of=tuple(one["any"])) for one in entry["needs"])
    unknown = [condition for need in needs for condition in need.any_of if condition not in CONDITIONS]
    if unknown:
        raise InvariantBroken(
            f"conclusions.yaml, {name}: no condition {unknown[0]}", hint="see obligation_conditions.py"
        )
    return Obligation(needs=needs, concept=re2.compile(f"(?i){entry['concept']}"))


def needs_of(fault: FaultType) -> Sequence[Need]:
    return _of(fault).needs
