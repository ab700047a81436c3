"""Finds the plans of the last days, and those that still wait for people."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from affidavit.errors import AffidavitError
from affidavit.remediation.plan.plan_record import Plan
from affidavit.remediation.record.phases import Phase
from affidavit.remediation.record.store import PlanRow, PlanStore

# A plan lives for four hours at most, so one that waits was made today or yesterday.
_WAITING_DAYS: Final = 2
_DAYS: Final = 7
_MOST: Final = 50


@dataclass(frozen=True, kw_only=True, slots=True)
class ListedPlan:
    """`problem` says why row or plan could not be read; such a one is shown, never hidden."""

    plan_id: str
    row: PlanRow | None
    plan: Plan | None
    problem: str = ""

    def is_waiting(self, now: datetime) -> bool:
        if self.row is None or self.plan is None:
            return False
        return self.row.phase in (Phase.AWAITING, Phase.APPROVED) and now < self.plan.expires_at


def waiting(plans: PlanStore, now: datetime) -> list[ListedPlan]:
    """Those that wait for an approval, or for their start."""
    return [one for one in _listed(plans, now, _WAITING_DAYS) if one.is_waiting(now)]


def latest(plans: PlanStore, now: datetime) -> list[ListedPlan]:
    return _listed(plans, now, _DAYS)


def _listed(plans: PlanStore, now: datetime, days: int) -> list[ListedPlan]:
    found = [name for back in range(days) for name in plans.listed_ids(now - timedelta(days=back), limit=_MOST)]
    return [_read(plans, name) for name in found[:_MOST]]


def _read(plans: PlanStore, plan_id: str) -> ListedPlan:
    row = None
    try:
        row = plans.get(plan_id)
        return ListedPlan(plan_id=plan_id, row=row, plan=plans.plan(row))
    except AffidavitError as error:
        return ListedPlan(plan_id=plan_id, row=row, plan=None, problem=str(error))
