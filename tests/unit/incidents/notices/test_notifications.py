"""Who is told how an incident ended, and how often."""

from datetime import timedelta
from pathlib import Path

import pytest
from tests.support.investigations.incidents import REMAINING, Bench, Mailbox, Scripted, a_bench, an_incident

from affidavit.errors import UpstreamFailed
from affidavit.incidents.attempt.diagnostician_port import AgentError, ErrorCategory
from affidavit.incidents.incident import IncidentId
from affidavit.incidents.notices.notice_dispatch import MOST_TRIES
from affidavit.incidents.store.incident_leases import LONGEST_LEASE
from affidavit.incidents.store.state import Due, Status
from affidavit.incidents.watchdog import tick

ID = IncidentId("inc-1")
OUTAGE = UpstreamFailed("SNS does not answer", is_retryable=True)


def a_round(bench: Bench) -> int:
    bench.clock.pass_by(timedelta(minutes=5))
    return tick(bench.supervisor, until=bench.clock.now() + timedelta(minutes=10)).told


def status(bench: Bench) -> Status:
    state = bench.states.get_state(ID)
    assert state is not None
    return state.status


def failing(category: ErrorCategory) -> Scripted:
    return Scripted(error=AgentError(category=category, message="it failed"))


def test_people_are_told_once_whatever_comes_after(memory: Path) -> None:
    mailbox = Mailbox()
    bench = a_bench(memory, mailbox=mailbox)
    for _ in range(3):
        bench.supervisor.receive(an_incident(), remaining=REMAINING)
        assert a_round(bench) == 0
    assert len(mailbox.notices) == 1
    assert bench.states.due(Due.NOTICE) == []


def test_without_a_topic_nothing_waits_to_be_told(memory: Path) -> None:
    bench = a_bench(memory)
    bench.supervisor.receive(an_incident(), remaining=REMAINING)
    bench.clock.pass_by(timedelta(days=1))
    assert bench.states.due(Due.NOTICE) == []


def test_an_end_that_is_not_the_last_word_is_not_told(memory: Path) -> None:
    mailbox = Mailbox()
    bench = a_bench(memory, scripted=failing(ErrorCategory.BEDROCK_TRANSIENT), mailbox=mailbox, limit=500)
    bench.supervisor.receive(an_incident(), remaining=REMAINING)
    assert (status(bench), mailbox.notices) == (Status.ERROR, [])
    for _ in range(4):
        a_round(bench)
    assert [subject.partition("]")[0] for subject, _, _ in mailbox.notices] == ["[ERROR"]


def test_a_deferred_incident_is_told_when_it_has_run(memory: Path) -> None:
    mailbox = Mailbox()
    bench = a_bench(memory, mailbox=mailbox, limit=1)
    bench.supervisor.receive(an_incident("first"), remaining=REMAINING)
    bench.supervisor.receive(an_incident(), remaining=REMAINING)
    assert [key.partition("#")[0] for _, _, key in mailbox.notices] == ["first"]
    bench.clock.pass_by(timedelta(hours=1))
    a_round(bench)
    assert [key.partition("#")[0] for _, _, key in mailbox.notices] == ["first", "inc-1"]


def test_an_incident_that_is_given_up_is_told(memory: Path) -> None:
    mailbox = Mailbox()
    bench = a_bench(memory, mailbox=mailbox)
    for _ in range(3):
        seen = bench.states.get_state(ID)
        assert bench.states.take(an_incident(), seen, deadline=bench.clock.now() + REMAINING) is not None
        bench.clock.pass_by(LONGEST_LEASE + timedelta(seconds=1))
    a_round(bench)
    assert status(bench) is Status.FAILED
    assert "stale watchdog timeout" in mailbox.notices[0][0]


def test_an_unexpected_failure_is_told_and_still_raised(memory: Path) -> None:
    mailbox = Mailbox()
    bench = a_bench(memory, mailbox=mailbox, scripted=Scripted(before_end=lambda: 1 / 0))
    with pytest.raises(ZeroDivisionError):
        bench.supervisor.receive(an_incident(), remaining=REMAINING)
    assert "ZeroDivisionError" in mailbox.notices[0][0]


@pytest.mark.parametrize("error", [OUTAGE, ValueError("a bug")])
def test_a_notice_that_fails_changes_nothing_about_the_incident_and_is_sent_later(
    memory: Path, error: Exception
) -> None:
    mailbox = Mailbox(error=error)
    bench = a_bench(memory, mailbox=mailbox)
    bench.supervisor.receive(an_incident(), remaining=REMAINING)
    assert status(bench) is Status.DIAGNOSED
    assert any("notice_failed" in line for line in bench.lines)
    assert any('"NoticesFailed": 1' in line for line in bench.lines)
    mailbox.error = None
    assert a_round(bench) == 1
    assert len(mailbox.notices) == 1
    assert a_round(bench) == 0


def test_a_topic_that_takes_nothing_is_given_up_after_a_while_and_counted(memory: Path) -> None:
    bench = a_bench(memory, mailbox=Mailbox(error=OUTAGE))
    bench.supervisor.receive(an_incident(), remaining=REMAINING)
    for _ in range(MOST_TRIES):
        a_round(bench)
    assert any('"NoticesLost": 1' in line for line in bench.lines)
    bench.clock.pass_by(timedelta(hours=1))
    assert bench.states.due(Due.NOTICE) == []


def test_an_incident_that_is_run_again_before_it_was_told_is_told_of_its_new_end(memory: Path) -> None:
    mailbox = Mailbox(error=OUTAGE)
    bench = a_bench(memory, mailbox=mailbox, scripted=failing(ErrorCategory.BEDROCK_AUTH))
    bench.supervisor.receive(an_incident(), remaining=REMAINING)
    mailbox.error, bench.scripted.error = None, None
    bench.supervisor.redrive(ID, remaining=REMAINING)
    assert a_round(bench) == 0
    assert [subject.partition("]")[0] for subject, _, _ in mailbox.notices] == ["[DIAGNOSED"]
