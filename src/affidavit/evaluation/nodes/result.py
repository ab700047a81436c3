"""The result of a run as one record: what the terminal, the JSON file and the page all show."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from affidavit.errors import InputRefused
from affidavit.evaluation.gates import GateResult
from affidavit.evaluation.incidents.adversarial import AdversarialResult, adversarial_numbers
from affidavit.evaluation.incidents.result import IncidentsResult, Numbers, incident_numbers
from affidavit.evaluation.nodes.accepted_answers import AnswerChange
from affidavit.evaluation.nodes.evaluated_tools import ANALYZE, is_complete
from affidavit.evaluation.nodes.metrics import Tally, metrics_of, rounded, total
from affidavit.evaluation.nodes.rule_removals import Mutation
from affidavit.evaluation.nodes.runs import ScenarioRun
from affidavit.evaluation.nodes.verdicts.judged_case import JudgedVerdict

VERSION = "1.0"


@dataclass(frozen=True, kw_only=True)
class ScenarioResult:
    id: str
    family: str
    layout: str
    tells: str
    is_healthy: bool
    problems: int
    findings: int
    notes: int
    metrics: dict[str, Numbers]
    """By tool."""
    troubles: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class NodesResult:
    metrics: dict[str, Numbers]
    """By tool; `analyze` is what the gates look at."""
    counts: dict[str, int]
    scenarios: tuple[ScenarioResult, ...]
    latencies_ms: tuple[float, ...]
    changes: tuple[AnswerChange, ...]
    mutations: tuple[Mutation, ...] | None
    """None when nobody asked for them."""
    verdicts: tuple[JudgedVerdict, ...] = ()
    """Of incidents with known causes; none for scenarios of the user's own."""


@dataclass(frozen=True, kw_only=True)
class EvaluationResult:
    version: str
    evaluated_at: datetime
    knowledge_version: str
    seconds: float
    nodes: NodesResult | None
    incidents: IncidentsResult | None = None
    adversarial: AdversarialResult | None = None
    gates: tuple[GateResult, ...] = ()

    @property
    def passes(self) -> bool:
        return all(gate.holds for gate in self.gates)


_ADAPTER = TypeAdapter(EvaluationResult)


def nodes_result(
    runs: Sequence[ScenarioRun],
    changes: Sequence[AnswerChange],
    mutations: Sequence[Mutation] | None,
    verdicts: Sequence[JudgedVerdict] = (),
) -> NodesResult:
    asked = dict.fromkeys((ANALYZE, *(tool.tool for run in runs for tool in run.tools)))
    tallies = {name: [tool.tally for run in runs for tool in run.tools if tool.tool == name] for name in asked}
    sums = {name: total(found) for name, found in tallies.items()}
    return NodesResult(
        metrics={name: _numbers_of(name, tally) for name, tally in sums.items()},
        counts={
            "scenarios": len(runs),
            "failed_scenarios": sum(bool(run.troubles) for run in runs),
            "healthy_alarms": sums[ANALYZE].healthy_alarms,
            "problems": sums[ANALYZE].expected,
            "findings": sums[ANALYZE].returned,
            "changed_answers": len(changes),
        },
        scenarios=tuple(_scenario(run) for run in runs),
        latencies_ms=tuple(round(value, 1) for value in sums[ANALYZE].latencies_ms),
        changes=tuple(changes),
        mutations=tuple(mutations) if mutations is not None else None,
        verdicts=tuple(verdicts),
    )


def _numbers_of(tool: str, tally: Tally) -> Numbers:
    """Shares of findings are null for a tool that never told one: a perfect score would say too much."""
    numbers = rounded(metrics_of(tally, is_complete=is_complete(tool)))
    if is_complete(tool) or tally.returned:
        return numbers
    return {name: value if name.startswith("latency") else None for name, value in numbers.items()}


def measured(result: EvaluationResult) -> Mapping[str, float | None]:
    """Every number a gate can name."""
    return {
        **_node_numbers(result.nodes),
        **incident_numbers(result.incidents),
        **adversarial_numbers(result.adversarial),
    }


def _node_numbers(nodes: NodesResult | None) -> Mapping[str, float | None]:
    if nodes is None:
        return {}
    numbers: Numbers = {**nodes.metrics[ANALYZE], **nodes.counts, **_least(nodes)}
    if nodes.verdicts:
        numbers["verdicts_right"] = sum(not each.trouble for each in nodes.verdicts) / len(nodes.verdicts)
        numbers["verdicts_leading_right"] = sum(each.leads for each in nodes.verdicts) / len(nodes.verdicts)
    if nodes.mutations is not None:
        numbers["uncovered"] = sum(mutation.caught_by is None for mutation in nodes.mutations)
    return {f"nodes.{name}": value for name, value in numbers.items()}


def _least(nodes: NodesResult) -> Numbers:
    """The lowest of any tool: an average would hide one that is wrong."""
    shares = ("finding_precision", "severity_accuracy", "citation_accuracy")
    told = {name: [numbers[name] for numbers in nodes.metrics.values()] for name in shares}
    return {f"least_{name}": min(value for value in values if value is not None) for name, values in told.items()}


def result_to_json(result: EvaluationResult) -> bytes:
    return _ADAPTER.dump_json(result, indent=1) + b"\n"


def result_from_json(path: Path) -> EvaluationResult:
    try:
        return parsed_result(path.read_bytes(), str(path))
    except OSError as error:
        raise InputRefused(f"{path} cannot be read: {error.strerror}", hint="give an evaluation.json") from error


def parsed_result(text: bytes, name: str) -> EvaluationResult:
    try:
        return _ADAPTER.validate_json(text)
    except ValidationError as error:
        raise InputRefused(f"{name} is no result of an evaluation", hint="give an evaluation.json of --out") from error


def _scenario(run: ScenarioRun) -> ScenarioResult:
    analysis = run.analysis
    scenario = run.scenario
    return ScenarioResult(
        id=scenario.id,
        family=scenario.family,
        layout=scenario.layout.value,
        tells=scenario.tells,
        is_healthy=scenario.is_healthy,
        problems=analysis.tally.expected if analysis is not None else 0,
        findings=analysis.tally.returned if analysis is not None else 0,
        notes=analysis.tally.notes if analysis is not None else 0,
        metrics={tool.tool: rounded(metrics_of(tool.tally, is_complete=is_complete(tool.tool))) for tool in run.tools},
        troubles=run.troubles,
    )


def compared(now: NodesResult, before: NodesResult) -> dict[str, tuple[float | None, float | None]]:
    """By metric of `analyze`: before and now."""
    old, new = before.metrics[ANALYZE], now.metrics[ANALYZE]
    return {name: (old.get(name), value) for name, value in new.items()}
