"""Runs `affidavit eval`."""

import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

from affidavit.bootstrap import build_app, build_library
from affidavit.bundle.atomic_publishing import prepare_output, publish
from affidavit.entrypoints.cli.exit_codes import Exit
from affidavit.entrypoints.cli.locale_safe_output import write_json
from affidavit.entrypoints.package_extras import need_extras
from affidavit.entrypoints.report.evaluation_page import render_evaluation
from affidavit.entrypoints.report.terminal_escapes_and_colours import make_console
from affidavit.entrypoints.report.terminal_evaluation import print_evaluation
from affidavit.errors import InputRefused
from affidavit.evaluation.accepted_baseline import as_baseline, baseline_file, stored_baseline
from affidavit.evaluation.gates import Bound, check_gates, load_gates
from affidavit.evaluation.history import EvaluationRun, append_run, load_history, past_run
from affidavit.evaluation.incidents.chat_model_attacks import AdversarialResult
from affidavit.evaluation.incidents.result import IncidentsResult
from affidavit.evaluation.nodes.answer_snapshots import accept, changes, stored_answers
from affidavit.evaluation.nodes.result import NodesResult, nodes_result
from affidavit.evaluation.nodes.rule_removals import Mutation, run_mutations
from affidavit.evaluation.nodes.runs import ScenarioRun, run_scenarios
from affidavit.evaluation.nodes.scenario import load_scenarios
from affidavit.evaluation.nodes.verdicts.cases import verdict_cases
from affidavit.evaluation.nodes.verdicts.judged_case import JudgedVerdict
from affidavit.evaluation.nodes.verdicts.runs import judge_verdicts
from affidavit.evaluation.run_result import VERSION, EvaluationResult, measured, result_from_json, result_to_json
from affidavit.knowledge import Knowledge, load_knowledge
from affidavit.nodes.library.indexed_bundles import Library
from affidavit.settings import Settings

RESULT = "evaluation.json"
PAGE = "evaluation.html"


# Only measured on the built-in incidents.
VERDICTS = "nodes.verdicts_"
NODES, INCIDENTS, ADVERSARIAL = "nodes", "incidents", "adversarial"
PARTS = (NODES, INCIDENTS, ADVERSARIAL)


@dataclass(frozen=True, kw_only=True)
class EvalOptions:
    part: str
    out: Path | None
    baseline: Path | None
    history: Path | None
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

    @property
    def is_ours(self) -> bool:
        """Whether the built-in scenarios and rules are used: only for these are there kept answers to compare with."""
        return self.scenarios is None and self.rules is None and self.provider == "offline"


def run_eval(options: EvalOptions) -> Exit:
    _refuse_contradictions(options)
    if options.part != NODES:
        need_extras("agent")
    gates = load_gates(options.gate)
    if options.with_mutations:
        gates = {"nodes.uncovered": Bound(at_most=0), **gates}
    if not options.is_ours:
        gates = {name: bound for name, bound in gates.items() if not name.startswith(VERDICTS)}
    before = result_from_json(options.baseline) if options.baseline is not None else _accepted(options)
    past = load_history(options.history) if options.history is not None else ()
    if options.out is not None:
        prepare_output(options.out)
    result = _evaluated(options)
    result = replace(result, gates=check_gates(gates, measured(result), options.parts))
    if options.is_accepting:
        _accept_baseline(result)
    past = (*past, past_run(result))
    if options.history is not None:
        append_run(options.history, past[-1])
    _present(result, before, past, options)
    return Exit.DONE if result.passes else Exit.FOUND


def _refuse_contradictions(options: EvalOptions) -> None:
    if options.part in ("all", ADVERSARIAL) and options.scenarios is not None:
        raise InputRefused("--scenarios fits one kind alone", hint="say `eval nodes` or `eval incidents`")
    if NODES not in options.parts and (options.with_mutations or options.rules is not None):
        raise InputRefused("--mutations and --rules are about findings", hint="say `eval nodes`")
    is_in_checkout = isinstance(stored_answers(), Path)
    if options.is_accepting and not (options.is_ours and is_in_checkout):
        raise InputRefused("--accept is for the built-in scenarios and rules", hint="run it in a source checkout")


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
    from affidavit.entrypoints.cli.eval.incidents import IncidentWish, evaluate_incidents

    wish = IncidentWish(provider=options.provider, k=options.k, scenarios=options.scenarios, workers=options.workers)
    return evaluate_incidents(wish, counter.show)


def _adversarial(options: EvalOptions, counter: "_Counter") -> AdversarialResult:
    from affidavit.entrypoints.cli.eval.adversarial import evaluate_adversarial

    return evaluate_adversarial(options.seeds, options.workers, counter.show)


def _nodes(options: EvalOptions, knowledge: Knowledge, counter: "_Counter") -> NodesResult:
    workers = options.workers or os.cpu_count() or 1
    scenarios = load_scenarios(options.scenarios)
    runs: list[ScenarioRun] = []
    for run in run_scenarios(scenarios, knowledge, workers=workers, library=local_library):
        runs.append(run)
        counter.show(f"{len(runs)} of {len(scenarios)} scenarios  {run.scenario.id}")
    verdicts = _verdicts(knowledge, workers, counter) if options.is_ours else []
    mutations = _mutations(runs, knowledge, workers, counter) if options.with_mutations else None
    if options.is_accepting:
        accept(runs, cast("Path", stored_answers()))
    changed = changes(runs, stored_answers()) if options.is_ours else ()
    return nodes_result(runs, changed, mutations, verdicts)


def _verdicts(knowledge: Knowledge, workers: int, counter: "_Counter") -> list[JudgedVerdict]:
    cases, found = verdict_cases(), list[JudgedVerdict]()
    for judged in judge_verdicts(cases, knowledge, workers=workers):
        found.append(judged)
        counter.show(f"{len(found)} of {len(cases)} verdicts  {judged.id}")
    return found


def local_library(folder: Path, knowledge: Knowledge) -> Library:
    app = build_app(Settings.from_environment({"AFFIDAVIT_DATA": str(folder)}))
    return build_library(app, knowledge)


def _mutations(runs: list[ScenarioRun], knowledge: Knowledge, workers: int, counter: "_Counter") -> list[Mutation]:
    found: list[Mutation] = []
    for mutation in run_mutations(runs, knowledge, workers=workers):
        found.append(mutation)
        counter.show(f"{len(found)} taken away  {mutation.id}")
    return sorted(found, key=lambda mutation: (mutation.kind, mutation.id))


def _accepted(options: EvalOptions) -> EvaluationResult | None:
    return stored_baseline() if options.is_ours else None


def _accept_baseline(result: EvaluationResult) -> None:
    file = cast("Path", baseline_file())
    file.write_bytes(result_to_json(as_baseline(result, stored_baseline())))


def _present(
    result: EvaluationResult, before: EvaluationResult | None, past: Sequence[EvaluationRun], options: EvalOptions
) -> None:
    if options.out is not None:
        page = render_evaluation(result, before, past)
        publish(options.out, {PAGE: page.encode(), RESULT: result_to_json(result)})
    if options.form == "json":
        write_json(result_to_json(result))
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
