"""Die at every call to a store, the chat model or a tool; deliver again; the incident ends, once."""

from datetime import timedelta
from pathlib import Path

import pytest
from tests.support.clock import FakeClock
from tests.support.investigations.incidents import (
    REMAINING,
    Bench,
    Boundary,
    Killed,
    Mailbox,
    Scripted,
    a_bench,
    an_incident,
)

from affidavit.incidents.incident import IncidentId
from affidavit.incidents.store.state import Status
from affidavit.incidents.watchdog import tick
from affidavit.verification.pointer_check import verify

ID = IncidentId("inc-1")
NORMAL_CHAT_CALLS = 2


def receive(bench: Bench) -> None:
    bench.supervisor.receive(an_incident(), remaining=REMAINING)


def boundaries(folder: Path) -> list[str]:
    boundary = Boundary()
    receive(a_bench(folder, boundary=boundary, mailbox=Mailbox()))
    return boundary.calls


def test_an_undisturbed_run_crosses_stores_chat_model_and_tools(memory: Path) -> None:
    calls = boundaries(memory)
    assert calls.count("chat") == NORMAL_CHAT_CALLS
    assert {call.partition(".")[0] for call in calls} == {"state", "context", "objects", "chat", "tool", "notify"}
    assert len(calls) >= 20


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_a_crash_at_any_call_leaves_an_incident_that_ends_within_two_deliveries(memory: Path, after: bool) -> None:
    calls = boundaries(memory / "undisturbed")
    for number, name in enumerate(calls, start=1):
        folder = memory / f"{number}"
        _crash_and_recover(folder, Boundary(number, after=after), f"{'after' if after else 'before'} {number} {name}")


def _crash_and_recover(folder: Path, boundary: Boundary, where: str) -> None:
    clock, scripted, mailbox = FakeClock(), Scripted(), Mailbox()
    with pytest.raises(Killed):
        receive(a_bench(folder, clock=clock, scripted=scripted, boundary=boundary, mailbox=mailbox))
    scripted.boundary = mailbox.boundary = Boundary()
    bench = a_bench(folder, clock=clock, scripted=scripted, mailbox=mailbox)
    for _ in range(2):
        clock.pass_by(timedelta(minutes=6))
        receive(bench)
        tick(bench.supervisor, until=clock.now() + REMAINING)
    state, context = bench.states.get_state(ID), bench.contexts.get_context(ID)
    assert state is not None, where
    assert state.status is Status.DIAGNOSED, where
    assert context is not None, where
    assert context.diagnosis is not None, where
    entries = bench.supervisor.records.entries(context.ledger)
    assert verify(context.diagnosis, entries).holds, where
    assert len(entries) == 2, f"an answer is recorded twice: {where}"
    assert len(scripted.chat_calls) <= NORMAL_CHAT_CALLS + 1, where
    assert context.token_usage.total_tokens <= 100 * len(scripted.chat_calls), where
    # Twice only when it died between sending and noting so.
    died_late = boundary.calls[-1] in ("notify", "state.write") and len(mailbox.notices) == 2
    assert len(mailbox.notices) == 1 or died_late, where
    assert len({key for _, _, key in mailbox.notices}) == 1, where


def test_two_crashes_in_a_row_at_any_call_still_end(memory: Path) -> None:
    calls = len(boundaries(memory / "undisturbed"))
    for number in range(1, calls + 1, 3):
        clock, scripted = FakeClock(), Scripted()
        for _ in range(2):
            bench = a_bench(memory / f"{number}", clock=clock, scripted=scripted, boundary=Boundary(number))
            # The second time there may be fewer calls left than that.
            try:
                receive(bench)
            except Killed:
                clock.pass_by(timedelta(minutes=6))
        scripted.boundary = Boundary()
        bench = a_bench(memory / f"{number}", clock=clock, scripted=scripted)
        receive(bench)
        state = bench.states.get_state(ID)
        assert state is not None
        assert state.status is Status.DIAGNOSED
        assert len(scripted.chat_calls) <= NORMAL_CHAT_CALLS + 2
