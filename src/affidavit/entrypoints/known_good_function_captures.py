"""Settings → captures of known-good states, and the watchdog's round over them."""

from collections import Counter
from datetime import datetime, timedelta

from affidavit.bootstrap import App
from affidavit.evidence.incident_subject import SubjectKind
from affidavit.incidents.store.incident_leases import IncidentStates
from affidavit.incidents.store.state import IncidentState, Status
from affidavit.known_good.capture import Captures, Troubled
from affidavit.known_good.store import KnownGoodStore

INCIDENTS_AT_MOST = 200
LOOKED_BACK = timedelta(days=1)


def build_captures(app: App) -> Captures:
    """Reads the account that the credentials in force belong to. Touches no network."""
    from affidavit.adapters.aws.clients import AwsClients
    from affidavit.adapters.aws.workload.state_inspector import AwsStateInspector

    store = KnownGoodStore(objects=app.objects, table=app.state, clock=app.clock)
    return Captures(store=store, inspector=AwsStateInspector(AwsClients(app.settings.region)))


def keep_known_good(app: App, *, until: datetime) -> dict[str, int]:
    """One round over the functions of KNOWN_GOOD_FUNCTIONS; how many ended how."""
    names = app.settings.known_good
    if not names:
        return {}
    rounds = build_captures(app).watch(names, troubled=troubled_functions(app), until=until)
    return dict(Counter(rounds.values()))


def troubled_functions(app: App) -> Troubled:
    """Whether a function has an incident of the last day that was not repaired. Incidents are read once."""
    states = IncidentStates(
        app.incident_state, app.clock, keep=timedelta(days=app.settings.incident_ttl_days), tells_people=False
    )
    since = app.clock.now() - LOOKED_BACK
    days = (since, app.clock.now())
    listed = [state for day in days for state in states.listed(day, limit=INCIDENTS_AT_MOST)]
    troubled = {state.incident.subject.id for state in listed if _is_trouble(state, since)}
    return lambda name: name in troubled


def _is_trouble(state: IncidentState, since: datetime) -> bool:
    is_function = state.incident.subject.kind is SubjectKind.FUNCTION
    return is_function and state.status is not Status.REMEDIATED and state.updated_at >= since
