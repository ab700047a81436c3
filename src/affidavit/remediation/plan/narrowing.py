"""Makes a plan of fewer actions out of another. Nothing can be added or changed: an edit only narrows."""

from collections.abc import Collection
from dataclasses import replace
from datetime import datetime
from uuid import uuid4

from affidavit.errors import InputRefused
from affidavit.evidence.diagnosis import RiskLevel
from affidavit.ports.aws_reads_and_changes import StateReader
from affidavit.remediation.actions.action_type import Aim
from affidavit.remediation.actions.catalog import action_type
from affidavit.remediation.plan.plan_record import Action, OnFailedProof, Plan, PlanId


def narrowed(plan: Plan, drop: Collection[int], *, created_by: str, now: datetime, reader: StateReader) -> Plan:
    """Without the actions of these numbers, from 1. Order and expiry stay. Raises InputRefused."""
    numbers = range(1, len(plan.actions) + 1)
    if not drop or not set(drop) < set(numbers):
        raise InputRefused(
            f"of the actions 1 to {len(plan.actions)} some must go and some must stay",
            hint="`affidavit remedy reject` ends the whole plan",
        )
    kept = tuple(action for number, action in zip(numbers, plan.actions, strict=True) if number not in drop)
    high = any(action.risk is RiskLevel.HIGH for action in kept)
    touched = dict.fromkeys(one for action in kept for one in _touched(action, reader))
    return replace(
        plan,
        plan_id=PlanId(f"plan-{uuid4().hex[:12]}"),
        actions=kept,
        # Where a setting asked for two people always, two it stays.
        needed_approvals=plan.needed_approvals if high or plan.risk is not RiskLevel.HIGH else 1,
        on_failed_proof=OnFailedProof.UNDO if all(one.undo is not None for one in kept) else OnFailedProof.HAND_OVER,
        blast_radius=tuple(touched),
        created_by=created_by,
        created_at=now,
    )


def _touched(action: Action, reader: StateReader) -> Collection[str]:
    return action_type(action.type).touches(Aim(target=action.target, arguments=action.arguments), reader)
