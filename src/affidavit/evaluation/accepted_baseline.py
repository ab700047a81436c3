"""Loads and writes the baseline: the numbers of the last accepted run, to compare a new run with.

Only numbers that are the same on every machine: no times, no rows.
"""

from dataclasses import replace
from importlib.resources import files
from importlib.resources.abc import Traversable

from affidavit.evaluation.incidents.result import IncidentsResult, Numbers
from affidavit.evaluation.nodes.result import NodesResult
from affidavit.evaluation.run_result import EvaluationResult, parsed_result

_TIMES = ("latency", "time_to", "seconds")


def baseline_file() -> Traversable:
    return files("affidavit.evaluation").joinpath("baseline.json")


def stored_baseline() -> EvaluationResult | None:
    file = baseline_file()
    return parsed_result(file.read_bytes(), str(file)) if file.is_file() else None


def as_baseline(result: EvaluationResult, before: EvaluationResult | None) -> EvaluationResult:
    """The new baseline. Parts that were not run keep their numbers."""
    old = before or replace(result, nodes=None, incidents=None, adversarial=None)
    return replace(
        result,
        seconds=0.0,
        gates=(),
        nodes=_nodes(result.nodes) if result.nodes is not None else old.nodes,
        incidents=_incidents(result.incidents) if result.incidents is not None else old.incidents,
        adversarial=replace(result.adversarial, attacks=()) if result.adversarial is not None else old.adversarial,
    )


def _nodes(nodes: NodesResult) -> NodesResult:
    metrics = {tool: _timeless(numbers) for tool, numbers in nodes.metrics.items()}
    return replace(nodes, metrics=metrics, scenarios=(), latencies_ms=(), changes=(), mutations=None)


def _incidents(incidents: IncidentsResult) -> IncidentsResult:
    return replace(incidents, metrics=_timeless(incidents.metrics), scenarios=())


def _timeless(numbers: Numbers) -> Numbers:
    return {name: None if name.startswith(_TIMES) else value for name, value in numbers.items()}
