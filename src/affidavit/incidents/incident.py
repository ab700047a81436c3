"""An incident: what an alert means, whichever shape it came in."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import NewType

from pydantic import TypeAdapter

IncidentId = NewType("IncidentId", str)


class Signal(StrEnum):
    """What raised the alert."""

    FAILURE_REPORT = "failure_report"
    ALARM = "alarm"
    INVOCATION_FAILURE = "invocation_failure"
    OTHER = "other"


@dataclass(frozen=True, kw_only=True, slots=True)
class Incident:
    """`resources` are what an investigation may look at, functions first, and nothing else.

    Everything here but the ids comes from the alert: it tells where to look and is never evidence.
    """

    incident_id: IncidentId
    delivery_id: str
    account: str
    region: str
    resources: tuple[str, ...]
    signal: Signal
    signal_name: str
    """The alarm's name, or the error's type."""
    message: str
    occurred_at: datetime
    error_type: str = "unknown"
    may_join: IncidentId | None = None
    """The incident of the time window before, to which this alert belongs when that one began shortly ago."""

    @property
    def function(self) -> str:
        """The function the alert is about; empty when it names none."""
        return self.resources[0] if self.resources else ""


_INCIDENT = TypeAdapter(Incident)


def incident_to_json(incident: Incident) -> str:
    return _INCIDENT.dump_json(incident).decode()


def incident_from_json(raw: str) -> Incident:
    return _INCIDENT.validate_json(raw)
