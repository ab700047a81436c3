"""The table of pages: address, view, methods, role."""

from affidavit.entrypoints.console.access.login import LOGOUT
from affidavit.entrypoints.console.access.person import PersonRole
from affidavit.entrypoints.console.door import ConsolePage
from affidavit.entrypoints.console.pages.evidence import show_evidence
from affidavit.entrypoints.console.pages.incident import redrive, show_incident, verify_now
from affidavit.entrypoints.console.pages.incidents import list_incidents
from affidavit.entrypoints.console.pages.progress import show_progress

_OPERATOR = PersonRole.OPERATOR

PAGES: tuple[ConsolePage, ...] = (
    ConsolePage(path="/", view=list_incidents),
    ConsolePage(path="/incidents/{id}", view=show_incident),
    ConsolePage(path="/incidents/{id}/verify", view=verify_now, methods=("POST",), role=_OPERATOR),
    ConsolePage(path="/incidents/{id}/redrive", view=redrive, methods=("POST",), role=_OPERATOR),
    ConsolePage(path="/incidents/{id}/progress", view=show_progress),
    ConsolePage(path="/incidents/{id}/evidence/{n:int}", view=show_evidence),
    LOGOUT,
)
