"""Looks whether the symptom is gone: a good run that began after the change, and none that failed."""

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from affidavit.errors import InputRefused, NotFound
from affidavit.evidence.incident_subject import SubjectKind
from affidavit.ports.clock import Clock
from affidavit.ports.workload_inspector import LogLine, WorkloadInspector
from affidavit.remediation.plan.plan_record import Symptom
from affidavit.workloads.logs import log_group
from affidavit.workloads.runs.function_run import Ending
from affidavit.workloads.runs.reader import read_runs

MOST_LINES = 5_000


@dataclass(frozen=True, kw_only=True, slots=True)
class SymptomSeen:
    """Runs that began after the change. What was not read whole proves nothing good."""

    good: int
    bad: int
    is_complete: bool


class SymptomReader(Protocol):
    def look(self, symptom: Symptom, *, since: datetime) -> SymptomSeen:
        """Raises UpstreamFailed or Throttled when nobody could look."""
        ...


@dataclass(frozen=True, kw_only=True)
class FunctionRuns:
    """A `SymptomReader` of functions, by their logs."""

    inspector: WorkloadInspector
    clock: Clock

    def look(self, symptom: Symptom, *, since: datetime) -> SymptomSeen:
        if symptom.subject.kind is not SubjectKind.FUNCTION:
            raise InputRefused(f"{symptom.subject} is not a function", hint="its symptom is read elsewhere")
        group = log_group(self.inspector.function(symptom.subject.id))
        start, end = _milliseconds(since), _milliseconds(self.clock.now()) + 1
        try:
            page = self.inspector.log_lines(group, start=start, end=end, limit=MOST_LINES)
        except NotFound:
            return SymptomSeen(good=0, bad=0, is_complete=True)
        return _counted(page.lines, is_complete=page.is_complete)


def _counted(lines: tuple[LogLine, ...], *, is_complete: bool) -> SymptomSeen:
    """A run whose first line is older than the change is not counted: it began before."""
    runs = read_runs([{"message": line.message} for line in reversed(lines)])
    begun = [run for run in runs if not run.is_outside and not run.is_cut]
    return SymptomSeen(
        good=sum(run.ending is Ending.WELL for run in begun),
        bad=sum(run.has_failed for run in begun),
        is_complete=is_complete,
    )


def _milliseconds(at: datetime) -> int:
    return int(at.timestamp() * 1000)
