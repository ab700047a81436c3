"""An incident: what an alert says, whichever shape it came in."""

import json
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, NewType

from pydantic import TypeAdapter

from affidavit.evidence.incident_subject import Subject, SubjectKind
from affidavit.ports.notice_record import AlertOrigin

IncidentId = NewType("IncidentId", str)


class Signal(StrEnum):
    """What raised the alert."""

    FAILURE_REPORT = "failure_report"
    ALARM = "alarm"
    INVOCATION_FAILURE = "invocation_failure"
    NODE_EVENT = "node_event"
    """AWS or the cluster tells that something happens to a node."""
    OTHER = "other"


@dataclass(frozen=True, kw_only=True, slots=True)
class LifecycleAction:
    """An Auto Scaling group waits with the end of a node until somebody completes this action."""

    group: str
    hook: str
    token: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Incident:
    """`subject` is what it is about; `resources` are all of that kind that an investigation may look at.

    Everything here but the ids comes from the alert: it tells where to look and is never evidence.
    """

    incident_id: IncidentId
    delivery_id: str
    account: str
    region: str
    subject: Subject
    resources: tuple[str, ...]
    signal: Signal
    signal_name: str
    """The alarm's name, or the error's type."""
    message: str
    occurred_at: datetime
    error_type: str = "unknown"
    metric: str = ""
    """What an alarm measures, when it is one metric."""
    may_join: IncidentId | None = None
    """The incident of the time window before, to which this alert belongs when that one began shortly ago."""
    cluster: str = ""
    """Of a node: as the alert says, and once the node is known, as AWS says."""
    node_name: str = ""
    """What the alert called a node that it did not name by its instance id."""
    lifecycle: LifecycleAction | None = None
    given_index: str = ""
    """Of a bundle that the person who asks gave along, and so vouches for. No alert can set it."""
    origin: AlertOrigin | None = None
    """Whom to answer, when the alert came from a place that takes answers."""


_INCIDENT = TypeAdapter(Incident)


def incident_to_json(incident: Incident) -> str:
    return _INCIDENT.dump_json(incident).decode()


def incident_from_json(raw: str) -> Incident:
    """Incidents stored by earlier versions have no subject: they are about their first resource, a function."""
    shape: dict[str, Any] = json.loads(raw)
    if isinstance(shape, dict) and "subject" not in shape:  # pyright: ignore[reportUnnecessaryIsInstance] any JSON
        first = next(iter(shape.get("resources") or ()), "")
        shape["subject"] = {"kind": SubjectKind.FUNCTION.value, "id": str(first)}
    return _INCIDENT.validate_json(json.dumps(shape))
