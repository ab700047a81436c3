"""The numbers of an agent over incident scenarios, from runs that somebody else makes.

A runner implements `Diagnostician`; nothing here knows a chat model. A run that failed has no diagnosis: it counts
against accuracy, and its failure is told.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from affidavit.evaluation.metrics import percentile, share


@dataclass(frozen=True, kw_only=True)
class IncidentRun:
    """One attempt at one scenario. `fault_types` is None when there was no diagnosis."""

    scenario: str
    fault_types: frozenset[str] | None
    claims: int = 0
    verified_claims: int = 0
    fabricated_stored: int = 0
    """Pointers to evidence that does not exist, and were stored all the same."""
    tool_calls: int = 0
    tokens: int = 0
    seconds: float = 0.0
    failure: str = ""


class Diagnostician(Protocol):
    def diagnose(self, scenario: str, attempt: int) -> IncidentRun: ...


@dataclass(frozen=True, kw_only=True)
class IncidentMetrics:
    exact_set_accuracy: float
    verified_evidence_rate: float
    unsupported_claims: int
    fabricated_stored: int
    pass_at_k: float
    all_k: float
    majority_at_3: float | None
    """None where some scenario ran fewer than three times."""
    tool_calls_p50: float | None
    tokens_p50: float | None
    seconds_p50: float | None
    failures: int


def incident_metrics(truth: Mapping[str, frozenset[str]], runs: Sequence[IncidentRun]) -> IncidentMetrics:
    """`truth` maps each scenario to its fault types; a scenario that never ran counts as missed."""
    right = {name: [run.fault_types == wanted for run in _of(runs, name)] for name, wanted in truth.items()}
    claims, verified = sum(run.claims for run in runs), sum(run.verified_claims for run in runs)
    flat = [outcome for outcomes in right.values() for outcome in outcomes or [False]]
    return IncidentMetrics(
        exact_set_accuracy=share(sum(flat), len(flat)),
        verified_evidence_rate=share(verified, claims),
        unsupported_claims=claims - verified,
        fabricated_stored=sum(run.fabricated_stored for run in runs),
        pass_at_k=share(sum(any(outcomes) for outcomes in right.values()), len(right)),
        all_k=share(sum(bool(outcomes) and all(outcomes) for outcomes in right.values()), len(right)),
        majority_at_3=_majority(truth, runs),
        tool_calls_p50=percentile([float(run.tool_calls) for run in runs], 50),
        tokens_p50=percentile([float(run.tokens) for run in runs], 50),
        seconds_p50=percentile([run.seconds for run in runs], 50),
        failures=sum(bool(run.failure) for run in runs),
    )


def _of(runs: Sequence[IncidentRun], scenario: str) -> list[IncidentRun]:
    return [run for run in runs if run.scenario == scenario]


def _majority(truth: Mapping[str, frozenset[str]], runs: Sequence[IncidentRun]) -> float | None:
    """The answer that two of the first three attempts gave; three different ones are no answer."""
    firsts = {name: [run.fault_types for run in _of(runs, name)[:3]] for name in truth}
    if any(len(answers) < 3 for answers in firsts.values()):
        return None
    winners = {name: Counter(answers).most_common(1)[0] for name, answers in firsts.items()}
    won = [winners[name][1] >= 2 and winners[name][0] == wanted for name, wanted in truth.items()]
    return share(sum(won), len(won))
