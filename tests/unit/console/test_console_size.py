"""Ten thousand incidents stay usable: pages are small, and the list reads a page of them, not all."""

import json
from datetime import UTC, datetime, timedelta

from tests.support.clock import FakeClock
from tests.support.console import ServedConsole, served
from tests.support.incidents import an_incident, memory_folder

from affidavit.incidents.incident import incident_to_json
from affidavit.incidents.store.state import Status
from affidavit.ports.table import Put

MOST_BYTES = 300_000
COUNT = 10_000


def filled(console: ServedConsole, now: datetime) -> None:
    """Incidents of one day, as the store writes them."""
    told = json.loads(incident_to_json(an_incident("NAME")))
    writes: list[Put] = []
    for number in range(COUNT):
        at, name = now - timedelta(seconds=number), f"inc-{number:05d}"
        state = {
            "pk": f"incident#{name}",
            "sk": "state",
            "incident": json.dumps({**told, "incident_id": name}),
            "status": Status.FAILED.value,
            "created_at": at.isoformat(),
            "updated_at": at.isoformat(),
            "lease_expires_at": at.timestamp(),
            "epoch": 1,
            "attempts": 3,
            "error_reason": f"failure {number} " + "x" * 300,
        }
        day = {"pk": f"day#{at.date()}", "sk": f"{at.isoformat()}#{name}", "incident_id": name}
        writes += [Put(item=state), Put(item=day)]
    for at in range(0, len(writes), 100):
        console.desk.app.incident_state.write_all(writes[at : at + 100])


def test_ten_thousand_incidents_are_listed_in_small_pages_and_none_is_lost() -> None:
    now = datetime(2026, 5, 1, 23, 0, tzinfo=UTC)
    with memory_folder() as folder, served(folder, clock=FakeClock(now)) as console:
        filled(console, now)
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
