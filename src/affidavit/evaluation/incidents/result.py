"""What `eval incidents` and `eval adversarial` found, as the terminal, the JSON file and the page show it."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from affidavit.evaluation.incidents import IncidentRun, incident_metrics
from affidavit.evaluation.workload_scenarios import WorkloadScenario

Numbers = dict[str, float | None]
NO_DIAGNOSIS = "no diagnosis"


@dataclass(frozen=True, kw_only=True)
class IncidentScenarioResult:
    id: str
    title: str
    expected: tuple[str, ...]
    answers: tuple[str, ...]
    """One an attempt, in order: its faults by comma, `healthy`, or `no diagnosis`."""
    right: int
    claims: int
    verified_claims: int
    fabricated_claimed: int
    tool_calls: int
    tokens: int
    seconds: float
    troubles: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class IncidentsResult:
    provider: str
    k: int
    metrics: Numbers
    scenarios: tuple[IncidentScenarioResult, ...]


def incidents_result(
    scenarios: Sequence[WorkloadScenario], runs: Sequence[IncidentRun], *, provider: str, k: int
) -> IncidentsResult:
    truth = {one.scenario_id: frozenset(fault.value for fault in one.truth.fault_types) for one in scenarios}
    numbers = asdict(incident_metrics(truth, runs))
    return IncidentsResult(
        provider=provider,
        k=k,
        metrics={"scenarios": len(scenarios), **{name: _rounded(value) for name, value in numbers.items()}},
        scenarios=tuple(_scenario(one, [run for run in runs if run.scenario == one.scenario_id]) for one in scenarios),
    )


def incident_numbers(result: IncidentsResult | None) -> Mapping[str, float | None]:
    """Every number a gate can name."""
    return {f"incidents.{name}": value for name, value in result.metrics.items()} if result is not None else {}


def _scenario(scenario: WorkloadScenario, runs: Sequence[IncidentRun]) -> IncidentScenarioResult:
    expected = frozenset(fault.value for fault in scenario.truth.fault_types)
    return IncidentScenarioResult(
        id=scenario.scenario_id,
        title=scenario.title,
        expected=tuple(sorted(expected)),
        answers=tuple(_answer(run) for run in runs),
        right=sum(run.fault_types == expected for run in runs),
        claims=sum(run.claims for run in runs),
        verified_claims=sum(run.verified_claims for run in runs),
        fabricated_claimed=sum(run.fabricated_claimed for run in runs),
        tool_calls=sum(run.tool_calls for run in runs),
        tokens=sum(run.tokens for run in runs),
        seconds=round(sum(run.seconds for run in runs), 3),
        troubles=tuple(trouble for run in runs for trouble in _troubles(run, expected)),
    )


def _troubles(run: IncidentRun, expected: frozenset[str]) -> list[str]:
    said = list(run.troubles)
    if run.fault_types is None:
        said.append(f"{NO_DIAGNOSIS}: {run.failure}")
    elif run.fault_types != expected:
        said.append(f"{_named(run.fault_types)} instead of {_named(expected)}")
    return [f"attempt {run.attempt}: {one}" for one in said]


def _answer(run: IncidentRun) -> str:
    return NO_DIAGNOSIS if run.fault_types is None else _named(run.fault_types)


def _named(faults: frozenset[str]) -> str:
    return ", ".join(sorted(faults)) or "healthy"


def _rounded(value: float | None) -> float | None:
    return round(value, 4) if isinstance(value, float) else value
