"""Every few minutes: incidents whose worker died, and those whose next attempt is due."""

from dataclasses import asdict, dataclass
from datetime import datetime, timedelta

from affidavit.errors import AffidavitError
from affidavit.incidents.state import Due, State
from affidavit.incidents.supervisor import Handled, Supervisor

# Not worth starting with less: it would die before it could finish.
LEAST_TIME = timedelta(minutes=2)


@dataclass(frozen=True, kw_only=True, slots=True)
class Tick:
    """What one round did. `left` were due but there was no time; the next round has them.

    `told` are notices that whoever ended the incident did not get out.
    """

    closed: int = 0
    driven: int = 0
    deferred: int = 0
    failed: int = 0
    left: int = 0
    told: int = 0


def tick(supervisor: Supervisor, *, until: datetime) -> Tick:
    """Close what is dead, run what is due, and be done by `until`. Conditions decide; the index only suggests."""
    stale = _due(supervisor, Due.LEASE)
    dead = [state for state in stale if not state.has_attempts_left]
    closed = sum(_close(supervisor, state) for state in dead)
    # Before the long part: telling takes moments.
    told = sum(supervisor.people.tell(state.incident.incident_id) for state in _due(supervisor, Due.NOTICE))
    due = [state for state in stale if state.has_attempts_left] + _due(supervisor, Due.RETRY)
    outcomes = [_drive(supervisor, state, until) for state in due]
    done = Tick(
        closed=closed,
        driven=outcomes.count(Handled.RAN),
        deferred=outcomes.count(Handled.DEFERRED),
        failed=outcomes.count("failed"),
        left=outcomes.count("left"),
        told=told,
    )
    supervisor.telemetry.log("watchdog", **asdict(done))
    supervisor.telemetry.count(WatchdogClosed=closed, WatchdogLeft=done.left, WatchdogFailed=done.failed)
    return done


def _due(supervisor: Supervisor, why: Due) -> list[State]:
    def unreadable(key: str, error: Exception) -> None:
        supervisor.telemetry.log("unreadable_incident", key=key, message=f"{type(error).__name__}: {error}"[:500])
        supervisor.telemetry.count(WatchdogFailed=1)

    return supervisor.states.due(why, unreadable=unreadable)


def _close(supervisor: Supervisor, state: State) -> int:
    incident_id = state.incident.incident_id
    is_closed = not state.is_leased(supervisor.clock.now()) and supervisor.give_up(state)
    supervisor.telemetry.log("stale_incident", incident_id=incident_id, epoch=state.epoch, closed=is_closed)
    return int(is_closed)


def _drive(supervisor: Supervisor, state: State, until: datetime) -> str:
    remaining = until - supervisor.clock.now()
    if remaining < LEAST_TIME:
        return "left"
    if state.is_deferred and supervisor.breaker.room_at() > supervisor.clock.now():
        return Handled.DEFERRED  # still no room: its facts were gathered when it was deferred
    try:
        return supervisor.resume(state.incident.incident_id, remaining=remaining)
    except AffidavitError as error:
        # It is stored with the incident; the next one must still have its turn.
        supervisor.telemetry.log("redrive_failed", incident_id=state.incident.incident_id, message=str(error))
        return "failed"
