"""Looks again at a function whose alarm fired and did not go back to OK.

An alarm tells only that it goes to ALARM. While it stays there, a second fault (a function that is now blocked, say)
raises no alert at all. So the watchdog asks the tools again and lets rules conclude, which costs no chat call. What
they find besides the known fault becomes an incident of its own.
"""

from dataclasses import replace
from datetime import datetime, timedelta

from affidavit.errors import AffidavitError
from affidavit.evidence.diagnosis import Diagnosis
from affidavit.incidents.attempt.answer_ledger import Ledger
from affidavit.incidents.attempt.evidence_without_chat_model import Degraded, gather_context
from affidavit.incidents.incident import Incident
from affidavit.incidents.intake.incident_id import derived_identity
from affidavit.incidents.store.joined_alerts import AlarmEpisode
from affidavit.incidents.store.state import IncidentState
from affidavit.incidents.supervisor import Supervisor

MOST_LOOKS = 10
# Not worth starting with less: what is found is investigated at once.
LEAST_TIME = timedelta(minutes=2)


def look_again(supervisor: Supervisor, *, until: datetime) -> int:
    """How many incidents were opened because an alarm that never went back to OK hides another fault."""
    opened = 0
    for episode in supervisor.states.episodes.watched(limit=MOST_LOOKS):
        if until - supervisor.clock.now() < LEAST_TIME:
            break
        try:
            opened += _look(supervisor, episode, until)
        except AffidavitError as error:
            # The next one must still have its turn; this one is looked at in the next round.
            supervisor.telemetry.log("look_failed", incident_id=episode.incident_id, message=str(error))
    return opened


def _look(supervisor: Supervisor, episode: AlarmEpisode, until: datetime) -> bool:
    episodes, state = supervisor.states.episodes, supervisor.states.get_state(episode.incident_id)
    if state is None or supervisor.degraded is None:
        episodes.unwatch(episode)
        return False
    if state.status.is_open or state.next_attempt_at is not None:
        episodes.watch_on(episode)
        return False
    degraded = supervisor.degraded(state.incident)
    found = _concluded(degraded, until - supervisor.clock.now())
    if found is not None and not found.fault_types:
        episodes.unwatch(episode)  # it went well since: the alarm was OK, and nobody told
        return False
    if found is None or not _is_news(found, supervisor, state, degraded):
        episodes.watch_on(episode)
        return False
    return _opened(supervisor, _incident(state.incident, found, supervisor.clock.now()), episode, until)


def _concluded(degraded: Degraded, remaining: timedelta) -> Diagnosis | None:
    ledger = Ledger()
    gather_context(degraded, ledger, time_left=lambda: remaining)
    return degraded.conclude(ledger.entries)


def _is_news(found: Diagnosis, supervisor: Supervisor, state: IncidentState, degraded: Degraded) -> bool:
    """Whether rules find now what they did not find in the answers that the incident recorded."""
    context = supervisor.contexts.get_context(state.incident_id)
    if context is None:
        return True
    told = context.diagnosis.fault_types if context.diagnosis is not None else ()
    before = degraded.conclude(supervisor.records.entries(context.ledger))
    if before is None:
        return not set(found.fault_types) <= set(told)
    return not degraded.signature(found) <= degraded.signature(before)


def _incident(earlier: Incident, found: Diagnosis, now: datetime) -> Incident:
    """The same conclusion about the same earlier incident is the same incident, whoever looks."""
    name = derived_identity(
        account=earlier.account,
        region=earlier.region,
        function=earlier.incident_id,
        signal=",".join(sorted(found.fault_types)),
        at=earlier.occurred_at,
    )
    message = (
        f"The alarm never went back to OK since {earlier.occurred_at:%H:%M} UTC. Rules find now: {found.root_cause}"
    )
    return replace(earlier, incident_id=name, may_join=None, occurred_at=now, message=message[:4000])


def _opened(supervisor: Supervisor, incident: Incident, episode: AlarmEpisode, until: datetime) -> bool:
    lease = supervisor.states.open(incident, episode, deadline=until, is_last=False)
    if lease is None:
        supervisor.states.episodes.watch_on(episode)
        return False
    supervisor.telemetry.log("still_alarming", incident_id=incident.incident_id, earlier=episode.incident_id)
    supervisor.run(lease)
    return True
