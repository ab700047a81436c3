"""The table of pages: address, view, methods, role."""

from affidavit.entrypoints.console.access.login import LOGOUT
from affidavit.entrypoints.console.access.person import PersonRole
from affidavit.entrypoints.console.guarded_page_requests import ConsolePage
from affidavit.entrypoints.console.pages.affidavit_zip import show_zip
from affidavit.entrypoints.console.pages.evidence import show_evidence
from affidavit.entrypoints.console.pages.fleet import show_fleet
from affidavit.entrypoints.console.pages.hand_in import hand_in, hand_in_form
from affidavit.entrypoints.console.pages.incident import redrive, show_incident, verify_now
from affidavit.entrypoints.console.pages.incidents import list_incidents
from affidavit.entrypoints.console.pages.logs import show_log
from affidavit.entrypoints.console.pages.nodes import list_nodes, show_node, show_report
from affidavit.entrypoints.console.pages.progress import show_progress
from affidavit.entrypoints.console.pages.settings import revoke_session, show_settings, test_channel, test_model
from affidavit.entrypoints.console.pages.share import make_share, revoke_share
from affidavit.entrypoints.console.pages.verify import UPLOAD_BYTES, verify_form, verify_upload
from affidavit.entrypoints.console.plans.decisions import (
    approve_plan,
    propose_plan,
    reject_plan,
    revoke_plan,
    run_plan,
    undo_plan,
)
from affidavit.entrypoints.console.plans.pages import list_plans, show_plan, show_plan_progress
from affidavit.settings import Settings

_OPERATOR, _APPROVER = PersonRole.OPERATOR, PersonRole.APPROVER
_POST = ("POST",)


def pages(settings: Settings) -> tuple[ConsolePage, ...]:
    """`settings` bound what may be handed in."""
    archive = settings.max_upload_mib << 20
    return (
        ConsolePage(path="/", view=list_incidents),
        ConsolePage(path="/hand-in", view=hand_in_form, role=_OPERATOR),
        ConsolePage(path="/hand-in", view=hand_in, methods=_POST, role=_OPERATOR, most_bytes=archive),
        ConsolePage(path="/incidents/{id}", view=show_incident),
        ConsolePage(path="/incidents/{id}/verify", view=verify_now, methods=_POST, role=_OPERATOR),
        ConsolePage(path="/incidents/{id}/redrive", view=redrive, methods=_POST, role=_OPERATOR),
        ConsolePage(path="/incidents/{id}/share", view=make_share, methods=_POST, role=_OPERATOR),
        ConsolePage(path="/incidents/{id}/unshare", view=revoke_share, methods=_POST, role=_OPERATOR),
        ConsolePage(path="/incidents/{id}/progress", view=show_progress),
        ConsolePage(path="/incidents/{id}/evidence/{n:int}", view=show_evidence),
        ConsolePage(path="/incidents/{id}/affidavit.zip", view=show_zip),
        ConsolePage(path="/nodes", view=list_nodes),
        ConsolePage(path="/nodes/{instance}", view=show_node),
        ConsolePage(path="/nodes/{instance}/{index}", view=show_report),
        ConsolePage(path="/logs/{key:path}", view=show_log),
        ConsolePage(path="/fleet", view=show_fleet),
        ConsolePage(path="/approvals", view=list_plans),
        ConsolePage(path="/incidents/{id}/propose", view=propose_plan, methods=_POST, role=_OPERATOR),
        ConsolePage(path="/plans/{id}", view=show_plan),
        ConsolePage(path="/plans/{id}/progress", view=show_plan_progress),
        ConsolePage(path="/plans/{id}/approve", view=approve_plan, methods=_POST, role=_APPROVER),
        ConsolePage(path="/plans/{id}/reject", view=reject_plan, methods=_POST, role=_APPROVER),
        ConsolePage(path="/plans/{id}/revoke", view=revoke_plan, methods=_POST, role=_APPROVER),
        ConsolePage(path="/plans/{id}/run", view=run_plan, methods=_POST, role=_APPROVER),
        ConsolePage(path="/plans/{id}/undo", view=undo_plan, methods=_POST, role=_APPROVER),
        ConsolePage(path="/verify", view=verify_form),
        ConsolePage(path="/verify", view=verify_upload, methods=_POST, role=_OPERATOR, most_bytes=UPLOAD_BYTES),
        ConsolePage(path="/settings", view=show_settings),
        ConsolePage(path="/settings/channel", view=test_channel, methods=_POST, role=_OPERATOR),
        ConsolePage(path="/settings/model", view=test_model, methods=_POST, role=_OPERATOR),
        ConsolePage(path="/settings/session", view=revoke_session, methods=_POST),
        LOGOUT,
    )
