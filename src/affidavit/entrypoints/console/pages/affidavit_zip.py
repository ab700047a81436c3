"""`/incidents/{id}/affidavit.zip`: an incident to hand on: report, diagnosis, cited answers and lines, digests."""

import hashlib
import io
import zipfile
from importlib.resources import files

from starlette.responses import Response

from affidavit.entrypoints.console.guarded_page_requests import Visit
from affidavit.entrypoints.console.rendering import render
from affidavit.errors import EvidenceUnavailable
from affidavit.incidents.export.cassette import cassette_to_json, record
from affidavit.incidents.reading.incident_view import hidden_view, view_of

CASSETTE = "incident.json"
_HOW = """An incident of Affidavit, to be checked by anybody.

  report.html    what was found, to read
  incident.json  the diagnosis, every recorded answer it rests on, and the log lines it cites
  SHA256SUMS     digests of both

Check it offline, with one command (no AWS account, no chat model, nothing is stored):

  affidavit incident replay incident.json

It re-reads every value that the diagnosis cites, concludes again from the recorded answers, and compares.
The digests: sha256sum -c SHA256SUMS
"""


def show_zip(visit: Visit) -> Response:
    found = visit.desk.incident(visit.named("id"))
    if found.context is None:
        raise EvidenceUnavailable(
            f"incident {found.state.incident_id} was not investigated yet",
            hint="download it after the investigation",
        )
    reading = visit.desk.rereading
    over = found.state.alerts_over_at
    cassette = record(found.state.incident, found.context, reading.records, reading.source, resolved_at=over)
    told = cassette_to_json(cassette).encode()
    visit.note("took along", found.state.incident_id)
    parts = {"report.html": _report(visit, told), CASSETTE: told}
    sums = "".join(f"{hashlib.sha256(content).hexdigest()}  {name}\n" for name, content in parts.items())
    name = f"affidavit-{found.state.incident_id}.zip"
    return Response(
        _zipped({"README.txt": _HOW.encode(), **parts, "SHA256SUMS": sums.encode()}),
        media_type="application/zip",
        headers={"Content-Disposition": f'attachment; filename="{_plain(name)}"'},
    )


def _report(visit: Visit, told: bytes) -> bytes:
    found = visit.desk.incident(visit.named("id"))
    view = hidden_view(view_of(found.state, found.context), visit.desk.hide)
    values = {
        "title": view.about,
        "view": view,
        "shown": view.conclusion or view.rules_prove,
        "reread": found.reread,
        "now": visit.desk.app.clock.now(),
        "hide": visit.desk.hide,
        "style": files("affidavit.entrypoints.console").joinpath("static", "console.css").read_text("utf-8"),
        "digest": hashlib.sha256(told).hexdigest(),
    }
    return render("taken_along.html", values).encode()


def _zipped(parts: dict[str, bytes]) -> bytes:
    """The same incident gives the same bytes: no time of making is in it."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return made.getvalue()


def _plain(name: str) -> str:
    return "".join(char if char.isascii() and (char.isalnum() or char in "-._") else "_" for char in name)
