"""How far a verified diagnosis can be trusted: computed from what was recorded, not taken from whoever wrote it."""

from collections.abc import Mapping, Sequence

from affidavit.evidence.confidence import PARTLY_COVERED, WELL_COVERED, Confidence, Level
from affidavit.evidence.diagnosis import Diagnosis
from affidavit.verification.entry import Entry


def proven_confidence(diagnosis: Diagnosis, entries: Sequence[Entry]) -> Confidence:
    """The rule of `evidence.confidence`, with tool answers in place of files. Call it on a diagnosis that holds."""
    broken = [problem for entry in entries for problem in _missing(entry)]
    whole = sum(1 for entry in entries if not _missing(entry))
    coverage = 100 * whole / len(entries) if entries else 0.0
    gaps = tuple(dict.fromkeys((*diagnosis.gaps, *broken)))
    level = _starting_level(coverage, bool(diagnosis.evidence))
    if gaps:
        level = {Level.HIGH: Level.MEDIUM}.get(level, Level.LOW)
    counted = f"{len(diagnosis.evidence)} piece{'' if len(diagnosis.evidence) == 1 else 's'} of evidence verified"
    return Confidence(level=level, basis=f"{whole} of {len(entries)} tool answers are whole, {counted}", gaps=gaps)


def _starting_level(coverage: float, has_evidence: bool) -> Level:
    if coverage >= WELL_COVERED and has_evidence:
        return Level.HIGH
    return Level.MEDIUM if coverage >= PARTLY_COVERED or has_evidence else Level.LOW


def _missing(entry: Entry) -> list[str]:
    if not isinstance(entry.answer, Mapping):
        return []
    found = [f"{entry.tool} reported an error: {entry.answer['error']}"] if entry.answer.get("error") else []
    parts = entry.answer.get("not_read")
    for part in parts if isinstance(parts, Sequence) and not isinstance(parts, str) else ():
        if isinstance(part, Mapping):
            found.append(f"{entry.tool} could not read {part.get('what')}: {part.get('why')}")
    return found
