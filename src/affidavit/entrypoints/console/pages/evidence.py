"""`/incidents/{id}/evidence/{n}`: a claim on the left; where its value stands on the right, lit."""

from collections.abc import Mapping
from dataclasses import dataclass

from starlette.responses import Response

from affidavit.entrypoints.console.guarded_page_requests import Section, Visit
from affidavit.entrypoints.console.highlighting.cited_json_lines import LitAnswer, lit_answer
from affidavit.entrypoints.console.highlighting.log_window import LogWindow, cited_window
from affidavit.entrypoints.console.services import ReadIncident
from affidavit.errors import AffidavitError, EvidenceUnavailable, NotFound
from affidavit.evidence.diagnosis import Diagnosis, EvidencePointer
from affidavit.evidence.finding import Evidence
from affidavit.incidents.export.cited_lines import quoted_by
from affidavit.incidents.reading.incident_view import hidden_view, view_of
from affidavit.ports.json import JsonValue
from affidavit.redaction.answer import redact_answer
from affidavit.verification.ledger_entry import Entry
from affidavit.verification.pointer_check import verify_pointer


@dataclass(frozen=True, kw_only=True)
class CitedPlace:
    """A log line that the value rests on; `problem` says why it could not be looked at."""

    evidence: Evidence
    window: LogWindow | None = None
    problem: str = ""


@dataclass(frozen=True, kw_only=True)
class CitedAnswer:
    """The recorded answer that a claim points into. What is gone or changed is said instead of shown."""

    entry: Entry | None
    lost: tuple[str, ...]


def show_evidence(visit: Visit) -> Response:
    found, number = visit.desk.incident(visit.named("id")), int(visit.named("n"))
    view = hidden_view(view_of(found.state, found.context), visit.desk.hide)
    shown, diagnosis = view.conclusion or view.rules_prove, _diagnosis(found)
    if shown is None or diagnosis is None or number >= len(shown.claims):
        raise NotFound(f"incident {view.incident_id} has no evidence {number}", hint="its page lists what there is")
    pointer = diagnosis.evidence[number]
    cited = _cited(visit, found, number, pointer)
    return visit.page(
        "evidence.html",
        title=f"Evidence {number} of {view.about}",
        section=Section.INCIDENTS,
        view=view,
        shown=shown,
        claim=shown.claims[number],
        reread=found.reread,
        fallen=found.reread.fallen_at(number) if found.reread is not None else None,
        cited=cited,
        answer=_lit(visit, cited.entry, pointer) if cited.entry is not None else None,
        places=_places(visit, cited.entry, pointer) if cited.entry is not None else [],
    )


def _diagnosis(found: ReadIncident) -> Diagnosis | None:
    context = found.context
    if context is None:
        return None
    return context.diagnosis if found.state.status.has_diagnosis else context.best_so_far


def _cited(visit: Visit, found: ReadIncident, number: int, pointer: EvidencePointer) -> CitedAnswer:
    entries: list[Entry] = []
    lost: list[str] = []
    for key in found.ledger:
        try:
            entries += visit.desk.rereading.records.entries([key])
        except EvidenceUnavailable as error:
            lost.append(str(error))
    shown = verify_pointer(number, pointer, entries, visit.desk.rereading.source).entry_id
    of_tool = [entry for entry in entries if entry.tool == pointer.tool]
    entry = next((one for one in of_tool if one.entry_id == shown), of_tool[-1] if of_tool else None)
    return CitedAnswer(entry=entry, lost=tuple(lost))


def _lit(visit: Visit, entry: Entry, pointer: EvidencePointer) -> LitAnswer:
    asked = visit.asked("from")
    first = int(asked) if asked.isdigit() and len(asked) < 9 else None
    hidden = _hidden({"answer": entry.answer, "quote": pointer.value}, visit)
    return lit_answer(hidden["answer"], pointer.field, hidden["quote"], first=first)


def _hidden(value: Mapping[str, JsonValue], visit: Visit) -> Mapping[str, JsonValue]:
    return redact_answer(value, visit.desk.redactor)[0]


def _places(visit: Visit, entry: Entry, pointer: EvidencePointer) -> list[CitedPlace]:
    return [_place(visit, evidence) for evidence in quoted_by(pointer, entry)]


def _place(visit: Visit, evidence: Evidence) -> CitedPlace:
    if evidence.byte_offset is None:
        return CitedPlace(evidence=evidence, problem="the index tells no byte range of this line")
    try:
        window = cited_window(visit.desk.library, evidence.full_key, evidence.byte_offset)
    except AffidavitError as error:
        return CitedPlace(evidence=evidence, problem=str(error))
    return CitedPlace(evidence=evidence, window=window)
