"""Runs node scenarios: makes the bundle, analyzes it, asks every tool, compares each answer with the truth."""

import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path

from affidavit.bundle.file_roles import FileKind
from affidavit.errors import AffidavitError
from affidavit.evaluation.nodes.bundle_library_answers import MakeLibrary, library_answers, stock
from affidavit.evaluation.nodes.bundles import PlacedBundle, place
from affidavit.evaluation.nodes.evaluated_tools import ANALYZE, TOOLS, MeasuredAnswer, analyze_answer
from affidavit.evaluation.nodes.metrics import Tally, tally_of
from affidavit.evaluation.nodes.scenario import Scenario
from affidavit.evaluation.nodes.truth_comparison import Judgement, judge
from affidavit.evidence.citation_check import check
from affidavit.evidence.finding import Finding
from affidavit.index.scanning.rule_matching import slots_of
from affidavit.investigation import Analysis, analyze
from affidavit.knowledge import Knowledge

Analyst = Callable[[Path, Knowledge, Path], Analysis]
"""Analyzes a bundle. Tests replace it by one that lies, to see that the numbers fall."""


@dataclass(frozen=True, kw_only=True)
class ToolRun:
    tool: str
    judgement: Judgement
    tally: Tally
    digest: str
    lines: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class ScenarioRun:
    """`failure` is set when it could not be run at all. It then has no score, not a score of zero."""

    scenario: Scenario
    input_digest: str
    tools: tuple[ToolRun, ...]
    suppressed: tuple[str, ...]
    """Suppressions that explained something in it."""
    failure: str = ""

    @property
    def analysis(self) -> ToolRun | None:
        return next((run for run in self.tools if run.tool == ANALYZE), None)

    @property
    def troubles(self) -> tuple[str, ...]:
        if self.failure:
            return (self.failure,)
        return self.analysis.judgement.troubles if self.analysis is not None else ("it was not analyzed",)


def analyze_quietly(path: Path, knowledge: Knowledge, folder: Path) -> Analysis:
    return analyze(path, knowledge=knowledge, workspace=folder, progress=Quiet(), workers=1)


def run_scenario(
    scenario: Scenario, knowledge: Knowledge, analyst: Analyst = analyze_quietly, library: MakeLibrary | None = None
) -> ScenarioRun:
    """With `library`, a stocked one, the bundle is also added to it, and every question is asked there."""
    with tempfile.TemporaryDirectory(prefix="affidavit-eval-") as name:
        folder = Path(name)
        try:
            placed = place(scenario, folder / "bundle")
            (folder / "work").mkdir()
            run = _asked(scenario, placed, knowledge, folder / "work", analyst)
            return run if library is None else _with_library(run, placed, knowledge, folder, library)
        except AffidavitError as error:
            return ScenarioRun(scenario=scenario, input_digest="", tools=(), suppressed=(), failure=str(error))


def run_scenarios(
    scenarios: Sequence[Scenario], knowledge: Knowledge, *, workers: int, library: MakeLibrary | None = None
) -> Iterator[ScenarioRun]:
    """In the order given. Each runs in a process of its own kind, `workers` at a time."""
    # Built before the fork, so that every process inherits the engine instead of building it.
    _ = slots_of(knowledge.pack).matcher
    with tempfile.TemporaryDirectory(prefix="affidavit-eval-") as name:
        stocked = stock(Path(name), knowledge, library) if library is not None else None
        with ProcessPoolExecutor(
            max_workers=workers, mp_context=get_context("fork"), initializer=_inherit, initargs=(knowledge, stocked)
        ) as pool:
            yield from pool.map(_run_inherited, scenarios)


_inherited: list[tuple[Knowledge, MakeLibrary | None]] = []


def _inherit(knowledge: Knowledge, library: MakeLibrary | None) -> None:
    _inherited[:] = [(knowledge, library)]


def _run_inherited(scenario: Scenario) -> ScenarioRun:
    knowledge, library = _inherited[0]
    return run_scenario(scenario, knowledge, library=library)


def _asked(
    scenario: Scenario, placed: PlacedBundle, knowledge: Knowledge, folder: Path, analyst: Analyst
) -> ScenarioRun:
    started = time.perf_counter()
    analysis = analyst(placed.path, knowledge, folder)
    spent = (time.perf_counter() - started) * 1000
    broken = _broken(analysis)
    answers = (analyze_answer(analysis, spent), *(tool.ask(analysis) for tool in TOOLS))
    return ScenarioRun(
        scenario=scenario,
        input_digest=placed.digest,
        tools=tuple(_tool_run(scenario, placed, answer, broken, logs=_logs(placed, analysis)) for answer in answers),
        suppressed=tuple(sorted({entry.suppression for entry in analysis.index.suppressed})),
    )


def _with_library(
    run: ScenarioRun, placed: PlacedBundle, knowledge: Knowledge, folder: Path, make: MakeLibrary
) -> ScenarioRun:
    (folder / "library").mkdir()
    answers = library_answers(placed.path, knowledge, folder / "library", make)
    return replace(run, tools=(*run.tools, *(_tool_run(run.scenario, placed, answer, {}) for answer in answers)))


def _tool_run(
    scenario: Scenario,
    placed: PlacedBundle,
    answer: MeasuredAnswer,
    broken: Mapping[str, Sequence[str]],
    *,
    logs: tuple[int, int] = (0, 0),
) -> ToolRun:
    judgement = judge(placed.truth, answer.told, answer.broken if answer.broken is not None else broken)
    tally = tally_of(
        judgement,
        is_healthy=scenario.is_healthy,
        logs=logs[0],
        logs_scanned=logs[1],
        latency_ms=answer.latency_ms,
        # The index is returned as a whole, so the first finding comes with the last.
        first_finding_ms=answer.latency_ms if answer.told else None,
    )
    return ToolRun(tool=answer.tool, judgement=judgement, tally=tally, digest=answer.digest, lines=answer.lines)


def _broken(analysis: Analysis) -> dict[str, tuple[str, ...]]:
    checked = {finding.finding_id: _problems(finding, analysis) for finding in analysis.index.findings}
    return {finding_id: problems for finding_id, problems in checked.items() if problems}


def _problems(finding: Finding, analysis: Analysis) -> tuple[str, ...]:
    return check(finding.evidence, analysis.bundle).problems


def _logs(placed: PlacedBundle, analysis: Analysis) -> tuple[int, int]:
    """How many logs the bundle has, and how many of them the index says it read in full."""
    logs = placed.logs
    if logs is None:
        logs = frozenset(file.path for file in analysis.bundle.files if file.role.kind is FileKind.LOG)
    coverage, files = analysis.index.coverage, analysis.bundle.files
    named = {entry.file for entry in coverage.skipped_files}
    passed_over = {file.path for file in files if file.skip is not None}
    # The index names only some of the files it skipped; the others must be files that are never read.
    unexplained = coverage.skipped_total - len(named | passed_over)
    there = {file.path for file in files if file.location is not None}
    read = [log for log in logs if log in there and log not in named | passed_over]
    return len(logs), max(0, len(read) - max(0, unexplained))


class Quiet:
    def unpacked(self, path: str, consumed: int, stored: int) -> None:
        pass
