"""Computes the nine numbers from counts: per bundle, per tool and overall are sums of the same tally.

Empty sets are defined: a share of nothing is 1.0 (nothing was expected and nothing was wrong), and the rate of
hallucination over no finding is 0.0. Latencies of nothing are null.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from functools import reduce

from affidavit.evaluation.nodes.truth_comparison import Judgement


@dataclass(frozen=True, kw_only=True)
class Tally:
    alarms: int = 0
    true_alarms: int = 0
    expected: int = 0
    found: int = 0
    right_severity: int = 0
    returned: int = 0
    verified: int = 0
    logs: int = 0
    logs_scanned: int = 0
    healthy_alarms: int = 0
    notes: int = 0
    """Findings below medium that no truth names: facts such as a start, neither right nor wrong here."""
    latencies_ms: tuple[float, ...] = ()
    first_finding_ms: tuple[float, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Metrics:
    """`finding_recall` and `coverage_completeness` are null for a tool that does not promise everything."""

    finding_precision: float
    finding_recall: float | None
    f1: float | None
    hallucination_rate: float
    citation_accuracy: float
    coverage_completeness: float | None
    severity_accuracy: float
    latency_p50_ms: float | None
    latency_p95_ms: float | None
    time_to_first_finding_ms: float | None


def tally_of(
    judgement: Judgement,
    *,
    is_healthy: bool,
    logs: int = 0,
    logs_scanned: int = 0,
    latency_ms: float | None = None,
    first_finding_ms: float | None = None,
) -> Tally:
    alarms = [entry for entry in judgement.findings if entry.is_alarm]
    found = [entry for entry in judgement.problems if entry.is_found]
    return Tally(
        alarms=len(alarms),
        true_alarms=sum(entry.is_true for entry in alarms),
        expected=len(judgement.problems),
        found=len(found),
        right_severity=sum(entry.has_right_severity for entry in found),
        returned=len(judgement.findings),
        verified=sum(not entry.broken for entry in judgement.findings),
        logs=logs,
        logs_scanned=logs_scanned,
        healthy_alarms=len(alarms) if is_healthy else 0,
        notes=sum(not entry.is_alarm and not entry.is_true for entry in judgement.findings),
        latencies_ms=(latency_ms,) if latency_ms is not None else (),
        first_finding_ms=(first_finding_ms,) if first_finding_ms is not None else (),
    )


def total(tallies: Iterable[Tally]) -> Tally:
    return reduce(_sum, tallies, Tally())


def metrics_of(tally: Tally, *, is_complete: bool = True) -> Metrics:
    precision = share(tally.true_alarms, tally.alarms)
    recall = share(tally.found, tally.expected)
    return Metrics(
        finding_precision=precision,
        finding_recall=recall if is_complete else None,
        f1=_harmonic(precision, recall) if is_complete else None,
        hallucination_rate=share(tally.returned - tally.verified, tally.returned, of_nothing=0.0),
        citation_accuracy=share(tally.verified, tally.returned),
        coverage_completeness=share(tally.logs_scanned, tally.logs) if is_complete else None,
        severity_accuracy=share(tally.right_severity, tally.found),
        latency_p50_ms=percentile(tally.latencies_ms, 50),
        latency_p95_ms=percentile(tally.latencies_ms, 95),
        time_to_first_finding_ms=percentile(tally.first_finding_ms, 50),
    )


def share(part: int, whole: int, *, of_nothing: float = 1.0) -> float:
    return part / whole if whole else of_nothing


def percentile(values: Sequence[float], percent: float) -> float | None:
    """By nearest rank, so always a measured value."""
    if not values:
        return None
    ordered = sorted(values)
    return ordered[max(0, math.ceil(percent / 100 * len(ordered)) - 1)]


def rounded(metrics: Metrics) -> dict[str, float | None]:
    """For people and files: four digits for shares, a tenth of a millisecond for times."""
    digits = {name: 1 if name.endswith("_ms") else 4 for name in asdict(metrics)}
    return {name: value if value is None else round(value, digits[name]) for name, value in asdict(metrics).items()}


def _harmonic(precision: float, recall: float) -> float:
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def _sum(left: Tally, right: Tally) -> Tally:
    """Adds counts and joins latencies."""
    return Tally(**{field.name: getattr(left, field.name) + getattr(right, field.name) for field in fields(Tally)})
