"""Handles every record of one event, quarantines a bad one, and raises the first failure at the end."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from affidavit.evidence.incident_subject import Subject, SubjectKind
from affidavit.incidents.incident import IncidentId, incident_to_json
from affidavit.incidents.intake.alert_incident import NotAFault
from affidavit.incidents.intake.event_reader import AlertReading, BadRecord, BundleNews, readings_of
from affidavit.incidents.intake.node_gate import NoNodeOfOurs
from affidavit.incidents.intake.other_account_alerts import ForeignAlert
from affidavit.incidents.supervisor import Supervisor
from affidavit.ports.object_store import ObjectStore


@dataclass(frozen=True, kw_only=True, slots=True)
class Delivered:
    incident_id: IncidentId | None
    outcome: str


def deliver(
    event: Mapping[str, Any], supervisor: Supervisor, quarantine: ObjectStore, *, remaining: timedelta
) -> list[Delivered]:
    """Raises the first failure after all records had their turn, so that the event source tries again."""
    readings = readings_of(event, now=supervisor.clock.now())
    return deliver_readings(readings, supervisor, quarantine, remaining=remaining)


def deliver_readings(
    readings: Sequence[AlertReading], supervisor: Supervisor, quarantine: ObjectStore, *, remaining: timedelta
) -> list[Delivered]:
    """What became of each. Raises the first failure after all had their turn."""
    until = supervisor.clock.now() + remaining
    done: list[Delivered] = []
    failures: list[Exception] = []
    for notice in readings:
        try:
            done.append(_handle(notice, supervisor, quarantine, until - supervisor.clock.now()))
        except Exception as error:  # noqa: BLE001 raised below; one record must not cost the others
            failures.append(error)
    if failures:
        raise failures[0]
    return done


def _handle(notice: AlertReading, supervisor: Supervisor, quarantine: ObjectStore, remaining: timedelta) -> Delivered:
    if isinstance(notice, BadRecord):
        return _put_aside(notice, supervisor, quarantine)
    if isinstance(notice, NotAFault):
        supervisor.telemetry.log("not_a_fault", delivery_id=notice.delivery_id, why=notice.why)
        if notice.ok_again is not None:
            supervisor.note_ok(notice.ok_again)
        return Delivered(incident_id=None, outcome=notice.why)
    if isinstance(notice, BundleNews):
        return _wake(notice, supervisor, remaining)
    try:
        receipt = supervisor.receive(notice, remaining=remaining)
    except ForeignAlert as error:
        return _put_aside(BadRecord(text=incident_to_json(notice), problem=str(error)), supervisor, quarantine)
    except NoNodeOfOurs as error:
        supervisor.telemetry.log("not_a_fault", delivery_id=notice.delivery_id, why=str(error))
        return Delivered(incident_id=None, outcome=str(error))
    return Delivered(incident_id=receipt.incident_id, outcome=receipt.handled)


def _wake(news: BundleNews, supervisor: Supervisor, remaining: timedelta) -> Delivered:
    woken = supervisor.wake(Subject(kind=SubjectKind.NODE, id=news.instance_id), remaining=remaining)
    told = ", ".join(f"{one.incident_id} {one.handled}" for one in woken)
    return Delivered(
        incident_id=woken[0].incident_id if woken else None, outcome=told or f"nothing waits for {news.instance_id}"
    )


def _put_aside(record: BadRecord, supervisor: Supervisor, quarantine: ObjectStore) -> Delivered:
    # Its patterns take a while to load, and a duplicate needs none.
    from affidavit.redaction.redact import Redactor

    name = hashlib.sha256(record.text.encode()).hexdigest()
    problem, text = (Redactor().redact(one).text for one in (record.problem, record.text))
    body = json.dumps({"problem": problem, "record": text}).encode()
    quarantine.put_new(f"quarantine/{name}.json", body, purpose="incidents")
    supervisor.telemetry.log("record_quarantined", key=f"quarantine/{name}.json", problem=problem)
    supervisor.telemetry.count(Quarantined=1)
    return Delivered(incident_id=None, outcome=f"quarantined: {problem}")
