"""Several channels at once: each is told once, fails alone, and is left alone for as long as it asks."""

from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import pytest
from tests.support.investigations.incidents import REMAINING, Bench, Mailbox, a_bench, a_channel, an_incident

from affidavit.errors import UpstreamFailed
from affidavit.incidents.attempt.diagnostician_port import AgentError, ErrorCategory
from affidavit.incidents.incident import IncidentId
from affidavit.incidents.notices import notice_dispatch
from affidavit.incidents.notices.channel import ChannelName, NoticeFilter
from affidavit.incidents.notices.notice_dispatch import MOST_TRIES
from affidavit.incidents.store.state import Due, Status
from affidavit.incidents.watchdog import tick
from affidavit.ports.notice_record import Notice
from affidavit.ports.notifier import AskedToWait

ID = IncidentId("inc-1")
OUTAGE = UpstreamFailed("it does not answer", is_retryable=True)


@dataclass
class Editable(Mailbox):
    """Keeps under which name it was asked to tell again."""

    earlier: list[str] = field(default_factory=list)

    def notify(self, notice: Notice, *, earlier: str) -> str:
        self.earlier.append(earlier)
        super().notify(notice, earlier=earlier)
        return "message-7"


def two(folder: Path, slack: Mailbox, teams: Mailbox, **of_teams: object) -> Bench:
    made = (a_channel(slack, ChannelName.SLACK), a_channel(teams, ChannelName.TEAMS, **of_teams))
    return a_bench(folder, channels=made)


def a_round(bench: Bench, minutes: int = 5) -> int:
    bench.clock.pass_by(timedelta(minutes=minutes))
    return tick(bench.supervisor, until=bench.clock.now() + timedelta(minutes=10)).told


def waiting(bench: Bench) -> int:
    bench.clock.pass_by(timedelta(hours=2))
    return len(bench.states.due(Due.NOTICE))


def test_a_channel_that_fails_is_tried_again_and_repeats_no_other(memory: Path) -> None:
    slack, teams = Mailbox(), Mailbox(error=OUTAGE)
    bench = two(memory, slack, teams)
    bench.supervisor.receive(an_incident(), remaining=REMAINING)
    a_round(bench)
    teams.error = None
    assert a_round(bench) == 1
    assert a_round(bench) == 0
    assert (len(slack.notices), len(teams.notices)) == (1, 1)
    assert waiting(bench) == 0


def test_a_channel_with_a_bug_keeps_no_other_from_its_notice(memory: Path) -> None:
    slack, teams = Mailbox(error=KeyError("bug")), Mailbox()
    bench = two(memory, slack, teams)
    bench.supervisor.receive(an_incident(), remaining=REMAINING)
    assert len(teams.notices) == 1
    state = bench.states.get_state(ID)
    assert state is not None
    assert state.status is Status.DIAGNOSED
    assert any('"channel": "slack"' in line and "notice_failed" in line for line in bench.lines)


def test_a_channel_that_asks_to_wait_is_left_alone_until_then(memory: Path) -> None:
    slack, teams = Mailbox(), Mailbox(error=AskedToWait("slow down", seconds=12 * 60))
    bench = two(memory, slack, teams)
    bench.supervisor.receive(an_incident(), remaining=REMAINING)
    teams.error = None
    assert (a_round(bench), a_round(bench)) == (0, 0)
    assert a_round(bench) == 1
    assert len(teams.notices) == 1


def test_a_channel_that_asks_for_days_is_tried_again_after_an_hour(memory: Path) -> None:
    teams = Mailbox(error=AskedToWait("slow down", seconds=864_000))
    bench = two(memory, Mailbox(), teams)
    bench.supervisor.receive(an_incident(), remaining=REMAINING)
    teams.error = None
    assert a_round(bench, minutes=61) == 1


def test_a_dead_channel_is_given_up_and_counted_once(memory: Path) -> None:
    bench = two(memory, Mailbox(), Mailbox(error=OUTAGE))
    bench.supervisor.receive(an_incident(), remaining=REMAINING)
    for _ in range(MOST_TRIES + 3):
        a_round(bench)
    assert sum('"NoticesLost": 1' in line for line in bench.lines) == 1
    assert waiting(bench) == 0


def test_a_channel_that_asks_to_wait_for_ever_is_given_up(memory: Path) -> None:
    bench = two(memory, Mailbox(), Mailbox(error=AskedToWait("slow down", seconds=60)))
    bench.supervisor.receive(an_incident(), remaining=REMAINING)
    for _ in range(MOST_TRIES + 1):
        a_round(bench)
    assert waiting(bench) == 0


def test_a_storm_reaches_a_channel_at_its_own_pace_and_nothing_is_lost(memory: Path) -> None:
    slack, teams = Mailbox(), Mailbox()
    bench = two(memory, slack, teams, per_minute=2)
    for number in range(7):
        bench.supervisor.receive(an_incident(f"inc-{number}"), remaining=REMAINING)
    assert (len(slack.notices), len(teams.notices)) == (7, 2)
    for _ in range(3):
        before = len(teams.notices)
        a_round(bench)
        assert len(teams.notices) - before <= 2
    assert len(teams.notices) == 7
    assert len({key for _, _, key in teams.notices}) == 7
    assert waiting(bench) == 0


def test_a_notice_that_can_never_be_written_ends_some_day(memory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notice_dispatch, "notice_of", lambda *_: 1 / 0)
    monkeypatch.setattr(notice_dispatch, "MOST_ROUNDS", 5)
    bench = two(memory, Mailbox(), Mailbox())
    bench.supervisor.receive(an_incident(), remaining=REMAINING)
    for _ in range(6):
        bench.clock.pass_by(timedelta(minutes=5))
        bench.supervisor.people.tell(ID)
    assert waiting(bench) == 0
    assert sum('"NoticesLost": 1' in line for line in bench.lines) == 1


def test_what_a_channel_does_not_want_is_settled_without_it(memory: Path) -> None:
    teams = Mailbox()
    bench = two(memory, Mailbox(), teams, passes=NoticeFilter(states=frozenset({Status.ERROR})))
    bench.supervisor.receive(an_incident(), remaining=REMAINING)
    assert teams.notices == []
    assert waiting(bench) == 0


def test_the_next_end_of_an_incident_is_told_in_the_message_of_the_first(memory: Path) -> None:
    slack = Editable()
    bench = a_bench(memory, channels=(a_channel(slack, ChannelName.SLACK),))
    bench.scripted.error = AgentError(category=ErrorCategory.BEDROCK_AUTH, message="denied")
    bench.supervisor.receive(an_incident(), remaining=REMAINING)
    bench.scripted.error = None
    bench.supervisor.redrive(ID, remaining=REMAINING)
    assert slack.earlier == ["", "message-7"]
    assert [key for _, _, key in slack.notices] == ["inc-1#1", "inc-1#2"]
