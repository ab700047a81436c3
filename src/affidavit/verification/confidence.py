"""Computes how far a verified diagnosis can be trusted, from what was recorded. The one place that does."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from affidavit.evidence.confidence import PARTLY_COVERED, WELL_COVERED, Confidence, Level
from affidavit.evidence.diagnosis import Diagnosis, FaultType, Grade
from affidavit.verification.ledger_entry import Entry

UNSTATED = Confidence(level=Level.HIGH, basis="not computed yet", gaps=())
"""For whoever writes a diagnosis and leaves it to `with_confidence` to say how sure it is."""
# It tells who brought a fault about; that the fault is there is shown without it.
_ABOUT_ORIGIN = "get_recent_changes"
_FROM_LOW = (Level.LOW, Level.MEDIUM, Level.HIGH)


def with_confidence(diagnosis: Diagnosis, entries: Sequence[Entry]) -> Diagnosis:
    """The diagnosis with its computed confidence. Whoever wrote it may be less sure than that, never more."""
    computed = proven_confidence(diagnosis, entries)
    is_weak = diagnosis.grade is Grade.SUPPORTED or FaultType.UNKNOWN in diagnosis.fault_types
    stated = Level.LOW if is_weak else diagnosis.confidence.level
    level = min(computed.level, stated, key=_FROM_LOW.index)
    return diagnosis.model_copy(update={"confidence": replace(computed, level=level)})


def proven_confidence(diagnosis: Diagnosis, entries: Sequence[Entry]) -> Confidence:
    """The rule of `evidence.confidence`, with tool answers in place of files. Call it on a diagnosis that holds.

    Failed answers already decide the starting level; any other gap lowers it by one. What could not be read of changes
    is told as a gap and lowers nothing.
    """
    failed = [problem for entry in entries for problem in _failure(entry)]
    needed = [entry for entry in entries if entry.tool != _ABOUT_ORIGIN]
    unread = [part for entry in needed for part in _unread(entry)]
    other_gaps = (*diagnosis.gaps, *diagnosis.open_obligations, *unread)
    answered = len(entries) - len(failed)
    covered = sum(not _failure(entry) for entry in needed)
    level = _starting_level(100 * covered / len(needed) if needed else 0.0, bool(diagnosis.evidence))
    if other_gaps:
        level = {Level.HIGH: Level.MEDIUM}.get(level, Level.LOW)
    counted = f"{len(diagnosis.evidence)} piece{'' if len(diagnosis.evidence) == 1 else 's'} of evidence verified"
    return Confidence(
        level=level,
        basis=f"{answered} of {len(entries)} tool calls were answered, {counted}",
        gaps=tuple(dict.fromkeys((*other_gaps, *failed, *(part for entry in entries for part in _unread(entry))))),
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
