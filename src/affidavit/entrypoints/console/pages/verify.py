"""`/verify`: hand in an export, an affidavit.zip or an index, and see for each claim whether it holds."""

import json
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from typing import IO, Any, Final

from starlette.datastructures import UploadFile
from starlette.responses import Response

from affidavit.entrypoints.console.guarded_page_requests import Section, Visit
from affidavit.entrypoints.console.pages.affidavit_zip import CASSETTE
from affidavit.entrypoints.report.content import place
from affidavit.errors import InputRefused
from affidavit.evidence.citation_check import ByteSource
from affidavit.incidents.attempt.incident_for_verification import about_incident
from affidavit.incidents.export.cassette import Cassette, cassette_from_json
from affidavit.incidents.export.cited_lines import CitedLines
from affidavit.index.findings_index import FindingsIndex, index_from_json
from affidavit.index.redacted import check_redacted
from affidavit.verification.assess import assess

UPLOAD_BYTES: Final = 64 << 20
_ROWS: Final = 500


@dataclass(frozen=True, kw_only=True)
class HandedInClaim:
    name: str
    says: str
    place: str
    problems: tuple[str, ...]

    @property
    def holds(self) -> bool:
        return not self.problems


@dataclass(frozen=True, kw_only=True)
class HandedInVerdict:
    """`problems` are about the whole; `left_out` counts claims that hold and are not listed."""

    what: str
    claims: tuple[HandedInClaim, ...]
    total: int
    problems: tuple[str, ...] = ()

    @property
    def fallen(self) -> int:
        return sum(1 for claim in self.claims if not claim.holds)

    @property
    def holds(self) -> bool:
        return not self.fallen and not self.problems


def verify_form(visit: Visit) -> Response:
    return visit.page("verify.html", title="Verify", section=Section.VERIFY, verdict=None)


def verify_upload(visit: Visit) -> Response:
    given = visit.form.get("file")
    if not isinstance(given, UploadFile) or not given.size:
        raise InputRefused("no file was given", hint="choose an export, an affidavit.zip or a findings_index.json")
    verdict = _judged(given.file, visit)
    visit.note("verified a file", f"{given.filename}: {'holds' if verdict.holds else 'does not hold'}")
    return visit.page("verify.html", title="Verify", section=Section.VERIFY, verdict=verdict)


def _judged(file: IO[bytes], visit: Visit) -> HandedInVerdict:
    told = _document(file)
    shape = _parsed(told)
    if "cassette" in shape:
        return _of_export(cassette_from_json(told.decode("utf-8"), name="the file"))
    return _of_index(index_from_json(told, name="the file"), visit.desk.rereading.source)


def _document(file: IO[bytes]) -> bytes:
    """The file itself, or the export in a zip; of a zip that unpacks to more than it may, nothing."""
    if not zipfile.is_zipfile(file):
        file.seek(0)
        return file.read()
    with zipfile.ZipFile(file) as archive:
        if CASSETTE not in archive.namelist():
            raise InputRefused(f"the zip holds no {CASSETTE}", hint="give the affidavit.zip of an incident")
        with archive.open(CASSETTE) as member:
            told = member.read(UPLOAD_BYTES + 1)
    if len(told) > UPLOAD_BYTES:
        raise InputRefused(f"{CASSETTE} unpacks to more than {UPLOAD_BYTES >> 20} MiB", hint="it is no honest export")
    return told


def _parsed(told: bytes) -> Mapping[str, Any]:
    try:
        shape = json.loads(told)
    except (ValueError, RecursionError) as error:
        raise InputRefused("the file is not JSON", hint="give an export, a zip of the console, or an index") from error
    if not isinstance(shape, dict):
        raise InputRefused("the file is no export and no index", hint="give what `affidavit` wrote")
    return shape  # pyright: ignore[reportUnknownVariableType] any JSON


def _of_export(cassette: Cassette) -> HandedInVerdict:
    what = f"the export of incident {cassette.incident.incident_id}"
    if cassette.diagnosis is None:
        return HandedInVerdict(what=what, claims=(), total=0, problems=("it has no diagnosis",))
    source = CitedLines(cassette.lines)
    found = assess(cassette.diagnosis, cassette.entries, source, about_incident(cassette.incident)).verdict
    claims = tuple(
        HandedInClaim(
            name=f"[{one.index}]",
            says=one.pointer.interpretation,
            place=f"{one.pointer.tool} {one.pointer.field}",
            problems=one.problems,
        )
        for one in found.pointers
    )
    return HandedInVerdict(what=what, claims=claims, total=len(claims), problems=found.problems)


def _of_index(index: FindingsIndex, source: ByteSource) -> HandedInVerdict:
    """Against the bundles that are stored here. What fell comes first."""
    claims = [
        HandedInClaim(
            name=finding.finding_id,
            says=finding.pattern,
            place=place(finding),
            problems=check_redacted(finding.evidence, source).problems,
        )
        for finding in index.findings
    ]
    claims.sort(key=lambda claim: claim.holds)
    what = f"the index {index.index_id} of node {index.instance_id}, against the bundles stored here"
    return HandedInVerdict(what=what, claims=tuple(claims[:_ROWS]), total=len(claims))
