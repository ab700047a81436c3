"""What `eval incidents` and `eval adversarial` found, as the terminal, the JSON file and the page show it."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Protocol

from affidavit.evaluation.incidents.metrics import IncidentRun, incident_metrics
from affidavit.evidence.diagnosis import FaultType

Numbers = dict[str, float | None]
NO_DIAGNOSIS = "no diagnosis"
NODE_PREFIX = "node-"


@dataclass(frozen=True, kw_only=True)
class IncidentScenarioResult:
    id: str
    title: str
    expected: tuple[str, ...]
    answers: tuple[str, ...]
    """One per attempt, in order: its faults separated by commas, `healthy`, or `no diagnosis`."""
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


class TrueFaults(Protocol):
    @property
    def fault_types(self) -> Collection[FaultType]: ...


class JudgedScenario(Protocol):
    """A scenario of a function or of a node."""

    @property
    def scenario_id(self) -> str: ...

    @property
    def title(self) -> str: ...

    @property
    def truth(self) -> TrueFaults: ...


def incidents_result(
    scenarios: Sequence[JudgedScenario], runs: Sequence[IncidentRun], *, provider: str, k: int
) -> IncidentsResult:
    truth = {one.scenario_id: frozenset(fault.value for fault in one.truth.fault_types) for one in scenarios}
    numbers = asdict(incident_metrics(truth, runs))
    return IncidentsResult(
        provider=provider,
        k=k,
        metrics={
            "scenarios": len(scenarios),
            **{name: _rounded(value) for name, value in numbers.items()},
            **_of_nodes(truth, runs),
        },
        scenarios=tuple(_scenario(one, [run for run in runs if run.scenario == one.scenario_id]) for one in scenarios),
    )


def _of_nodes(truth: Mapping[str, frozenset[str]], runs: Sequence[IncidentRun]) -> Numbers:
    """The same numbers for node incidents alone: they are few, so the overall numbers would hide them."""
    own = {name: faults for name, faults in truth.items() if name.startswith(NODE_PREFIX)}
    if not own:
        return {}
    found = incident_metrics(own, [run for run in runs if run.scenario in own])
    return {
        "node_scenarios": len(own),
        "node_exact_set_accuracy": _rounded(found.exact_set_accuracy),
        "node_proven": found.proven,
        "node_seconds_p50": _rounded(found.seconds_p50),
        "node_seconds_p95": _rounded(found.seconds_p95),
        "node_tool_calls_p50": _rounded(found.tool_calls_p50),
    }


def incident_numbers(result: IncidentsResult | None) -> Mapping[str, float | None]:
    """Every number a gate can name."""
    return {f"incidents.{name}": value for name, value in result.metrics.items()} if result is not None else {}


def _scenario(scenario: JudgedScenario, runs: Sequence[IncidentRun]) -> IncidentScenarioResult:
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
