"""`affidavit eval`."""

import os
import sys
import time
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from affidavit.bundle.workspace import prepare_output, publish
from affidavit.entrypoints.cli.exits import Exit
from affidavit.entrypoints.report.evaluation import print_evaluation
from affidavit.entrypoints.report.evaluation_page import render_evaluation
from affidavit.entrypoints.report.screen import make_console
from affidavit.errors import InputRefused
from affidavit.evaluation.adversarial import AdversarialResult
from affidavit.evaluation.gates import Bound, check_gates, load_gates
from affidavit.evaluation.incident_result import IncidentsResult
from affidavit.evaluation.mutations import Mutation, run_mutations
from affidavit.evaluation.nodes import ScenarioRun, run_scenarios
from affidavit.evaluation.regression import accept, changes, stored_answers
from affidavit.evaluation.result import (
    VERSION,
    EvaluationResult,
    NodesResult,
    measured,
    nodes_result,
    result_from_json,
    result_to_json,
)
from affidavit.evaluation.scenario import load_scenarios
from affidavit.knowledge import Knowledge, load_knowledge

RESULT = "evaluation.json"
PAGE = "evaluation.html"


NODES, INCIDENTS, ADVERSARIAL = "nodes", "incidents", "adversarial"
PARTS = (NODES, INCIDENTS, ADVERSARIAL)


@dataclass(frozen=True, kw_only=True)
class EvalOptions:
    part: str
    out: Path | None
    baseline: Path | None
    gate: Path | None
    scenarios: Path | None
    rules: Path | None
    is_accepting: bool
    with_mutations: bool
    provider: str
    k: int
    seeds: int
    form: str
    workers: int | None
    no_color: bool
    is_quiet: bool

    @property
    def parts(self) -> tuple[str, ...]:
        return PARTS if self.part == "all" else (self.part,)


def run_eval(options: EvalOptions) -> Exit:
    _refuse_contradictions(options)
    gates = load_gates(options.gate)
    if options.with_mutations:
        gates = {"nodes.uncovered": Bound(at_most=0), **gates}
    before = result_from_json(options.baseline) if options.baseline is not None else None
    if options.out is not None:
        prepare_output(options.out)
    result = _evaluated(options)
    result = replace(result, gates=check_gates(gates, measured(result), options.parts))
    _present(result, before, options)
    return Exit.DONE if result.passes else Exit.FOUND


def _refuse_contradictions(options: EvalOptions) -> None:
    if options.part in ("all", ADVERSARIAL) and options.scenarios is not None:
        raise InputRefused("--scenarios fits one kind alone", hint="say `eval nodes` or `eval incidents`")
    if NODES not in options.parts and (options.is_accepting or options.with_mutations or options.rules is not None):
        raise InputRefused("--accept, --mutations and --rules are about findings", hint="say `eval nodes`")


def _evaluated(options: EvalOptions) -> EvaluationResult:
    started = time.monotonic()
    knowledge = load_knowledge(options.rules)
    counter = _Counter(is_shown=not options.is_quiet and sys.stderr.isatty())
    nodes = _nodes(options, knowledge, counter) if NODES in options.parts else None
    incidents = _incidents(options, counter) if INCIDENTS in options.parts else None
    adversarial = _adversarial(options, counter) if ADVERSARIAL in options.parts else None
    counter.clear()
    return EvaluationResult(
        version=VERSION,
        evaluated_at=datetime.now(UTC).replace(microsecond=0),
        knowledge_version=knowledge.version,
        seconds=round(time.monotonic() - started, 1),
        nodes=nodes,
        incidents=incidents,
        adversarial=adversarial,
    )


def _incidents(options: EvalOptions, counter: "_Counter") -> IncidentsResult:
    from affidavit.entrypoints.cli.eval_incidents import IncidentWish, evaluate_incidents

    wish = IncidentWish(provider=options.provider, k=options.k, scenarios=options.scenarios, workers=options.workers)
    return evaluate_incidents(wish, counter.show)


def _adversarial(options: EvalOptions, counter: "_Counter") -> AdversarialResult:
    from affidavit.entrypoints.cli.eval_adversarial import evaluate_adversarial

    return evaluate_adversarial(options.seeds, options.workers, counter.show)


def _nodes(options: EvalOptions, knowledge: Knowledge, counter: "_Counter") -> NodesResult:
    workers = options.workers or os.cpu_count() or 1
    scenarios = load_scenarios(options.scenarios)
    runs: list[ScenarioRun] = []
    for run in run_scenarios(scenarios, knowledge, workers=workers):
        runs.append(run)
        counter.show(f"{len(runs)} of {len(scenarios)} scenarios  {run.scenario.id}")
    mutations = _mutations(runs, knowledge, workers, counter) if options.with_mutations else None
    # Answers are kept for our own scenarios and rules alone; others have none to compare with.
    is_ours = options.scenarios is None and options.rules is None
    if options.is_accepting:
        _accept(runs, is_ours=is_ours)
    return nodes_result(runs, changes(runs, stored_answers()) if is_ours else (), mutations)


def _mutations(runs: list[ScenarioRun], knowledge: Knowledge, workers: int, counter: "_Counter") -> list[Mutation]:
    found: list[Mutation] = []
    for mutation in run_mutations(runs, knowledge, workers=workers):
        found.append(mutation)
        counter.show(f"{len(found)} taken away  {mutation.id}")
    return found


def _accept(runs: list[ScenarioRun], *, is_ours: bool) -> None:
    folder = stored_answers()
    if not is_ours or not isinstance(folder, Path):
        raise InputRefused("--accept is for the built-in scenarios and rules", hint="run it in a source checkout")
    accept(runs, folder)


def _present(result: EvaluationResult, before: EvaluationResult | None, options: EvalOptions) -> None:
    if options.out is not None:
        page = render_evaluation(result, before)
        publish(options.out, {PAGE: page.encode(), RESULT: result_to_json(result)})
    if options.form == "json":
        sys.stdout.write(result_to_json(result).decode())
        return
    console = make_console(no_color=options.no_color)
    print_evaluation(console, result, before, is_quiet=options.is_quiet)
    if options.out is not None and not options.is_quiet:
        console.print(f"Written to {options.out}: {RESULT}, {PAGE}")


class _Counter:
    def __init__(self, *, is_shown: bool) -> None:
        self._is_shown = is_shown

    def show(self, line: str) -> None:
        if self._is_shown:
            sys.stderr.write(f"\r\x1b[2K{line[:100]}")
            sys.stderr.flush()

    def clear(self) -> None:
        if self._is_shown:
            sys.stderr.write("\r\x1b[2K")
            sys.stderr.flush()
