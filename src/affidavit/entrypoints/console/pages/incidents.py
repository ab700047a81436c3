"""`/`: incidents, those in work first, with how many claims re-read; filters stand in the address."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Final
from urllib.parse import urlencode

from starlette.responses import Response

from affidavit.entrypoints.console.guarded_page_requests import Section, Visit
from affidavit.evidence.incident_subject import SubjectKind
from affidavit.incidents.reading.diagnosis_reverification import Reread
from affidavit.incidents.reading.incident_view import IncidentView, hidden_view, view_of
from affidavit.incidents.reading.investigation_journal import JournalStep, journal
from affidavit.incidents.reading.listing import IncidentFilter, IncidentPage, ListedIncident
from affidavit.incidents.store.state import Status

STATES: Final[dict[str, frozenset[Status]]] = {
    "open": frozenset(status for status in Status if status.is_open),
    "diagnosed": frozenset(status for status in Status if status.has_diagnosis),
    "not diagnosed": frozenset({Status.FAILED, Status.ERROR}),
}
SPANS: Final = {"24h": ("last 24 h", 1), "7d": ("last 7 days", 7), "30d": ("last 30 days", 30), "all": ("all", 400)}
DEFAULT_SPAN: Final = "7d"
_LONGEST: Final = 200
_QUARANTINED_COUNTED: Final = 100


@dataclass(frozen=True, kw_only=True)
class IncidentRow:
    """`step` is the newest question of one in work, None before its first answer."""

    view: IncidentView
    reread: Reread | None
    step: JournalStep | None = None


def list_incidents(visit: Visit) -> Response:
    span = visit.asked("span") if visit.asked("span") in SPANS else DEFAULT_SPAN
    asked = _asked(visit)
    page = visit.desk.listing.page(
        _filter(visit, asked, span), now=visit.desk.app.clock.now(), cursor=visit.asked("after")
    )
    shown = {**asked, "span": span}
    return visit.page(
        "incidents.html",
        title="Incidents",
        section=Section.INCIDENTS,
        rows=[_row(visit, listed) for listed in page.listed],
        page=page,
        asked=shown,
        states=tuple(STATES),
        kinds=tuple(SubjectKind),
        spans={name: label for name, (label, _) in SPANS.items()},
        is_filtered=any(asked.values()),
        more=_more(page, shown),
        is_first=not visit.asked("after"),
        quarantined=_quarantined(visit),
        nodes=visit.desk.node_counts.totals(),
    )


def _asked(visit: Visit) -> dict[str, str]:
    return {name: visit.asked(name)[:_LONGEST] for name in ("q", "state", "kind", "subject", "account")}


def _filter(visit: Visit, asked: dict[str, str], span: str) -> IncidentFilter:
    kinds = {kind.value: kind for kind in SubjectKind}
    return IncidentFilter(
        statuses=STATES.get(asked["state"], frozenset()),
        kind=kinds.get(asked["kind"]),
        subject=asked["subject"],
        account=asked["account"],
        words=asked["q"],
        since=visit.desk.app.clock.now() - timedelta(days=SPANS[span][1]),
    )


def _row(visit: Visit, listed: ListedIncident) -> IncidentRow:
    view = hidden_view(view_of(listed.state, listed.context), visit.desk.hide)
    reread = visit.desk.rereads.latest(listed.state, listed.context)
    return IncidentRow(view=view, reread=reread, step=_newest_step(visit, listed))


def _newest_step(visit: Visit, listed: ListedIncident) -> JournalStep | None:
    """Of one in work alone: there are few, and each is a read."""
    ledger = listed.state.ledger
    if not listed.state.status.is_open or not ledger:
        return None
    return journal(ledger, visit.desk.rereading.records, visit.desk.app.objects, after=len(ledger) - 1)[-1]


def _more(page: IncidentPage, asked: dict[str, str]) -> str:
    if not page.next_cursor:
        return ""
    return "/?" + urlencode({**{name: value for name, value in asked.items() if value}, "after": page.next_cursor})


def _quarantined(visit: Visit) -> int:
    found = zip(range(_QUARANTINED_COUNTED), visit.desk.app.objects.list("quarantine/"), strict=False)
    return sum(1 for _ in found)
