"""An evaluation on a terminal: the table of scenarios, the nine numbers, what changed, which gates hold."""

from collections.abc import Mapping

from rich.console import Console
from rich.table import Table

from affidavit.entrypoints.report.terminal_escapes_and_colours import text
from affidavit.entrypoints.report.terminal_incident_evaluation import print_attacks, print_incidents
from affidavit.evaluation.nodes.evaluated_tools import ANALYZE
from affidavit.evaluation.nodes.result import NodesResult, ScenarioResult, compared
from affidavit.evaluation.run_result import EvaluationResult

_TROUBLES = 5
_DIFF_LINES = 12
_WITH_LAYOUTS = 110
_COLUMNS = ("finding_precision", "finding_recall", "severity_accuracy", "citation_accuracy")


def print_evaluation(
    console: Console, result: EvaluationResult, before: EvaluationResult | None, *, is_quiet: bool = False
) -> None:
    if result.nodes is not None:
        _print_nodes(console, result.nodes, before.nodes if before is not None else None, is_quiet=is_quiet)
    if result.incidents is not None:
        print_incidents(console, result.incidents, before.incidents if before is not None else None, is_quiet=is_quiet)
    if result.adversarial is not None:
        print_attacks(console, result.adversarial, is_quiet=is_quiet)
    for gate in result.gates:
        if not gate.holds or not is_quiet:
            value = "not measured" if gate.value is None else f"{gate.value:g}"
            mark = text("holds ", "green") if gate.holds else text("FAILED", "bold red")
            console.print(mark, text(f"{gate.name} {gate.bound}: {value}"))


def _print_nodes(console: Console, nodes: NodesResult, before: NodesResult | None, *, is_quiet: bool) -> None:
    if not is_quiet:
        _print_scenarios(console, nodes)
        console.print(_numbers(nodes, before))
        console.print(_tools(nodes))
    for scenario in nodes.scenarios:
        _print_troubles(console, scenario)
    for change in nodes.changes:
        console.print(text(f"changed  {change.scenario}: {change.what}", "yellow"))
        for line in change.diff[:_DIFF_LINES]:
            console.print(text(f"    {line}"))
        if len(change.diff) > _DIFF_LINES:
            console.print(text(f"    … and {len(change.diff) - _DIFF_LINES} more lines"))
    if nodes.mutations is not None:
        missing = [mutation for mutation in nodes.mutations if mutation.caught_by is None]
        console.print(
            text(
                f"{len(nodes.mutations)} pieces of knowledge taken away, {len(missing)} of them noticed by no scenario"
            )
        )
        for mutation in missing:
            console.print(text(f"    {mutation.kind} {mutation.id}", "red"))


def _print_scenarios(console: Console, nodes: NodesResult) -> None:
    is_narrow = console.width < _WITH_LAYOUTS
    console.print(_scenarios(nodes, is_narrow=is_narrow))
    if is_narrow:
        console.print(text(f"Layouts are shown where {_WITH_LAYOUTS} columns are, and in --format json.", "dim"))


def _scenarios(nodes: NodesResult, *, is_narrow: bool) -> Table:
    table = Table(box=None, pad_edge=False, collapse_padding=is_narrow)
    table.add_column("scenario", overflow="fold")
    if not is_narrow:
        table.add_column("layout", no_wrap=True)
    for name in ("problems", "findings", "precision", "recall", "severity", "citations", "ms"):
        table.add_column(name, justify="right", no_wrap=True, min_width=len(name))
    for scenario in nodes.scenarios:
        numbers = scenario.metrics.get(ANALYZE, {})
        cells = [_shown(numbers.get(name)) for name in _COLUMNS]
        style = "bold red" if scenario.troubles else ""
        table.add_row(
            text(scenario.id, style),
            *([] if is_narrow else [text(scenario.layout)]),
            str(scenario.problems),
            str(scenario.findings),
            *cells,
            _shown(numbers.get("latency_p50_ms"), digits=0),
        )
    return table


def _numbers(nodes: NodesResult, before: NodesResult | None) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("metric", no_wrap=True)
    for name in (ANALYZE, *(("baseline",) if before is not None else ())):
        table.add_column(name, justify="right")
    old: Mapping[str, tuple[float | None, float | None]] = compared(nodes, before) if before is not None else {}
    for metric, value in nodes.metrics[ANALYZE].items():
        table.add_row(metric, _shown(value), *((_shown(old[metric][0]),) if before is not None else ()))
    return table


def _tools(nodes: NodesResult) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("tool", no_wrap=True)
    for name in ("precision", "recall", "severity", "citations", "p50 ms", "p95 ms"):
        table.add_column(name, justify="right")
    for tool, numbers in nodes.metrics.items():
        times = [_shown(numbers.get(name), digits=1) for name in ("latency_p50_ms", "latency_p95_ms")]
        table.add_row(tool, *(_shown(numbers.get(name)) for name in _COLUMNS), *times)
    return table


def _print_troubles(console: Console, scenario: ScenarioResult) -> None:
    for trouble in scenario.troubles[:_TROUBLES]:
        console.print(text(f"{scenario.id}: ", "bold red"), text(trouble), sep="")
    if len(scenario.troubles) > _TROUBLES:
        console.print(text(f"{scenario.id}: and {len(scenario.troubles) - _TROUBLES} more"))


def _shown(value: float | None, *, digits: int = 4) -> str:
    if value is None:
        return "–"
    return f"{value:.{digits}f}".rstrip("0").rstrip(".") if digits else f"{value:.0f}"
