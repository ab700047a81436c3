"""How far a diagnosis can be trusted, by the thresholds of every other answer: what was asked, what answered."""

from collections.abc import Mapping, Sequence

from affidavit.evidence.confidence import PARTLY_COVERED, WELL_COVERED, Confidence, Level
from affidavit.verification.entry import Entry
from affidavit.workloads.records import TOOL_ARG_SCHEMAS


def certainty(entries: Sequence[Entry], *, evidence: int, gaps: Sequence[str]) -> Confidence:
    """A tool that errored lowers it and is named, as is every gap."""
    answered = {entry.tool for entry in entries if not _has_error(entry)}
    errored = sorted({entry.tool for entry in entries if _has_error(entry)} - answered)
    named = (*(f"{tool} answered with an error" for tool in errored), *gaps)
    asked = len(answered) + len(errored)
    share = 100 * len(answered) / asked if asked else 0.0
    level = _level(share, evidence)
    if named:
        level = {Level.HIGH: Level.MEDIUM}.get(level, Level.LOW)
    basis = f"{len(answered)} of {asked} tools answered ({len(TOOL_ARG_SCHEMAS)} exist), {evidence} verified pointers"
    return Confidence(level=level, basis=basis, gaps=tuple(named))


def unanswered(entries: Sequence[Entry]) -> tuple[str, ...]:
    """What tools said instead of an answer, each saying once with everybody who said it."""
    answered = {entry.tool for entry in entries if not _has_error(entry)}
    said: dict[str, list[str]] = {}
    for entry in entries:
        if isinstance(entry.answer, Mapping) and entry.tool not in answered:
            said.setdefault(str(entry.answer["error"]), []).append(entry.tool)
    return tuple(f"{', '.join(dict.fromkeys(tools))}: {error}" for error, tools in said.items())


def _level(share: float, evidence: int) -> Level:
    if share >= WELL_COVERED and evidence:
        return Level.HIGH
    return Level.MEDIUM if share >= PARTLY_COVERED or evidence else Level.LOW


def _has_error(entry: Entry) -> bool:
    return isinstance(entry.answer, Mapping) and bool(entry.answer.get("error"))
