"""Makes the notice of how an incident ended: cause, why to believe it, what to do, what is not known.

What a stranger or a chat model wrote stands on one line each, so that no log line can pose as part of the plan.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import quote

from affidavit.evidence.diagnosis import Diagnosis, EvidencePointer, RemediationStep
from affidavit.incidents.store.context import IncidentContext
from affidavit.incidents.store.state import IncidentState
from affidavit.ports.notice import Notice, NoticeQuote, NoticeStep

QUOTE_CHARACTERS = 400


@dataclass(frozen=True, kw_only=True, slots=True)
class NoticeStyle:
    """`console_url` is where the console is served; empty: a notice has no link."""

    console_url: str = ""
    hides_personal: bool = False


PLAIN = NoticeStyle()


def notice_of(state: IncidentState, context: IncidentContext | None, style: NoticeStyle = PLAIN) -> Notice:
    diagnosis = context.diagnosis if context is not None and state.status.has_diagnosis else None
    return _Writer(style).notice(state, context, diagnosis)


class _Writer:
    """Redacts each text before it is cut: half a secret is no longer recognised."""

    def __init__(self, style: NoticeStyle) -> None:
        # Its patterns take a while to load, and a duplicate delivery has nothing to tell.
        from affidavit.redaction.redact import Redactor

        self._redactor = Redactor(hides_personal=style.hides_personal)
        self._pages = f"{style.console_url.rstrip('/')}/incidents" if style.console_url else ""

    def notice(self, state: IncidentState, context: IncidentContext | None, diagnosis: Diagnosis | None) -> Notice:
        incident = state.incident
        cause = diagnosis.root_cause if diagnosis is not None else f"No diagnosis: {state.error_reason or state.status}"
        about = incident.subject.id or incident.incident_id
        told = diagnosis or (context.best_so_far if context is not None else None)
        return Notice(
            key=f"{incident.incident_id}#{state.epoch}",
            incident_id=incident.incident_id,
            about=self._line(about),
            state=state.status.value,
            severity=diagnosis.severity if diagnosis is not None else None,
            title=self._line(f"[{state.status}] {about}: {cause}"),
            cause=self._line(cause),
            is_diagnosed=diagnosis is not None,
            attempts=state.attempts,
            resources=self._lines(incident.resources),
            since=incident.occurred_at,
            account=self._line(incident.account),
            region=self._line(incident.region),
            proven_by_rules=self._line(told.root_cause) if told is not None and diagnosis is None else "",
            summary=self._line(_summary(told)) if told is not None else "",
            open_obligations=self._lines(told.open_obligations if told is not None else ()),
            evidence=tuple(self._quote(pointer) for pointer in told.evidence) if told is not None else (),
            plan=tuple(self._step(step) for step in told.remediation_plan) if told is not None else (),
            gaps=self._lines(_gaps(told, diagnosis, context)),
            link=f"{self._pages}/{quote(incident.incident_id, safe='')}" if self._pages else "",
            origin=incident.origin,
        )

    def _quote(self, pointer: EvidencePointer) -> NoticeQuote:
        value = pointer.value if isinstance(pointer.value, str) else json.dumps(pointer.value)
        text = self._redactor.redact(value).text
        return NoticeQuote(
            shows=self._line(pointer.interpretation),
            text=_printable(text[:QUOTE_CHARACTERS]),
            cut=max(0, len(text) - QUOTE_CHARACTERS),
            place=self._line(f"{pointer.tool} {pointer.field}"),
        )

    def _step(self, step: RemediationStep) -> NoticeStep:
        basis = ", ".join(f"[{index}]" for index in step.evidence_basis)
        approval = (", needs approval" if step.requires_approval else "") + (", advice" if step.is_advice else "")
        return NoticeStep(
            action=self._line(f"{step.action} (because of {basis}; risk {step.risk_level}{approval})"),
            details=self._line(step.details),
        )

    def _lines(self, texts: Iterable[str]) -> tuple[str, ...]:
        return tuple(self._line(text) for text in texts)

    def _line(self, text: str) -> str:
        return _printable(self._redactor.redact(text).text)


def _summary(diagnosis: Diagnosis) -> str:
    kinds = ", ".join(diagnosis.fault_types) or "no fault"
    confidence = diagnosis.confidence
    grade = f"{diagnosis.grade}, " if diagnosis.grade is not None else ""
    return f"{diagnosis.severity}, {kinds}, {grade}confidence {confidence.level} ({confidence.basis})"


def _gaps(told: Diagnosis | None, diagnosis: Diagnosis | None, context: IncidentContext | None) -> tuple[str, ...]:
    of_diagnosis = (told.confidence.gaps or told.gaps) if told is not None else ()
    of_run = context.gaps if diagnosis is None and context is not None else ()
    known = told.open_obligations if told is not None else ()
    return tuple(gap for gap in dict.fromkeys((*of_diagnosis, *of_run)) if gap not in known)


def _printable(text: str) -> str:
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)
