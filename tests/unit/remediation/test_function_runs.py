"""The symptom is gone when a run that began after the change went well; what was cut or not read proves nothing."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.support.clock import FakeClock
from tests.support.repairing.remediation import a_subject

from affidavit.errors import InputRefused, NotFound, Throttled
from affidavit.evidence.incident_subject import Subject, SubjectKind
from affidavit.ports.workload_inspector import LogLine, LogPage
from affidavit.remediation.execution.function_symptoms import FunctionRuns, SymptomSeen
from affidavit.remediation.plan.plan_record import Symptom

SINCE = datetime(2026, 1, 15, 10, 0, tzinfo=UTC)
SYMPTOM = Symptom(subject=a_subject("orders"), window_seconds=60)
ID, OTHER = "8f5a3b1c-0000-4000-8000-000000000001", "8f5a3b1c-0000-4000-8000-000000000002"


def started(run: str) -> str:
    return f"START RequestId: {run} Version: $LATEST"


def ended(run: str) -> list[str]:
    spent = "Duration: 12.00 ms\tBilled Duration: 13 ms\tMemory Size: 128 MB\tMax Memory Used: 40 MB"
    return [f"END RequestId: {run}", f"REPORT RequestId: {run}\t{spent}"]


class Logs:
    def __init__(self, *lines: str, is_complete: bool = True, error: Exception | None = None) -> None:
        self.lines, self.is_complete, self.error = lines, is_complete, error
        self.asked: list[tuple[int, int]] = []

    def function(self, name: str) -> dict[str, Any]:
        return {"FunctionName": name, "FunctionArn": f"arn:aws:lambda:ca-central-1:000000000000:function:{name}"}

    def log_lines(self, group: str, *, start: int, end: int, limit: int) -> LogPage:
        if self.error is not None:
            raise self.error
        self.asked.append((start, end))
        made = tuple(LogLine(at=start + at, message=line) for at, line in enumerate(self.lines))
        return LogPage(lines=made, is_complete=self.is_complete)


def seen(logs: Logs, subject: Subject = SYMPTOM.subject) -> SymptomSeen:
    clock = FakeClock()
    clock.at = SINCE + timedelta(seconds=30)
    runs = FunctionRuns(inspector=logs, clock=clock)  # pyright: ignore[reportArgumentType] - only what is asked
    return runs.look(Symptom(subject=subject, window_seconds=60), since=SINCE)


@pytest.mark.parametrize(
    ("lines", "good", "bad"),
    [
        ([started(ID), *ended(ID)], 1, 0),
        ([started(ID), *ended(ID), started(OTHER), *ended(OTHER)], 2, 0),
        ([started(ID), f"2026-01-15T10:00:01.000Z {ID} Task timed out after 3.00 seconds", *ended(ID)], 0, 1),
        ([*ended(ID)], 0, 0),
        ([started(ID)], 0, 0),
        ([], 0, 0),
    ],
    ids=["well", "two", "timed out", "began before the change", "not ended", "no traffic"],
)
def test_runs_that_began_after_the_change_are_counted(lines: list[str], good: int, bad: int) -> None:
    logs = Logs(*lines)
    assert seen(logs) == SymptomSeen(good=good, bad=bad, is_complete=True)
    assert logs.asked[0][0] == int(SINCE.timestamp() * 1000)


def test_a_page_that_is_cut_is_not_complete() -> None:
    assert not seen(Logs(started(ID), *ended(ID), is_complete=False)).is_complete


def test_a_group_that_is_gone_has_no_runs_and_one_that_cannot_be_read_is_an_error() -> None:
    assert seen(Logs(error=NotFound("gone"))) == SymptomSeen(good=0, bad=0, is_complete=True)
    with pytest.raises(Throttled):
        seen(Logs(error=Throttled("slow down")))
    with pytest.raises(InputRefused):
        seen(Logs(), Subject(kind=SubjectKind.NODE, id="i-0a11ce0000000001"))
