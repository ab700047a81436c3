"""What people decide on plans: propose, approve, reject, revoke, run, undo. Each is a form and goes on record."""

import logging
import threading
from collections.abc import Callable
from http import HTTPStatus

from starlette.responses import RedirectResponse, Response

from affidavit.entrypoints.console.guarded_page_requests import Section, Visit
from affidavit.entrypoints.console.plans.repair_services import PlanRunner
from affidavit.errors import AffidavitError, Conflict, InputRefused
from affidavit.remediation.approvals.people import Approver, check_may_approve
from affidavit.remediation.record.phases import Phase
from affidavit.remediation.record.store import PlanRow

_LONGEST_REASON = 300
_AT_ONCE_SECONDS = 0.3
_LOG = logging.getLogger("affidavit.console")


def propose_plan(visit: Visit) -> Response:
    proposing = visit.desk.repairs.proposing
    if proposing is None:
        raise Conflict("no plan can be made here", hint=f"affidavit remedy propose {visit.named('id')}")
    visit.desk.repairs.approvals.switch.check()
    made = proposing.propose(visit.named("id"), created_by=visit.desk.approver(visit.person).identity)
    visit.note("proposed a repair", f"{visit.named('id')}: {made.plan.plan_id}")
    if made.row is not None and not made.refusals:
        return _back(made.plan.plan_id)
    return visit.page(
        "proposed.html", title="No plan", section=Section.APPROVALS, made=made, incident_id=visit.named("id")
    )


def approve_plan(visit: Visit) -> Response:
    """The last approval starts the plan, too, where an executor was lent to this console."""
    repairs, plan_id = visit.desk.repairs, visit.named("id")
    runner, approver = repairs.runner, visit.desk.approver(visit.person)
    starting = runner.claim if runner is not None else None
    row = repairs.approvals.approve(plan_id, approver, typed=visit.field("seal").strip(), starting=starting)
    visit.note("approved", f"{plan_id} as {approver.identity}")
    if row.phase is Phase.REDEEMED and runner is not None:
        _beside(visit, plan_id, lambda: runner.carry_out(row))
    return _back(plan_id)


def reject_plan(visit: Visit) -> Response:
    approver, plan_id = visit.desk.approver(visit.person), visit.named("id")
    visit.desk.repairs.approvals.reject(plan_id, approver, _reason(visit))
    visit.note("rejected", plan_id)
    return _back(plan_id)


def revoke_plan(visit: Visit) -> Response:
    approver, plan_id = visit.desk.approver(visit.person), visit.named("id")
    visit.desk.repairs.approvals.revoke(plan_id, approver, _reason(visit))
    visit.note("revoked", plan_id)
    return _back(plan_id)


def run_plan(visit: Visit) -> Response:
    """Starts one that was approved elsewhere, or settles one whose executor died."""
    runner, plan_id = _runner(visit, "run"), visit.named("id")
    _allowed(visit)
    since = visit.desk.plans.get(plan_id).entries
    visit.note("ran", plan_id)
    _beside(visit, plan_id, lambda: runner.run(plan_id))
    return _back(plan_id, since)


def undo_plan(visit: Visit) -> Response:
    runner, plan_id = _runner(visit, "undo"), visit.named("id")
    approver, since = _allowed(visit), visit.desk.plans.get(plan_id).entries
    visit.note("asked to undo", plan_id)
    _beside(visit, plan_id, lambda: runner.undo(plan_id, approver.identity))
    return _back(plan_id, since)


def _allowed(visit: Visit) -> Approver:
    """Who runs or undoes is one of those who may approve. Raises InputRefused."""
    approvals, approver = visit.desk.repairs.approvals, visit.desk.approver(visit.person)
    approvals.switch.check()
    check_may_approve(approver, approvals.people, executor_role=approvals.executor_role)
    return approver


def _runner(visit: Visit, what: str) -> PlanRunner:
    runner = visit.desk.repairs.runner
    if runner is None:
        raise Conflict("this console has no executor", hint=f"affidavit remedy {what} {visit.named('id')}")
    return runner


def _reason(visit: Visit) -> str:
    why = visit.field("why").strip()
    if not why:
        raise InputRefused("a reason is missing", hint="say why in a few words: it goes on record")
    return why[:_LONGEST_REASON]


def _beside(visit: Visit, plan_id: str, work: Callable[[], PlanRow]) -> None:
    """In a thread of its own: the page that follows shows the record as it grows. Raises what is refused at once."""
    refusals = list[AffidavitError]()

    def worked() -> None:
        try:
            row = work()
            visit.note(f"plan is {row.phase}", plan_id)
        except AffidavitError as error:
            refusals.append(error)
            visit.note("plan was not carried out", f"{plan_id}: {error}")
        except Exception:  # noqa: BLE001 - nobody waits for this thread; the record says how far it came
            _LOG.exception("plan %s failed", plan_id)

    thread = threading.Thread(target=worked, daemon=True)
    thread.start()
    thread.join(_AT_ONCE_SECONDS)
    if refusals:
        raise refusals[0]


def _back(plan_id: str, since: int | None = None) -> Response:
    """`since` is how many entries the record had when something was asked for that has perhaps not begun."""
    return RedirectResponse(
        f"/plans/{plan_id}" + (f"?since={since}" if since is not None else ""), HTTPStatus.SEE_OTHER
    )
