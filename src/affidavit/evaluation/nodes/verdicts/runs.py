"""Runs verdict cases and says of each whether the verdict names exactly the true causes."""

import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from affidavit.bundle.file_roles import glob_pattern
from affidavit.errors import AffidavitError
from affidavit.evaluation.nodes.bundles import place
from affidavit.evaluation.nodes.runs import Quiet
from affidavit.evaluation.nodes.verdicts.cases import VerdictCase
from affidavit.evaluation.nodes.verdicts.judged_case import JudgedVerdict
from affidavit.evidence.node_verdict import NodeVerdict
from affidavit.index.scanning.rule_matching import slots_of
from affidavit.investigation import Analysis, analyze
from affidavit.knowledge import Knowledge


def judge_verdicts(cases: Sequence[VerdictCase], knowledge: Knowledge, *, workers: int) -> Iterator[JudgedVerdict]:
    """In the order given, `workers` at a time."""
    # Built before the fork, so that every process inherits the engine instead of building it.
    _ = slots_of(knowledge.pack).matcher
    with ProcessPoolExecutor(
        max_workers=workers, mp_context=get_context("fork"), initializer=_inherit, initargs=(knowledge,)
    ) as pool:
        yield from pool.map(_judge_inherited, cases)


_inherited: list[Knowledge] = []


def _inherit(knowledge: Knowledge) -> None:
    _inherited[:] = [knowledge]


def _judge_inherited(case: VerdictCase) -> JudgedVerdict:
    return judge_verdict(case, _inherited[0])


def judge_verdict(case: VerdictCase, knowledge: Knowledge) -> JudgedVerdict:
    with tempfile.TemporaryDirectory(prefix="affidavit-verdict-") as name:
        folder = Path(name)
        (folder / "work").mkdir()
        try:
            bundle = place(case.scenario, folder / "bundle").path
            remove_files(bundle, case.without)
            analysis = analyze(bundle, knowledge=knowledge, workspace=folder / "work", progress=Quiet(), workers=1)
        except AffidavitError as error:
            return JudgedVerdict(id=case.id, leads=False, trouble=str(error))
        return judged(case, analysis)


def judged(case: VerdictCase, analysis: Analysis) -> JudgedVerdict:
    verdict = analysis.index.verdict
    if verdict is None:
        return JudgedVerdict(id=case.id, leads=False, trouble="the index has no verdict")
    wanted = (*case.leads, *case.over)
    told = [_lines_of(cause.evidence[0], analysis) for cause in verdict.root_causes]
    found = [next((text for text in wanted if _holds(lines, text)), "") for lines in told]
    leads = bool(found) and found[0] in case.leads if case.leads else not found
    if sorted(found) != sorted(wanted):
        named = ", ".join(cause.cause for cause in verdict.root_causes) or "no cause"
        return JudgedVerdict(id=case.id, leads=leads, trouble=f"{named}; wanted {', '.join(wanted) or 'none'}")
    still_open = [text for cause, text in zip(verdict.root_causes, found, strict=True) if cause.still_open]
    if lost := [text for text in case.over if text in still_open]:
        return JudgedVerdict(id=case.id, leads=leads, trouble=f"told as open: {', '.join(lost)}")
    return JudgedVerdict(id=case.id, leads=leads, trouble=_unknown_trouble(case, verdict, analysis))


def _unknown_trouble(case: VerdictCase, verdict: NodeVerdict, analysis: Analysis) -> str:
    left = [each for entry in verdict.unexplained if entry.cause_unknown for each in entry.finding_ids]
    lines = [line for finding_id in left for line in _lines_of(finding_id, analysis)]
    lost = [text for text in case.unknown if not _holds(lines, text)]
    return f"not told as unexplained: {', '.join(lost)}" if lost else ""


def _lines_of(finding_id: str, analysis: Analysis) -> list[str]:
    finding = next(each for each in analysis.index.findings if each.finding_id == finding_id)
    spans = [finding.evidence.byte_offset, *(other.byte_offset for other in finding.additional_occurrences)]
    data = analysis.bundle.locations[finding.evidence.source_file].read_bytes()
    return [data[span.start : span.end].decode("utf-8", "replace") for span in spans if span is not None]


def _holds(lines: list[str], text: str) -> bool:
    return any(text in line for line in lines)


def remove_files(bundle: Path, globs: tuple[str, ...]) -> None:
    """Out of an unpacked bundle: what a case is told without."""
    patterns = [glob_pattern(glob) for glob in globs]
    for file in [entry for entry in bundle.rglob("*") if entry.is_file()]:
        if any(pattern.fullmatch(file.relative_to(bundle).as_posix()) for pattern in patterns):
            file.unlink()
