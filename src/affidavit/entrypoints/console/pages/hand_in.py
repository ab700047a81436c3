"""`/hand-in`: takes an alert or a bundle by form or drag and drop, and handles it like any other."""

import json
import tempfile
import threading
import time
from datetime import timedelta
from http import HTTPStatus
from pathlib import Path, PurePosixPath
from shutil import copyfileobj
from typing import TYPE_CHECKING, Any, Final, assert_never
from urllib.parse import quote

from starlette.datastructures import UploadFile
from starlette.responses import RedirectResponse, Response

from affidavit.entrypoints.console.guarded_page_requests import Section, Visit
from affidavit.errors import AffidavitError, InputRefused
from affidavit.incidents.incident import Incident, IncidentId
from affidavit.incidents.intake.alert_incident import NotAFault
from affidavit.incidents.intake.event_reader import AlertReading, BadRecord, BundleNews, read_alert, readings_of

if TYPE_CHECKING:
    from affidavit.nodes.library.indexed_bundles import IndexMarker

_MINUTES: Final = timedelta(minutes=5)
_ALERT_BYTES: Final = 1 << 20
_MOMENT_SECONDS: Final = 3.0


def hand_in_form(visit: Visit) -> Response:
    return visit.page(
        "hand_in.html",
        title="Hand in",
        section=Section.INCIDENTS,
        most=visit.desk.app.settings.max_upload_mib,
        is_open=visit.desk.is_long_lived,
    )


def hand_in(visit: Visit) -> Response:
    given = visit.form.get("file")
    if not isinstance(given, UploadFile) or not given.size:
        raise InputRefused("no file was given", hint="choose an alert (JSON) or a log bundle")
    if not visit.desk.is_long_lived:
        raise InputRefused(
            "this console accepts no alerts or bundles", hint="send alerts to the topic, bundles to the bucket"
        )
    name = PurePosixPath((given.filename or "").replace("\\", "/")).name or "bundle"
    if name.endswith(".json"):
        return _alert(visit, given)
    return _bundle(visit, given, name)


def _alert(visit: Visit, given: UploadFile) -> Response:
    told = given.file.read(_ALERT_BYTES + 1)
    if len(told) > _ALERT_BYTES:
        raise InputRefused("an alert has at most 1 MiB", hint="is it a bundle? Then its name must not end in .json")
    try:
        event: Any = json.loads(told)
    except (ValueError, RecursionError) as error:
        raise InputRefused("the alert is not JSON", hint="give it as its sender wrote it") from error
    incidents = [_fault(reading) for reading in _readings(event, visit)]
    for incident in incidents:
        visit.note("handed in an alert", incident.incident_id)
        threading.Thread(target=_receive, args=(visit, incident), daemon=True).start()
    is_there = len(incidents) == 1 and _is_taken(visit, incidents[0].incident_id)
    where = f"/incidents/{quote(incidents[0].incident_id)}" if is_there else "/"
    return RedirectResponse(where, HTTPStatus.SEE_OTHER)


def _is_taken(visit: Visit, incident_id: IncidentId) -> bool:
    """Waits a moment for the incident to be stored. An alert that joins another incident never gets its own."""
    until = time.monotonic() + _MOMENT_SECONDS
    while visit.desk.rereading.states.get_state(incident_id) is None:
        if time.monotonic() > until:
            return False
        time.sleep(0.05)
    return True


def _readings(event: Any, visit: Visit) -> list[AlertReading]:
    now = visit.desk.app.clock.now()
    if isinstance(event, dict) and "Records" in event:
        return readings_of(event, now=now)  # pyright: ignore[reportUnknownArgumentType] any JSON object
    return [read_alert(event, now=now)]


def _fault(reading: AlertReading) -> Incident:
    match reading:
        case BadRecord():
            raise InputRefused(f"the alert cannot be read: {reading.problem}", hint="give it as its sender wrote it")
        case NotAFault():
            raise InputRefused(f"this reports no fault: {reading.why}", hint="only an alarm that fired is an incident")
        case BundleNews():
            raise InputRefused("this is news of a bundle and no alert", hint="give an alert, or a bundle")
        case Incident():
            return reading
        case _:
            assert_never(reading)


def _receive(visit: Visit, incident: Incident) -> None:
    from affidavit.entrypoints.supervisor_wiring import build_supervisor
    from affidavit.incidents.telemetry import to_nowhere

    try:
        build_supervisor(visit.desk.app, emit=to_nowhere).receive(incident, remaining=_MINUTES)
    except AffidavitError as error:
        visit.note("alert refused", f"{IncidentId(incident.incident_id)}: {error}")


def _bundle(visit: Visit, given: UploadFile, name: str) -> Response:
    from affidavit.investigation import analyze
    from affidavit.nodes.ingest.bundle_intake import ingest

    with tempfile.TemporaryDirectory(prefix="affidavit-hand-in-") as folder:
        path = Path(folder) / name
        with path.open("wb") as out:
            copyfileobj(given.file, out)
        marker = ingest(path, visit.desk.library, analyze=analyze).marker
    _among_the_fleet(visit, marker)
    visit.note("handed in a bundle", f"{marker.instance_id} {marker.index_id}")
    return RedirectResponse(f"/nodes/{quote(marker.instance_id)}/{quote(marker.index_id)}", HTTPStatus.SEE_OTHER)


def _among_the_fleet(visit: Visit, marker: "IndexMarker") -> None:
    """So that questions over many nodes know of it, as after an upload. Without DuckDB there are no such questions."""
    from affidavit.fleet.publish import publish

    try:
        if not marker.is_unproven:
            publish(visit.desk.library, marker)
    except AffidavitError as error:
        visit.note("not among the fleet", f"{marker.index_id}: {error}")
