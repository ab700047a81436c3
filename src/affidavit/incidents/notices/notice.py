"""Writes the notice of how an incident ended: cause, why to believe it, what to do, what is not known.

Plain text, because a topic may end in a mail, a chat or a phone. What a stranger or a chat model wrote stands on one
line each, so that no log line can pose as part of the plan.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from affidavit.evidence.diagnosis import Diagnosis, EvidencePointer, RemediationStep
from affidavit.incidents.store.context import IncidentContext
from affidavit.incidents.store.state import IncidentState

QUOTE_CHARACTERS = 400


@dataclass(frozen=True, kw_only=True, slots=True)
class Notice:
    """`key` is the same for the same end of the same incident."""

    subject: str
    message: str
    key: str


def notice_of(state: IncidentState, context: IncidentContext | None) -> Notice:
    diagnosis = context.diagnosis if context is not None and state.status.has_diagnosis else None
    cause = diagnosis.root_cause if diagnosis is not None else f"No diagnosis: {state.error_reason or state.status}"
    about = state.incident.subject.id or state.incident.incident_id
    return Notice(
        subject=_redacted(_line(f"[{state.status}] {about}: {cause}")),
        message=_redacted("\n".join(_message(state, context, diagnosis, cause))),
        key=f"{state.incident.incident_id}#{state.epoch}",
    )


def _message(
    state: IncidentState, context: IncidentContext | None, diagnosis: Diagnosis | None, cause: str
) -> Iterator[str]:
    incident = state.incident
    yield _line(cause)
    yield ""
    yield _line(f"Incident {incident.incident_id}, {state.status}, attempt {state.attempts}")
    yield _line(f"About {', '.join(incident.resources) or 'nothing that the alert names'}")
    yield _line(f"Since {incident.occurred_at:%Y-%m-%d %H:%M} UTC, account {incident.account}, {incident.region}")
    yield from _how_to_go_on(state, diagnosis)
    if diagnosis is not None:
        yield from _diagnosis(diagnosis)
    elif context is not None and context.best_so_far is not None:
        yield from ("", "WHAT RULES ALONE CAN PROVE", _line(context.best_so_far.root_cause))
        yield from _diagnosis(context.best_so_far)
    if diagnosis is None and context is not None:
        yield from _listed("NOT KNOWN", context.gaps)


def _how_to_go_on(state: IncidentState, diagnosis: Diagnosis | None) -> Iterator[str]:
    incident_id = state.incident.incident_id
    if diagnosis is not None:
        yield f"Prove it again: affidavit verify {incident_id}"
    else:
        yield f"Nothing more happens by itself. Run it again: affidavit incident redrive {incident_id}"
    yield f"All of it: affidavit incident show {incident_id}"
    yield f"After a crash a notice can come twice: this one is {incident_id}#{state.epoch}."


def _diagnosis(diagnosis: Diagnosis) -> Iterator[str]:
    kinds = ", ".join(diagnosis.fault_types) or "no fault"
    confidence = diagnosis.confidence
    grade = f"{diagnosis.grade}, " if diagnosis.grade is not None else ""
    yield _line(f"{diagnosis.severity}, {kinds}, {grade}confidence {confidence.level} ({confidence.basis})")
    yield from _listed("OPEN: the conclusion needs this, and nothing shows it", diagnosis.open_obligations)
    yield from ("", "EVIDENCE, each re-read from what the tool answered")
    for index, pointer in enumerate(diagnosis.evidence):
        yield from _pointer(index, pointer)
    if diagnosis.remediation_plan:
        yield from ("", "PLAN")
    for number, step in enumerate(diagnosis.remediation_plan, start=1):
        yield from _step(number, step)
    gaps = confidence.gaps or diagnosis.gaps
    yield from _listed("NOT KNOWN", [gap for gap in gaps if gap not in diagnosis.open_obligations])


def _pointer(index: int, pointer: EvidencePointer) -> Iterator[str]:
    value = pointer.value if isinstance(pointer.value, str) else json.dumps(pointer.value)
    cut = len(value) - QUOTE_CHARACTERS
    rest = f" … and {cut} characters more" if cut > 0 else ""
    yield _line(f"[{index}] {pointer.interpretation}")
    yield f'    "{_line(value[:QUOTE_CHARACTERS])}"{rest}'
    yield _line(f"    {pointer.tool} {pointer.field}")


def _step(number: int, step: RemediationStep) -> Iterator[str]:
    basis = ", ".join(f"[{index}]" for index in step.evidence_basis)
    approval = (", needs approval" if step.requires_approval else "") + (", advice" if step.is_advice else "")
    yield _line(f"{number}. {step.action} (because of {basis}; risk {step.risk_level}{approval})")
    yield _line(f"   {step.details}")


def _listed(title: str, entries: Sequence[str]) -> Iterator[str]:
    if entries:
        yield from ("", title, *(_line(f"- {entry}") for entry in entries))


def _line(text: str) -> str:
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def _redacted(text: str) -> str:
    # Its patterns take a while to load, and a duplicate delivery has nothing to tell.
    from affidavit.redaction.redact import Redactor

    return Redactor().redact(text).text
