"""Reads recorded log events as runs for obligations: how each ended, and which faults its complaints show.

What a run is, `workloads.runs` knows. The faults are read twice, by the catalog of failures and by signs of our own, so
that a wording which one of them misses is no reason to call a fault unshown.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from functools import lru_cache
from pathlib import Path
from typing import Any

from affidavit.evidence.diagnosis import FaultType
from affidavit.verification.text.word_patterns import first_match, word_patterns
from affidavit.workloads.denials import denials_in
from affidavit.workloads.failures import matches
from affidavit.workloads.runs import Ending, Run, Statement, read_runs
from affidavit.workloads.runs.lines import LogLevel

_SIGNS = Path(__file__).parent / "signs.yaml"
_ENDS = {
    Ending.TIMED_OUT: frozenset({FaultType.TIMEOUT}),
    Ending.KILLED: frozenset({FaultType.OUT_OF_MEMORY}),
}


class RunEnd(StrEnum):
    WELL = "well"
    FAILED = "failed"
    UNKNOWN = "unknown"


@dataclass(frozen=True, kw_only=True)
class RunFacts:
    """One run. `places` are the positions of its events, `faults` what its complaints show."""

    request_id: str
    places: tuple[int, ...]
    end: RunEnd
    complaints: tuple[str, ...]
    faults: frozenset[FaultType]
    at: datetime | None

    @property
    def text(self) -> str:
        return "\n".join(self.complaints)


def read_run_facts(events: Sequence[Mapping[str, Any]]) -> tuple[RunFacts, ...]:
    """Oldest first. `events` are newest first, as the tool answers them."""
    runs = (_facts(run, events) for run in read_runs(events))
    return tuple(run for run in runs if run.complaints or run.end is not RunEnd.UNKNOWN)


# A log says the same many times over, and its answer is judged more than once.
@lru_cache(maxsize=1024)
def signs_in(text: str) -> frozenset[FaultType]:
    """Faults that the text shows. An error of the code is only what nothing else explains."""
    by_catalog = next((frozenset({match.kind.fault}) for match in matches(text)), frozenset[FaultType]())
    by_signs = (FaultType(pattern.pattern_id) for pattern, _ in first_match(text, word_patterns(_SIGNS, "signs")))
    found = by_catalog | frozenset(by_signs)
    return (found - {FaultType.CODE_ERROR}) or found


def _facts(run: Run, events: Sequence[Mapping[str, Any]]) -> RunFacts:
    complaints = tuple(_complaints(run, events))
    shown = frozenset(fault for one in complaints for fault in signs_in(one)) | _ENDS.get(run.ending, frozenset())
    return RunFacts(
        request_id=run.request_id or f"at event {run.places[0]}",
        places=run.places,
        end=_end(run),
        complaints=complaints,
        faults=(shown - {FaultType.CODE_ERROR}) or shown,
        at=_moment(events[run.places[0]].get("timestamp")),
    )


def _complaints(run: Run, events: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for one in (*run.last_words, *_warnings(run)):
        yield "\n".join(line.message for line in one.lines)
    if run.has_failed or run.has_failed_init:
        yield from (line.message for line in run.platform if not line.message.startswith(("START ", "END ")))


def _warnings(run: Run) -> Iterator[Statement]:
    """Of a run that failed: a refusal that was caught, or what a run that ran out of time last said it waited for."""
    for one in run.statements if run.has_failed else ():
        is_warning = one.level is LogLevel.WARNING and not one.is_noise and one not in run.last_words
        if is_warning and (run.ending is Ending.TIMED_OUT or denials_in(one.text)):
            yield one


def _end(run: Run) -> RunEnd:
    if run.has_failed:
        return RunEnd.FAILED
    return RunEnd.WELL if run.ending is Ending.WELL else RunEnd.UNKNOWN


def _moment(value: object) -> datetime | None:
    try:
        return datetime.fromisoformat(str(value).replace("Z", "+00:00"))
    except ValueError:
        return None
