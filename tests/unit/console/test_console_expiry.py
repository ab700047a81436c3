"""What has expired opens nothing, also while the table still holds its row."""

from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from tests.support.clock import FakeClock

from affidavit.adapters.local.table import SqliteTable
from affidavit.entrypoints.console.access.person import Person, PersonRole
from affidavit.entrypoints.console.access.sessions import LIFETIME, ConsoleSessions, OneTime
from affidavit.entrypoints.console.access.share_links import Shares
from affidavit.incidents.incident import IncidentId

HOUR = timedelta(hours=1)
Opens = Callable[[], object]


class KeepsForever(SqliteTable):
    """Removes rows late, as DynamoDB does: up to days after their time."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder / "console.sqlite", "console", FakeClock(datetime.fromisoformat("2000-01-01T00:00Z")))


def session(table: KeepsForever, clock: FakeClock) -> tuple[timedelta, Opens]:
    sessions = ConsoleSessions(table, clock)
    opened = sessions.start(Person(name="ada", roles=frozenset(PersonRole)))
    return LIFETIME, lambda: sessions.find(opened) or sessions.of("ada")


def share(table: KeepsForever, clock: FakeClock) -> tuple[timedelta, Opens]:
    shares = Shares(table, clock)
    token = shares.make(IncidentId("inc-1"), "ada", "1h")
    return HOUR, lambda: shares.find(token) or shares.of(IncidentId("inc-1"))


@pytest.mark.parametrize("made", [session, share])
def test_nothing_opens_to_the_second_when_its_time_is_over(tmp_path: Path, made) -> None:
    clock = FakeClock()
    lifetime, opens = made(KeepsForever(tmp_path), clock)
    clock.pass_by(lifetime - timedelta(seconds=1))
    assert opens()
    clock.pass_by(timedelta(seconds=1))
    assert not opens()


@pytest.mark.parametrize(("passed", "works"), [(HOUR - timedelta(seconds=1), True), (HOUR, False)])
def test_a_login_link_ends_to_the_second(tmp_path: Path, passed: timedelta, works: bool) -> None:
    clock = FakeClock()
    links = OneTime(KeepsForever(tmp_path), clock, use="link", lifetime=HOUR)
    link = links.issue({"name": "ada"})
    clock.pass_by(passed)
    assert (links.redeem(link) is not None) is works
