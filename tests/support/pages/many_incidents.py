"""Very many incidents, written as the store writes them: to see how lists and pages bear them."""

import json
from collections.abc import Iterator
from datetime import datetime, timedelta

from affidavit.incidents.incident import Incident, incident_to_json
from affidavit.incidents.store.state import Status
from affidavit.ports.table import Put, Table

_AT_ONCE = 100


def write_many(table: Table, incident: Incident, now: datetime, *, count: int = 10_000) -> None:
    """`inc-00000` is the newest, each a second older than the one before; none was diagnosed, all for long reasons."""
    told = json.loads(incident_to_json(incident))
    writes = [write for number in range(count) for write in _rows(number, told, now)]
    for start in range(0, len(writes), _AT_ONCE):
        table.write_all(writes[start : start + _AT_ONCE])


def _rows(number: int, told: dict[str, object], now: datetime) -> Iterator[Put]:
    at, name = now - timedelta(seconds=number), f"inc-{number:05d}"
    yield Put(
        item={
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
    )
    yield Put(item={"pk": f"day#{at.date()}", "sk": f"{at.isoformat()}#{name}", "incident_id": name})
