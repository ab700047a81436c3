"""One event of a queue or topic: every record is handled, a bad one is kept aside, the first failure is told."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from affidavit.incidents.incident import IncidentId
from affidavit.incidents.intake import BadRecord, NotAFault, Notice, notices_of
from affidavit.incidents.supervisor import Supervisor
from affidavit.ports import ObjectStore


@dataclass(frozen=True, kw_only=True, slots=True)
class Delivered:
    incident_id: IncidentId | None
    outcome: str


def deliver(
    event: Mapping[str, Any], supervisor: Supervisor, quarantine: ObjectStore, *, remaining: timedelta
) -> list[Delivered]:
    """Raises the first failure after all records had their turn, so that the event source tries again."""
    until = supervisor.clock.now() + remaining
    done: list[Delivered] = []
    failures: list[Exception] = []
    for notice in notices_of(event, now=supervisor.clock.now()):
        try:
            done.append(_handle(notice, supervisor, quarantine, until - supervisor.clock.now()))
        except Exception as error:  # noqa: BLE001 raised below; one record must not cost the others
            failures.append(error)
    if failures:
        raise failures[0]
    return done


def _handle(notice: Notice, supervisor: Supervisor, quarantine: ObjectStore, remaining: timedelta) -> Delivered:
    if isinstance(notice, BadRecord):
        return _put_aside(notice, supervisor, quarantine)
    if isinstance(notice, NotAFault):
        supervisor.telemetry.log("not_a_fault", delivery_id=notice.delivery_id, why=notice.why)
        return Delivered(incident_id=None, outcome=notice.why)
    incident = supervisor.joined(notice)
    return Delivered(incident_id=incident.incident_id, outcome=supervisor.receive(incident, remaining=remaining))


def _put_aside(record: BadRecord, supervisor: Supervisor, quarantine: ObjectStore) -> Delivered:
    name = hashlib.sha256(record.text.encode()).hexdigest()
    body = json.dumps({"problem": record.problem, "record": record.text}).encode()
    quarantine.put_new(f"quarantine/{name}.json", body, purpose="incidents")
    supervisor.telemetry.log("record_quarantined", key=f"quarantine/{name}.json", problem=record.problem)
    supervisor.telemetry.count(Quarantined=1)
    return Delivered(incident_id=None, outcome=f"quarantined: {record.problem}")
