"""Removes one rule, check or suppression at a time, and tells which removals no scenario notices.

Only scenarios in which the piece took part are tried, the likeliest first. The bundle of a scenario is made, unpacked
and scanned once for all pieces tried on it. The hits of a removed rule are deleted afterwards, because rules do not
affect each other while scanning. Everything after the scan is repeated for each piece: folding, recoveries, starts,
confirmation, checks, judgement.
"""

import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, replace
from enum import StrEnum
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from affidavit.bundle.safety.limits import UnpackLimits
from affidavit.bundle.sources.opening import open_bundle
from affidavit.bundle.unpack import unpack
from affidavit.bundle.unpacked_bundle import stored_bundle
from affidavit.evaluation.nodes.bundles import place
from affidavit.evaluation.nodes.runs import Quiet, ScenarioRun
from affidavit.evaluation.nodes.scenario import Scenario
from affidavit.evaluation.nodes.truth_comparison import judge
from affidavit.index.assemble import assemble_index
from affidavit.index.clock_and_checks import survey
from affidavit.index.findings_index import FindingsIndex
from affidavit.index.scanning.crew import scan_files
from affidavit.index.scanning.parts import ScannedFile
from affidavit.index.scanning.rule_matching import RuleSlots, slots_of
from affidavit.knowledge import Knowledge

# If the first few scenarios that use a piece do not notice its removal, most likely none does.
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
class _Piece:
    """`left` are the scenarios that were not tried yet, likeliest first."""

    kind: Kind
    id: str
    left: tuple[str, ...]
    tried: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class _Job:
    """All pieces that are tried on one scenario, one after the other."""

    scenario: Scenario
    spoke: frozenset[str]
    pieces: tuple[_Piece, ...]


def run_mutations(runs: Sequence[ScenarioRun], knowledge: Knowledge, *, workers: int) -> Iterator[Mutation]:
    """Yields each mutation when its result is known. `runs`, with the whole knowledge, tell where a piece matters."""
    by_id = {run.scenario.id: run for run in runs}
    open_pieces = list(_pieces(runs, knowledge))
    with ProcessPoolExecutor(
        max_workers=workers, mp_context=get_context("fork"), initializer=_inherit, initargs=(knowledge,)
    ) as pool:
        while open_pieces:
            yield from (_unnoticed(piece) for piece in open_pieces if not piece.left)
            jobs = _jobs([piece for piece in open_pieces if piece.left], by_id)
            open_pieces: list[_Piece] = []
            for done in as_completed([pool.submit(_tried, job) for job in jobs]):
                settled, unsettled = done.result()
                yield from settled
                open_pieces += unsettled


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


def _pieces(runs: Sequence[ScenarioRun], knowledge: Knowledge) -> Iterator[_Piece]:
    for rule in knowledge.pack.rules:
        yield _piece(Kind.RULE, rule.id, _likeliest(runs, rule.id))
    for check in knowledge.checks:
        yield _piece(Kind.CHECK, check.id, _likeliest(runs, check.id))
    for suppression in knowledge.pack.suppressions:
        # Only a healthy node shows that a suppression is needed: elsewhere the hit is no false alarm.
        healthy = [run for run in runs if run.scenario.is_healthy and suppression.id in run.suppressed]
        yield _piece(Kind.SUPPRESSION, suppression.id, healthy)


def _piece(kind: Kind, name: str, runs: Sequence[ScenarioRun]) -> _Piece:
    return _Piece(kind=kind, id=name, left=tuple(run.scenario.id for run in runs[:_TRIED]))


def _likeliest(runs: Sequence[ScenarioRun], rule: str) -> list[ScenarioRun]:
    """First scenarios where it alone found a problem, then those where it took part."""
    ranked = sorted(((_weight(run, rule), run.scenario.id, run) for run in runs), key=lambda entry: entry[:2])
    return [run for weight, _, run in ranked if weight < 2]


def _weight(run: ScenarioRun, rule: str) -> int:
    problems = run.analysis.judgement.problems if run.analysis is not None else ()
    having = [problem for problem in problems if rule in problem.rules]
    if not having:
        return 2
    return 0 if any(problem.rules == (rule,) for problem in having) else 1


def _jobs(pieces: Sequence[_Piece], runs: Mapping[str, ScenarioRun]) -> list[_Job]:
    """One job per scenario, the largest first."""
    wanted: dict[str, list[_Piece]] = {}
    for piece in pieces:
        wanted.setdefault(piece.left[0], []).append(piece)
    jobs = [
        _Job(scenario=runs[name].scenario, spoke=_spoke(runs[name]), pieces=tuple(some))
        for name, some in wanted.items()
    ]
    return sorted(jobs, key=lambda job: -len(job.pieces))


def _spoke(run: ScenarioRun) -> frozenset[str]:
    return frozenset(judged.finding.rule for judged in run.analysis.judgement.findings) if run.analysis else frozenset()


def _only(knowledge: Knowledge, spoke: frozenset[str]) -> Knowledge:
    """Keeps only the rules that hit something: an engine of a few dozen patterns is built twenty times faster."""
    explained = {rule for suppression in knowledge.pack.suppressions for rule in suppression.rules}
    kept = tuple(rule for rule in knowledge.pack.rules if rule.id in spoke | explained or rule.marks_start)
    return replace(knowledge, pack=replace(knowledge.pack, rules=kept))


_inherited: list[Knowledge] = []


def _inherit(knowledge: Knowledge) -> None:
    _inherited[:] = [knowledge]


def _tried(job: _Job) -> tuple[list[Mutation], list[_Piece]]:
    """Returns the removals that were noticed, and the pieces still to be tried on other scenarios."""
    settled: list[Mutation] = []
    unsettled: list[_Piece] = []
    with tempfile.TemporaryDirectory(prefix="affidavit-eval-") as folder:
        stage = Stage(job.scenario, Path(folder), _only(_inherited[0], job.spoke))
        usual = set(stage.troubles())
        for piece in job.pieces:
            fresh = [trouble for trouble in stage.troubles_without(piece.kind, piece.id) if trouble not in usual]
            moved = replace(piece, left=piece.left[1:], tried=(*piece.tried, job.scenario.id))
            if fresh:
                settled.append(_noticed(moved, job.scenario.id, fresh[0]))
            else:
                unsettled.append(moved)
    return settled, unsettled


def _noticed(piece: _Piece, scenario: str, trouble: str) -> Mutation:
    return Mutation(kind=piece.kind, id=piece.id, caught_by=scenario, trouble=trouble, tried=piece.tried)


def _unnoticed(piece: _Piece) -> Mutation:
    return Mutation(kind=piece.kind, id=piece.id, caught_by=None, tried=piece.tried)


class Stage:
    """The bundle of a scenario, unpacked and scanned; indexed and judged as often as wanted."""

    def __init__(self, scenario: Scenario, folder: Path, knowledge: Knowledge) -> None:
        placed, limits = place(scenario, folder / "bundle"), UnpackLimits()
        with open_bundle(placed.path, limits=limits) as opened:
            unpacked = unpack(opened.source, into=folder / "files", limits=limits, watcher=_Nobody(), progress=Quiet())
        self._truth = placed.truth
        self._bundle = stored_bundle(opened.name, unpacked)
        self._knowledge = knowledge
        self._slots, self._scanned = self._scan(knowledge)

    def troubles(self) -> tuple[str, ...]:
        return self._judged(self.index(self._scanned, self._slots, self._knowledge))

    def troubles_without(self, kind: Kind, name: str) -> tuple[str, ...]:
        return self._judged(self.index_without(kind, name))

    def index_without(self, kind: Kind, name: str) -> FindingsIndex:
        smaller = without(self._knowledge, kind, name)
        match kind:
            case Kind.RULE:
                return self.index(self._struck(name), self._slots, smaller)
            case Kind.CHECK:
                return self.index(self._scanned, self._slots, smaller)
            case Kind.SUPPRESSION:
                # A suppression decides which lines count, so the lines are read again.
                slots, scanned = self._scan(smaller)
                return self.index(scanned, slots, smaller)

    def index(self, scanned: Mapping[str, ScannedFile], slots: RuleSlots, knowledge: Knowledge) -> FindingsIndex:
        surveyed = survey(self._bundle, knowledge)
        return assemble_index(self._bundle, surveyed, scanned, slots, knowledge, started=time.monotonic())

    def _scan(self, knowledge: Knowledge) -> tuple[RuleSlots, dict[str, ScannedFile]]:
        slots = slots_of(knowledge.pack)
        files = {file.path: file.location for file in self._bundle.files if file.location is not None}
        return slots, scan_files(files, slots, 1)

    def _struck(self, rule: str) -> dict[str, ScannedFile]:
        """The scan without the hits of the rule."""
        gone = [number for number, slot in enumerate(self._slots.table) if slot.rule.id == rule]
        return {path: _without_slots(file, gone) for path, file in self._scanned.items()}

    def _judged(self, index: FindingsIndex) -> tuple[str, ...]:
        return judge(self._truth, index.findings, {}).troubles


def _without_slots(file: ScannedFile, gone: Sequence[int]) -> ScannedFile:
    kept = ~np.isin(file.hits.slot, gone)
    if kept.all():
        return file
    return replace(file, hits=file.hits.only(kept))


class _Nobody:
    def grown(self, path: str, location: Path, size: int, read_as: str) -> None:
        pass

    def finished(self, path: str, location: Path, size: int, read_as: str) -> None:
        pass
