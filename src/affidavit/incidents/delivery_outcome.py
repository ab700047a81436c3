"""The outcome of a delivered alert: its incident ran, waits, was stored, or was already handled."""

from dataclasses import dataclass
from enum import StrEnum

from affidavit.incidents.incident import IncidentId


class Handled(StrEnum):
    RAN = "ran"
    SKIPPED = "already handled"
    DEFERRED = "deferred"
    LOST = "taken over"
    AWAITING = "awaiting evidence"
    STORED = "stored"
    """It was opened, and somebody else runs it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Receipt:
    """`incident_id` is the incident that the alert belongs to, which an earlier alert may have opened."""

    incident_id: IncidentId
    handled: Handled
