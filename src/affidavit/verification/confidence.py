"""How far a verified diagnosis can be trusted: computed from what was recorded, not taken from whoever wrote it."""

from collections.abc import Mapping, Sequence

from affidavit.evidence.confidence import PARTLY_COVERED, WELL_COVERED, Confidence, Level
from affidavit.evidence.diagnosis import Diagnosis
from affidavit.verification.entry import Entry


def proven_confidence(diagnosis: Diagnosis, entries: Sequence[Entry]) -> Confidence:
    """The rule of `evidence.confidence`, with tool answers in place of files. Call it on a diagnosis that holds.

    Failed answers already decide the starting level; any other gap lowers it by one.
    """
    failed = [problem for entry in entries for problem in _failure(entry)]
    other_gaps = (*diagnosis.gaps, *(part for entry in entries for part in _unread(entry)))
    answered = len(entries) - len(failed)
    level = _starting_level(100 * answered / len(entries) if entries else 0.0, bool(diagnosis.evidence))
    if other_gaps:
        level = {Level.HIGH: Level.MEDIUM}.get(level, Level.LOW)
    counted = f"{len(diagnosis.evidence)} piece{'' if len(diagnosis.evidence) == 1 else 's'} of evidence verified"
    return Confidence(
        level=level,
        basis=f"{answered} of {len(entries)} tool calls were answered, {counted}",
        gaps=tuple(dict.fromkeys((*other_gaps, *failed))),
    )


def _starting_level(coverage: float, has_evidence: bool) -> Level:
    if coverage >= WELL_COVERED and has_evidence:
        return Level.HIGH
    return Level.MEDIUM if coverage >= PARTLY_COVERED or has_evidence else Level.LOW


def _failure(entry: Entry) -> list[str]:
    answer = entry.answer
    failed = isinstance(answer, Mapping) and answer.get("error")
    return [f"{entry.tool} reported an error: {failed}"] if failed else []


def _unread(entry: Entry) -> list[str]:
    parts = entry.answer.get("not_read") if isinstance(entry.answer, Mapping) else None
    if not isinstance(parts, Sequence) or isinstance(parts, str):
        return []
    known = [part for part in parts if isinstance(part, Mapping)]
    return [f"{entry.tool} could not read {part.get('what')}: {part.get('why')}" for part in known]
