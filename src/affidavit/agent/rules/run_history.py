"""The runs of a function over time, and why they failed: what fails now, and what is over."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from affidavit.agent.rules.alert import RaisedBy
from affidavit.agent.rules.failure_reasons import Reason, complaints_of, reasons_of
from affidavit.agent.rules.printed_failures import printed_failures
from affidavit.workloads.runs import Ending, Run, read_runs
from affidavit.workloads.runs.lines import LogLevel

LEAST_RUNS_AFTER = 5


@dataclass(frozen=True, kw_only=True)
class PastRun:
    """`reasons` are why it failed, the likeliest first; empty when it did not."""

    run: Run
    reasons: tuple[Reason, ...]
    is_caught: bool = False
    """The program went on after the failure, so Lambda counts no error."""

    @property
    def is_good(self) -> bool:
        """It ended well, and nothing in it complained."""
        return self.run.ending is Ending.WELL and self.run.report is not None and not self.reasons

    @property
    def said(self) -> tuple[tuple[int, str], ...]:
        """What its program wrote without being asked: lines of its own with their positions, oldest first."""
        return tuple(
            (line.place, line.message)
            for one in self.run.statements
            if one.level not in (LogLevel.ERROR, LogLevel.WARNING) and not one.is_noise
            for line in one.lines
        )

    @property
    def start(self) -> int:
        return self.run.places[0]


@dataclass(frozen=True, kw_only=True)
class History:
    """Runs, oldest first. Lines outside any run make a run of their own when they tell of a failure."""

    runs: tuple[PastRun, ...]

    def current(self, *families: str) -> list[Reason]:
        """The newest reason of each label that is not over, newest first."""
        labels = dict.fromkeys(one.label for run in self.runs for one in run.reasons if _is_of(one, families))
        found = [reason for label in labels if (reason := self._newest(label)) is not None]
        return sorted(found, key=lambda reason: reason.event)

    def has_passed(self, *families: str) -> bool:
        """One outbreak and a good run since, whatever else fails now. What comes and goes has not passed."""
        places = self._places_of(families)
        is_one = all(later - earlier == 1 for earlier, later in pairwise(places))
        return bool(places) and is_one and any(run.is_good for run in self.runs[places[-1] + 1 :])

    def good_since(self, reason: Reason) -> list[PastRun]:
        """Runs that started after it and went well; none of them counts where such failures come and go."""
        places = self._places(reason.label)
        # Of a run whose beginning is not shown nobody knows how it went.
        good = [place for place, run in enumerate(self.runs) if run.is_good and not run.run.is_cut]
        if not places or any(places[0] < place < places[-1] for place in good):
            return []
        newest = min(one.event for one in self.runs[places[-1]].reasons if one.label == reason.label)
        return [self.runs[place] for place in good if self.runs[place].start < newest]

    def newest_reasons(self) -> list[Reason]:
        """The last of each label."""
        return [self._last(label) for label in dict.fromkeys(one.label for run in self.runs for one in run.reasons)]

    def with_reason(self, label: str) -> list[PastRun]:
        return [run for run in self.runs if any(one.label == label for one in run.reasons)]

    def of_family(self, family: str) -> list[PastRun]:
        return [run for run in self.runs if any(one.family == family for one in run.reasons)]

    @property
    def failed(self) -> list[PastRun]:
        return [run for run in self.runs if run.reasons]

    def run_of(self, reason: Reason) -> PastRun | None:
        return next((run for run in self.runs if reason in run.reasons), None)

    def good_runs_at_the_end(self) -> int:
        count = 0
        for run in reversed(self.runs):
            if run.reasons:
                break
            count += run.is_good
        return count

    def _last(self, label: str) -> Reason:
        return next(one for run in reversed(self.runs) for one in run.reasons if one.label == label)

    def _places(self, label: str) -> list[int]:
        return [place for place, run in enumerate(self.runs) if any(one.label == label for one in run.reasons)]

    def _places_of(self, families: Sequence[str]) -> list[int]:
        return [place for place, run in enumerate(self.runs) if any(_is_of(one, families) for one in run.reasons)]

    def _newest(self, label: str) -> Reason | None:
        """What fails now and then is not over just because it pauses: it must be away longer than its usual gap."""
        places = self._places(label)
        if not places:
            return None
        gaps = [later - earlier for earlier, later in pairwise(places)]
        away = len(self.runs) - 1 - places[-1]
        return None if away >= max(LEAST_RUNS_AFTER, 2 * max(gaps, default=0)) else self._last(label)


def _is_of(reason: Reason, families: Sequence[str]) -> bool:
    return not families or reason.family in families


def history(
    events: Sequence[Mapping[str, Any]], *, raised: RaisedBy | None = None, errors: float | None = None
) -> History:
    """`events` are newest first, as the tool gives them; `errors` is what Lambda counted in the same hour.

    Where Lambda counted none, an error in the log was caught by the program. It counts as a failure when the alert
    says that something failed and nothing else did.
    """
    read = read_runs(events)
    thrown = [_thrown(run, is_counted=errors != 0) for run in read]
    has_thrown = any(run.reasons for run in thrown)
    is_told = raised is None or (raised.tells_of_failure and (errors == 0 or not has_thrown or not raised.is_alarm))
    runs = [_with_complaints(one, raised, errors=errors) if is_told else one for one in thrown]
    if raised is not None and raised.tells_of_failure and errors == 0 and not any(run.reasons for run in runs):
        runs = [_with_printed(one, raised) for one in runs]
    return History(runs=tuple(run for run in runs if not run.run.is_outside or run.reasons))


def _thrown(run: Run, *, is_counted: bool) -> PastRun:
    is_by_lambda = run.status is not None or run.ending in (Ending.TIMED_OUT, Ending.KILLED)
    has_crashed = any(line.kind.value == "crash" for line in run.platform)
    is_failure = is_counted or is_by_lambda or has_crashed
    return PastRun(run=run, reasons=reasons_of(run) if is_failure and not _is_loose(run) else ())


def _is_loose(run: Run) -> bool:
    """Lines outside any run, which name none: an environment that shuts down, not a request that failed."""
    return run.is_outside and run.report is None and not any(line.request_id for line in run.platform)


def _with_complaints(run: PastRun, raised: RaisedBy | None, *, errors: float | None) -> PastRun:
    if run.reasons or (run.run.has_failed and errors != 0) or _is_loose(run.run):
        return run
    with_warnings = raised is not None and raised.counts_no_run and errors == 0
    found = complaints_of(run.run, with_warnings=with_warnings)
    return PastRun(run=run.run, reasons=found, is_caught=bool(found))


def _with_printed(run: PastRun, raised: RaisedBy) -> PastRun:
    found = () if run.run.is_outside else printed_failures(run.run, raised)
    return PastRun(run=run.run, reasons=found, is_caught=bool(found))
