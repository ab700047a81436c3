"""Closes incidents whose workers died, runs those that are due, looks again at alarms that stayed in ALARM."""

from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from affidavit.errors import AffidavitError
from affidavit.incidents.delivery_outcome import Handled
from affidavit.incidents.second_fault_during_alarm import look_again
from affidavit.incidents.store.state import Due, IncidentState
from affidavit.incidents.supervisor import Supervisor

# Not worth starting with less: it would die before it could finish.
LEAST_TIME = timedelta(minutes=2)


@dataclass(frozen=True, kw_only=True, slots=True)
class Tick:
    """What one round did. `left` were due but there was no time; the next round has them.

    `awaiting` were looked at and still wait for the evidence of a node. `let_go` are nodes whose end
    a group waited with. `told` are notices that whoever ended the
    incident did not get out; `opened` are faults behind an alarm that never went back to OK.
    """

    closed: int = 0
    driven: int = 0
    awaiting: int = 0
    deferred: int = 0
    failed: int = 0
    left: int = 0
    told: int = 0
    let_go: int = 0
    opened: int = 0


class NotDriven(StrEnum):
    FAILED = "failed"
    LEFT = "left"


def tick(supervisor: Supervisor, *, until: datetime) -> Tick:
    """Close what is dead, run what is due, and be done by `until`. Conditions decide; the index only suggests."""
    stale = _due(supervisor, Due.LEASE)
    dead = [state for state in stale if not state.has_attempts_left]
    closed = sum(_close(supervisor, state) for state in dead)
    # Before the long part: these take moments, and a group waits.
    let_go = supervisor.held.tick() if supervisor.held is not None else 0
    told = sum(supervisor.people.tell(state.incident.incident_id) for state in _due(supervisor, Due.NOTICE))
    due = [state for state in stale if state.has_attempts_left]
    due += [*_due(supervisor, Due.EVIDENCE), *_due(supervisor, Due.RETRY)]
    outcomes = [_drive(supervisor, state, until) for state in due]
    done = Tick(
        closed=closed,
        driven=outcomes.count(Handled.RAN),
        awaiting=outcomes.count(Handled.AWAITING),
        deferred=outcomes.count(Handled.DEFERRED),
        failed=outcomes.count(NotDriven.FAILED),
        left=outcomes.count(NotDriven.LEFT),
        told=told,
        let_go=let_go,
        opened=look_again(supervisor, until=until),
    )
    supervisor.telemetry.log("watchdog", **asdict(done))
    supervisor.telemetry.count(WatchdogClosed=closed, WatchdogLeft=done.left, WatchdogFailed=done.failed)
    return done


def _due(supervisor: Supervisor, why: Due) -> list[IncidentState]:
    def unreadable(key: str, error: Exception) -> None:
        supervisor.telemetry.log("unreadable_incident", key=key, message=f"{type(error).__name__}: {error}"[:500])
        supervisor.telemetry.count(WatchdogFailed=1)

    return supervisor.states.due(why, unreadable=unreadable)


def _close(supervisor: Supervisor, state: IncidentState) -> int:
    incident_id = state.incident.incident_id
    is_closed = not state.is_leased(supervisor.clock.now()) and supervisor.give_up(state)
    supervisor.telemetry.log("stale_incident", incident_id=incident_id, epoch=state.epoch, closed=is_closed)
    return int(is_closed)


def _drive(supervisor: Supervisor, state: IncidentState, until: datetime) -> Handled | NotDriven:
    remaining = until - supervisor.clock.now()
    if remaining < LEAST_TIME:
        return NotDriven.LEFT
    if state.is_deferred and supervisor.breaker.room_at() > supervisor.clock.now():
        return Handled.DEFERRED  # still no room: its facts were gathered when it was deferred
    try:
        return supervisor.resume(state.incident.incident_id, remaining=remaining)
    except AffidavitError as error:
        # It is stored with the incident; the next one must still have its turn.
        supervisor.telemetry.log("redrive_failed", incident_id=state.incident.incident_id, message=str(error))
        return NotDriven.FAILED
