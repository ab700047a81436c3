"""A fault behind an alarm that never went back to OK is not lost, and the known fault is not paid for twice."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from tests.support.investigations.diagnoses import a_diagnosis, a_pointer
from tests.support.investigations.incidents import IAM, Bench, a_bench, degraded

from affidavit.evidence.diagnosis import Diagnosis, FaultType
from affidavit.incidents.attempt.answer_ledger import Entry
from affidavit.incidents.incident import IncidentId
from affidavit.incidents.watchdog import Tick, tick

from .test_same_failure import alarm, come

OK_AGAIN = alarm(200, state="OK")


def concluding(bench: Bench, *conclusions: FaultType | None) -> Bench:
    """Rules conclude these, one after the other; of the answers that the incident recorded always the first."""
    left = iter(conclusions[1:])

    def conclude(entries: Sequence[Entry]) -> Diagnosis | None:
        is_recorded = len(entries) < 4
        kind = conclusions[0] if is_recorded else next(left)
        found = a_diagnosis(a_pointer("get_iam_state", "", IAM))
        return found.model_copy(update={"fault_types": () if kind is None else (kind,)})

    supervisor = replace(bench.supervisor, degraded=lambda _: degraded(bench.tools, conclude))
    return replace(bench, supervisor=supervisor)


def after(bench: Bench, minutes: int) -> Tick:
    bench.clock.pass_by(timedelta(minutes=minutes))
    return tick(bench.supervisor, until=bench.clock.now() + timedelta(minutes=14))


def test_a_function_that_is_blocked_while_its_alarm_is_still_in_alarm_becomes_an_incident(tmp_path: Path) -> None:
    bench = concluding(a_bench(tmp_path), FaultType.PERMISSION_LOSS, FaultType.THROTTLING)
    (first,) = come(bench, alarm(0))
    assert after(bench, 6).opened == 1
    assert len(bench.scripted.runs) == 2
    state = bench.states.get_state(IncidentId(bench.scripted.runs[1]))
    assert state is not None
    assert state.incident_id != first.incident_id
    assert "never went back to OK" in state.incident.message


def test_the_known_fault_is_asked_about_again_and_never_paid_for_again(tmp_path: Path) -> None:
    bench = concluding(a_bench(tmp_path), *[FaultType.PERMISSION_LOSS] * 4)
    come(bench, alarm(0))
    assert [after(bench, 6).opened for _ in range(3)] == [0, 0, 0]
    assert len(bench.tools.asked) == 15
    assert len(bench.scripted.runs) == 1


@pytest.mark.parametrize("ended", ["ok", "healthy", "long ago"])
def test_nobody_looks_again_once_the_alarm_is_over(tmp_path: Path, ended: str) -> None:
    bench = concluding(a_bench(tmp_path), FaultType.PERMISSION_LOSS, None, FaultType.THROTTLING, FaultType.THROTTLING)
    come(bench, alarm(0), *([OK_AGAIN] if ended == "ok" else []))
    if ended == "healthy":
        after(bench, 6)
    asked = len(bench.tools.asked)
    if ended == "long ago":
        bench.clock.pass_by(timedelta(hours=3))
        bench = concluding(bench, *[FaultType.PERMISSION_LOSS] * 3)
        after(bench, 0)
        asked = len(bench.tools.asked)
    assert after(bench, 6).opened == 0
    assert len(bench.tools.asked) == asked
    assert len(bench.scripted.runs) == 1


def test_before_its_time_and_while_it_is_worked_on_nobody_looks(tmp_path: Path) -> None:
    bench = concluding(a_bench(tmp_path), FaultType.PERMISSION_LOSS)
    come(bench, alarm(0))
    assert after(bench, 4) == Tick()
    assert bench.tools.asked == []
