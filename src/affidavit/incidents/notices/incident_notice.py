"""Makes the notice of how an incident ended: cause, why to believe it, what to do, what is not known.

What a stranger or a chat model wrote stands on one line each, so that no log line can pose as part of the plan.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import quote

from affidavit.incidents.reading.incident_view import ClaimView, ConclusionView, IncidentView, StepView, view_of
from affidavit.incidents.store.state import IncidentState
from affidavit.incidents.store.stored_diagnoses import IncidentContext
from affidavit.ports.notice_record import AlertOrigin, Notice, NoticeQuote, NoticeStep

QUOTE_CHARACTERS = 400


@dataclass(frozen=True, kw_only=True, slots=True)
class NoticeStyle:
    """`console_url` is where the console is served; empty: a notice has no link."""

    console_url: str = ""
    hides_personal: bool = False


PLAIN = NoticeStyle()


def notice_of(state: IncidentState, context: IncidentContext | None, style: NoticeStyle = PLAIN) -> Notice:
    return _Writer(style).notice(view_of(state, context), state.incident.origin)


class _Writer:
    """Redacts each text before it is cut: half a secret is no longer recognised."""

    def __init__(self, style: NoticeStyle) -> None:
        # Its patterns take a while to load, and a duplicate delivery has nothing to tell.
        from affidavit.redaction.redact import Redactor

        self._redactor = Redactor(hides_personal=style.hides_personal)
        self._pages = f"{style.console_url.rstrip('/')}/incidents" if style.console_url else ""

    def notice(self, view: IncidentView, origin: AlertOrigin | None) -> Notice:
        told = view.conclusion or view.rules_prove
        return Notice(
            key=f"{view.incident_id}#{view.epoch}",
            incident_id=view.incident_id,
            about=self._line(view.about),
            state=view.status.value,
            severity=view.conclusion.severity if view.conclusion is not None else None,
            title=self._line(f"[{view.status}] {view.about}: {view.cause}"),
            cause=self._line(view.cause),
            is_diagnosed=view.conclusion is not None,
            attempts=view.attempts,
            resources=self._lines(view.resources),
            since=view.occurred_at,
            resolved_at=view.resolved_at,
            account=self._line(view.account),
            region=self._line(view.region),
            proven_by_rules=self._line(view.rules_prove.cause) if view.rules_prove is not None else "",
            summary=self._line(_summary(told)) if told is not None else "",
            open_obligations=self._lines(told.open_points if told is not None else ()),
            evidence=tuple(self._quote(claim) for claim in told.claims) if told is not None else (),
            plan=tuple(self._step(step) for step in told.plan) if told is not None else (),
            gaps=self._lines(_gaps(told, view)),
            link=f"{self._pages}/{quote(view.incident_id, safe='')}" if self._pages else "",
            origin=origin,
        )

    def _quote(self, claim: ClaimView) -> NoticeQuote:
        text = self._redactor.redact(claim.quote).text
        return NoticeQuote(
            shows=self._line(claim.says),
            text=_printable(text[:QUOTE_CHARACTERS]),
            cut=max(0, len(text) - QUOTE_CHARACTERS),
            place=self._line(f"{claim.tool} {claim.field}"),
        )

    def _step(self, step: StepView) -> NoticeStep:
        return NoticeStep(action=self._line(f"{step.action} ({step.why})"), details=self._line(step.details))

    def _lines(self, texts: Iterable[str]) -> tuple[str, ...]:
        return tuple(self._line(text) for text in texts)

    def _line(self, text: str) -> str:
        return _printable(self._redactor.redact(text).text)


def _summary(told: ConclusionView) -> str:
    grade = f"{told.grade}, " if told.grade else ""
    return f"{told.severity}, {told.kinds}, {grade}confidence {told.confidence} ({told.basis})"


def _gaps(told: ConclusionView | None, view: IncidentView) -> tuple[str, ...]:
    known = told.open_points if told is not None else ()
    of_told = told.not_known if told is not None else ()
    return tuple(gap for gap in dict.fromkeys((*of_told, *view.not_known)) if gap not in known)


def _printable(text: str) -> str:
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)
