"""`/approvals` and `/plans/{id}`: what waits, what exactly would be done, and what became of it."""

from urllib.parse import quote

from starlette.responses import Response

from affidavit.entrypoints.console.guarded_page_requests import Section, Visit
from affidavit.entrypoints.console.live_updates import LiveLook, address_of, followed, is_awaited
from affidavit.entrypoints.console.plans.plan_listing import latest
from affidavit.entrypoints.console.plans.plan_view import shown_actions
from affidavit.errors import AffidavitError
from affidavit.remediation.critic import LONGEST
from affidavit.remediation.kill_switch import RemediationStopped
from affidavit.remediation.plan.seal import TYPED_CHARACTERS
from affidavit.remediation.record.check import broken_record
from affidavit.remediation.record.phases import Phase
from affidavit.remediation.record.store import PlanRow

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
        address=_address(visit, row),
        may_undo=row.phase in UNDOABLE and any(one.undo for one in plan.actions),
        can_run=visit.desk.repairs.runner is not None,
        stopped=_stopped(visit),
        phase=Phase,
    )


def show_plan_progress(visit: Visit) -> Response:
    """The whole record each time: it is short, and its end changes what stands before it."""
    return followed(visit, lambda after: _look(visit, after), lambda _: _part(visit))


def _part(visit: Visit) -> Response:
    row = visit.desk.plans.get(visit.named("id"))
    record = visit.desk.plans.record(row.plan_id)
    return visit.part("plan_progress.html", row=row, record=record, address=_address(visit, row))


def _look(visit: Visit, after: int) -> LiveLook:
    row = visit.desk.plans.get(visit.named("id"))
    is_over = not _is_followed(visit, row)
    told = {
        "plan_id": row.plan_id,
        "phase": row.phase.value,
        "action": row.step + 1,
        "at": row.at.isoformat(),
        "reason": visit.desk.hide(row.reason),
        "after": row.entries,
        "is_over": is_over,
    }
    mark, behind = f"{row.phase} {row.entries}", max(after, row.entries)
    return LiveLook(told=told, mark=mark, after=behind, is_over=is_over, since=_since(visit, row))


def _is_followed(visit: Visit, row: PlanRow) -> bool:
    """It is carried out, or has not begun and will."""
    return row.phase.is_running or _since(visit, row) is not None


def _since(visit: Visit, row: PlanRow) -> int | None:
    """How long the record is while a start or an undo is waited for. Whoever carries plans out may do so elsewhere."""
    waits = row.phase is Phase.APPROVED and visit.desk.app.clock.now() < row.at + LONGEST
    return row.entries if waits or is_awaited(visit, row.entries) else None


def _address(visit: Visit, row: PlanRow) -> str:
    """Where the page asks for more; empty when nothing more is to come."""
    path = f"/plans/{quote(row.plan_id)}/progress"
    return address_of(path, row.entries, _since(visit, row)) if _is_followed(visit, row) else ""


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
