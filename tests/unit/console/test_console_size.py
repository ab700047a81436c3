"""Ten thousand incidents stay usable: pages are small, and the list reads a page of them, not all."""

from datetime import UTC, datetime

from tests.support.clock import FakeClock
from tests.support.investigations.incidents import an_incident, memory_folder
from tests.support.pages.console import served
from tests.support.pages.many_incidents import write_many

MOST_BYTES = 300_000


def test_ten_thousand_incidents_are_listed_in_small_pages_and_none_is_lost() -> None:
    now = datetime(2026, 5, 1, 23, 0, tzinfo=UTC)
    with memory_folder() as folder, served(folder, clock=FakeClock(now)) as console:
        write_many(console.desk.app.incident_state, an_incident(), now)
        client, address, seen = console.browser(), "/", list[str]()
        for _ in range(4):
            answer = client.get(address)
            assert len(answer.content) < MOST_BYTES
            seen += [part[:9] for part in answer.text.split('href="/incidents/')[1:]]
            address = answer.text.partition('class="button" href="')[2].partition('"')[0].replace("&amp;", "&")
        assert seen == [f"inc-{number:05d}" for number in range(len(seen))]
        found = client.get("/?q=inc-00399")
        assert "/incidents/inc-00399" in found.text
        far = client.get("/?q=inc-09999")
        assert "looked at 400 incidents" in far.text and "Older incidents" in far.text
