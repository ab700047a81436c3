"""Is everything we know tested? Take one rule, check or suppression away and see that a scenario notices.

Every answer is a real run without the piece, on the scenarios where it had something to say. Of the other rules only
those that spoke in the scenario are loaded: one that said nothing there has nothing to say there now, and an engine of
a few dozen patterns is built twenty times sooner than one of hundreds.
"""

from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from enum import StrEnum
from multiprocessing import get_context

from affidavit.evaluation.nodes import ScenarioRun, run_scenario
from affidavit.evaluation.scenario import Scenario
from affidavit.knowledge import Knowledge

# A piece of knowledge that several scenarios use is caught by the first of them or, most likely, by none.
_TRIED = 4


class Kind(StrEnum):
    RULE = "rule"
    CHECK = "check"
    SUPPRESSION = "suppression"


@dataclass(frozen=True, kw_only=True)
class Mutation:
    """`caught_by` is the scenario that failed without the piece, `trouble` how; None: nothing covers it."""

    kind: Kind
    id: str
    caught_by: str | None
    trouble: str = ""
    tried: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class _Job:
    kind: Kind
    id: str
    scenarios: tuple[Scenario, ...]
    known_troubles: tuple[frozenset[str], ...]
    spoke: tuple[frozenset[str], ...]


def run_mutations(runs: Sequence[ScenarioRun], knowledge: Knowledge, *, workers: int) -> Iterator[Mutation]:
    """`runs` are those of the whole knowledge: they tell where a piece matters."""
    jobs = list(_jobs(runs, knowledge))
    with ProcessPoolExecutor(
        max_workers=workers, mp_context=get_context("fork"), initializer=_inherit, initargs=(knowledge,)
    ) as pool:
        yield from pool.map(_mutated, jobs)


def without(knowledge: Knowledge, kind: Kind, piece: str) -> Knowledge:
    pack = knowledge.pack
    match kind:
        case Kind.RULE:
            rules = tuple(rule for rule in pack.rules if rule.id != piece)
            return replace(knowledge, pack=replace(pack, rules=rules))
        case Kind.CHECK:
            return replace(knowledge, checks=tuple(check for check in knowledge.checks if check.id != piece))
        case Kind.SUPPRESSION:
            kept = tuple(suppression for suppression in pack.suppressions if suppression.id != piece)
            return replace(knowledge, pack=replace(pack, suppressions=kept))


def _jobs(runs: Sequence[ScenarioRun], knowledge: Knowledge) -> Iterator[_Job]:
    for rule in knowledge.pack.rules:
        yield _job(Kind.RULE, rule.id, _likeliest(runs, rule.id))
    for check in knowledge.checks:
        yield _job(Kind.CHECK, check.id, _likeliest(runs, check.id))
    for suppression in knowledge.pack.suppressions:
        # Only a healthy node can show that an explanation is needed: elsewhere the hit is no false alarm.
        healthy = [run for run in runs if run.scenario.is_healthy and suppression.id in run.suppressed]
        yield _job(Kind.SUPPRESSION, suppression.id, healthy)


def _job(kind: Kind, piece: str, runs: Sequence[ScenarioRun]) -> _Job:
    chosen = runs[:_TRIED]
    return _Job(
        kind=kind,
        id=piece,
        scenarios=tuple(run.scenario for run in chosen),
        known_troubles=tuple(frozenset(run.troubles) for run in chosen),
        spoke=tuple(_spoke(run) for run in chosen),
    )


def _likeliest(runs: Sequence[ScenarioRun], rule: str) -> list[ScenarioRun]:
    """First where it alone found a problem, then where it had part in one."""
    ranked = sorted(((_weight(run, rule), run.scenario.id, run) for run in runs), key=lambda entry: entry[:2])
    return [run for weight, _, run in ranked if weight < 2]


def _weight(run: ScenarioRun, rule: str) -> int:
    problems = run.analysis.judgement.problems if run.analysis is not None else ()
    having = [problem for problem in problems if rule in problem.rules]
    if not having:
        return 2
    return 0 if any(problem.rules == (rule,) for problem in having) else 1


def _spoke(run: ScenarioRun) -> frozenset[str]:
    return frozenset(judged.finding.rule for judged in run.analysis.judgement.findings) if run.analysis else frozenset()


def _only(knowledge: Knowledge, spoke: frozenset[str]) -> Knowledge:
    explained = {rule for suppression in knowledge.pack.suppressions for rule in suppression.rules}
    kept = tuple(rule for rule in knowledge.pack.rules if rule.id in spoke | explained or rule.marks_start)
    return replace(knowledge, pack=replace(knowledge.pack, rules=kept))


_inherited: list[Knowledge] = []


def _inherit(knowledge: Knowledge) -> None:
    _inherited[:] = [knowledge]


def _mutated(job: _Job) -> Mutation:
    tried: list[str] = []
    for scenario, known, spoke in zip(job.scenarios, job.known_troubles, job.spoke, strict=True):
        tried.append(scenario.id)
        smaller = without(_only(_inherited[0], spoke), job.kind, job.id)
        fresh = [trouble for trouble in run_scenario(scenario, smaller).troubles if trouble not in known]
        if fresh:
            return Mutation(kind=job.kind, id=job.id, caught_by=scenario.id, trouble=fresh[0], tried=tuple(tried))
    return Mutation(kind=job.kind, id=job.id, caught_by=None, tried=tuple(tried))
