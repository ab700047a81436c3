"""`/approvals` and `/plans/{id}`: what waits, what exactly would be done, and what became of it."""

from starlette.responses import Response

from affidavit.entrypoints.console.door import Section, Visit
from affidavit.entrypoints.console.plans.plan_view import shown_actions
from affidavit.entrypoints.console.plans.waiting import latest
from affidavit.errors import AffidavitError
from affidavit.remediation.plan.seal import TYPED_CHARACTERS
from affidavit.remediation.record.check import broken_record
from affidavit.remediation.record.phases import Phase
from affidavit.remediation.record.store import PlanRow
from affidavit.remediation.switch import RemediationStopped

UNDOABLE = (Phase.PROVEN, Phase.HANDED_OVER, Phase.UNDO_FAILED)


def list_plans(visit: Visit) -> Response:
    now = visit.desk.app.clock.now()
    found = latest(visit.desk.plans, now)
    return visit.page(
        "approvals.html",
        title="Approvals",
        section=Section.APPROVALS,
        waiting=[one for one in found if one.is_waiting(now)],
        others=[one for one in found if not one.is_waiting(now)],
        stopped=_stopped(visit),
    )


def show_plan(visit: Visit) -> Response:
    plans = visit.desk.plans
    row = plans.get(visit.named("id"))
    plan, now = plans.plan(row), visit.desk.app.clock.now()
    broken = list(broken_record(plans, row.plan_id))
    return visit.page(
        "plan.html",
        title=f"Plan {row.plan_id}",
        section=Section.APPROVALS,
        row=row,
        plan=plan,
        actions=shown_actions(plan),
        record=[] if broken else plans.record(row.plan_id),
        broken=broken,
        needed=max(plan.needed_approvals, visit.desk.repairs.approvals.least),
        typed_characters=TYPED_CHARACTERS,
        is_expired=now >= plan.expires_at,
        is_live=row.phase.is_running,
        may_undo=row.phase in UNDOABLE and any(one.undo for one in plan.actions),
        can_run=visit.desk.repairs.runner is not None,
        stopped=_stopped(visit),
        phase=Phase,
    )


def show_plan_progress(visit: Visit) -> Response:
    """The record so far; once the plan has ended the whole page is loaded again."""
    row = visit.desk.plans.get(visit.named("id"))
    record = visit.desk.plans.record(row.plan_id)
    answer = visit.part("plan_progress.html", row=row, record=record, is_live=row.phase.is_running)
    if not row.phase.is_running:
        answer.headers["HX-Refresh"] = "true"
    return answer


def _stopped(visit: Visit) -> str:
    """Why no repair starts now; empty when one may."""
    try:
        visit.desk.repairs.approvals.switch.check()
    except RemediationStopped as stopped:
        return f"{stopped}; {stopped.hint}"
    return ""


def open_plan(visit: Visit, plan_id: str | None) -> PlanRow | None:
    """The plan that an incident names, if it can be read."""
    try:
        return visit.desk.plans.get(plan_id) if plan_id else None
    except AffidavitError:
        return None
