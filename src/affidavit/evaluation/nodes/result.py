"""The result over node scenarios: the numbers of each tool, every scenario, and which answers changed."""

from collections.abc import Sequence
from dataclasses import dataclass

from affidavit.evaluation.incidents.result import Numbers
from affidavit.evaluation.nodes.answer_snapshots import AnswerChange
from affidavit.evaluation.nodes.evaluated_tools import ANALYZE, is_complete
from affidavit.evaluation.nodes.metrics import Tally, metrics_of, rounded, total
from affidavit.evaluation.nodes.rule_removals import Mutation
from affidavit.evaluation.nodes.runs import ScenarioRun
from affidavit.evaluation.nodes.verdicts.judged_case import JudgedVerdict


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
