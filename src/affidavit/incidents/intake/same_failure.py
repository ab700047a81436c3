"""Decides whether an alert is about the failure that an earlier incident of the same subject is about.

A failing function reports itself, its alarm follows a minute or two later, Lambda retries and reports again: that is
one failure. An alarm that fires anew is another one.
"""

from collections.abc import Callable, Collection
from datetime import timedelta

from affidavit.evidence.diagnosis import FaultType
from affidavit.evidence.incident_subject import SubjectKind
from affidavit.incidents.incident import Incident, Signal
from affidavit.incidents.intake.incident_id import WINDOW
from affidavit.incidents.store.joined_alerts import AlarmEpisode
from affidavit.incidents.store.state import IncidentState

THROTTLES = "Throttles"


def is_same_failure(
    alert: Incident, earlier: IncidentState, episode: AlarmEpisode, fault_types: Callable[[], Collection[FaultType]]
) -> bool:
    """`earlier` is the incident of the episode; `fault_types` are those of its diagnosis, asked for when it has one."""
    if abs(alert.occurred_at - earlier.incident.occurred_at) >= WINDOW or not _belong_together(alert, earlier.incident):
        return False
    is_going_on = earlier.status.is_open or earlier.next_attempt_at is not None
    if alert.signal is Signal.ALARM and episode.has_fired(alert):
        # It left the state ALARM in between. While nobody has concluded anything, that is only flapping.
        return is_going_on and not episode.was_ok(alert)
    if alert.signal is Signal.ALARM and episode.fired and earlier.status.has_diagnosis:
        return False  # the failure had its alarm; one that fires after the diagnosis is news
    if _is_named(alert) and alert.occurred_at > earlier.incident.occurred_at:
        # A run that failed after the alarm: whoever investigates the alarm may have read the log before it failed.
        return False
    return not earlier.status.has_diagnosis or explains(fault_types(), alert)


def is_retry(alert: Incident, earlier: IncidentState) -> bool:
    """Whether an alert just past the border of a time window repeats the one that opened the window before."""
    return timedelta() <= alert.occurred_at - earlier.incident.occurred_at < WINDOW


def explains(fault_types: Collection[FaultType], alert: Incident) -> bool:
    """A function that may not run is throttled; one that fails has some other fault. A node is looked at as a whole."""
    if alert.subject.kind is SubjectKind.NODE:
        return True
    if alert.metric == THROTTLES:
        return FaultType.THROTTLING in fault_types
    return bool(set(fault_types) - {FaultType.THROTTLING})


def _is_named(alert: Incident) -> bool:
    """Whether the report chose the incident's id: others could belong to the time window before theirs."""
    return alert.signal is Signal.FAILURE_REPORT and alert.may_join is None


def _belong_together(alert: Incident, earlier: Incident) -> bool:
    """An alarm counts failures of any kind. Two reports are of one failure when they tell of the same error.

    What is told of a node within minutes, by whomever, is one thing that happens to it.
    """
    if alert.subject.kind is SubjectKind.NODE or Signal.ALARM in (alert.signal, earlier.signal):
        return True
    return alert.signal is not earlier.signal and alert.error_type == earlier.error_type
