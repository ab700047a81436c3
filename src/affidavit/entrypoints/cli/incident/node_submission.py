"""`affidavit incident submit --node`: an incident about a node, with a bundle that is given, stored or collected."""

import time
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from uuid import uuid4

from affidavit.bootstrap import App
from affidavit.entrypoints.node_evidence_wiring import node_evidence
from affidavit.entrypoints.report.terminal_escapes_and_colours import make_console
from affidavit.errors import InputRefused, NotFound
from affidavit.evidence.incident_subject import Subject, SubjectKind
from affidavit.incidents.incident import Incident, IncidentId, Signal
from affidavit.incidents.intake.alert_incident import INSTANCE_ID
from affidavit.incidents.store.state import Status
from affidavit.incidents.supervisor import Supervisor

LOOK_SECONDS = 2.0


def node_incident(node: str, bundle: Path | None, app: App) -> Incident:
    """The same bundle handed in twice is one incident. Raises InputRefused."""
    if INSTANCE_ID.fullmatch(node) is None:
        raise InputRefused(f"{node!a} is no instance id", hint="give the EC2 instance id of the node, such as i-0123…")
    if bundle is None:
        _refuse_without_evidence(node, app)
        return _incident(IncidentId(f"node-{node}-{uuid4().hex[:12]}"), node, app.clock.now(), app)
    index_id, collected_at = _taken_in(node, bundle, app)
    incident_id = IncidentId(f"node-{node}-{index_id[:24]}")
    return replace(_incident(incident_id, node, collected_at or app.clock.now(), app), given_index=index_id)


def _refuse_without_evidence(node: str, app: App) -> None:
    """On a laptop nobody can be asked: an incident would only end without a diagnosis."""
    if app.settings.is_local and not node_evidence(app).bundles(node):
        raise NotFound(
            f"there is no bundle of {node} in {app.settings.data_dir}, and no AWS to collect one from",
            hint="hand one in with --bundle FILE; or set LOGS_BUCKET, ENABLE_COLLECTION and ALLOWED_CLUSTERS",
        )


def wait_for_evidence(incident_id: IncidentId, supervisor: Supervisor, *, minutes: int, no_color: bool) -> None:
    """Until an incident that awaits its evidence was investigated, here or by whoever was faster, or time is over."""
    state, until = supervisor.states.get_state(incident_id), time.monotonic() + minutes * 60
    if state is None or state.status is not Status.AWAITING_EVIDENCE:
        return
    console = make_console(no_color=no_color, to_errors=True)
    console.print(f"{incident_id} waits for the bundle of {state.incident.subject.id}, at most {minutes} minutes here")
    while state is not None and state.status.is_open and time.monotonic() < until:
        time.sleep(LOOK_SECONDS)
        if state.status is Status.AWAITING_EVIDENCE:
            supervisor.wake(state.incident.subject, remaining=timedelta(minutes=minutes))
        state = supervisor.states.get_state(incident_id)


def _incident(incident_id: IncidentId, node: str, at: datetime, app: App) -> Incident:
    return Incident(
        incident_id=incident_id,
        delivery_id="command line",
        account="",
        region=app.settings.region if not app.settings.is_local else "",
        subject=Subject(kind=SubjectKind.NODE, id=node),
        resources=(node,),
        signal=Signal.FAILURE_REPORT,
        signal_name="asked by a person",
        message=f"A person asks what is wrong with node {node}.",
        occurred_at=at,
    )


def _taken_in(node: str, bundle: Path, app: App) -> tuple[str, datetime | None]:
    """The bundle goes into the library like any other. Raises InputRefused when it is another node's."""
    from affidavit.bootstrap import build_library
    from affidavit.investigation import analyze
    from affidavit.nodes.ingest.bundle_intake import ingest

    library = build_library(app)
    marker = ingest(bundle, library, analyze=analyze).marker
    if marker.instance_id != node:
        raise InputRefused(
            f"{bundle} is a bundle of {marker.instance_id}, not of {node}", hint="name the node that the bundle is of"
        )
    return marker.index_id, library.index(marker).clock.collected_at
