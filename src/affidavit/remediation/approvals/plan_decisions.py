"""Approves, rejects and revokes. The last approval and the start are one conditional write."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from affidavit.errors import Conflict, InputRefused
from affidavit.ports.table import ConditionFailed, Write
from affidavit.remediation.approvals.people import Approver, check_may_approve, is_same_person
from affidavit.remediation.kill_switch import KillSwitch
from affidavit.remediation.plan.plan_record import Plan
from affidavit.remediation.plan.seal import typed_part
from affidavit.remediation.record.phases import Phase
from affidavit.remediation.record.store import PhaseMove, PlanRow, PlanStore


@dataclass(frozen=True, kw_only=True)
class StartClaim:
    """What a start takes beside the plan: locks and a place in the hour. Made anew for each try."""

    writes: Sequence[Write]
    changes: Mapping[str, Any]


Starting = Callable[[Plan, PlanRow], StartClaim]


@dataclass(frozen=True, kw_only=True)
class Approvals:
    plans: PlanStore
    switch: KillSwitch
    people: frozenset[str]
    executor_role: str = ""
    least: int = 1
    """How many people at least; a plan may ask for more, never for fewer."""

    def approve(self, plan_id: str, person: Approver, *, typed: str, starting: Starting | None = None) -> PlanRow:
        """`typed` are the last characters of the seal. With `starting` the last approval starts the plan, too.

        Raises InputRefused for who may not approve, Conflict for a plan that cannot be approved any more.
        """
        row, plan = self.check_approvable(plan_id, person)
        if typed != typed_part(row.seal):
            raise InputRefused("these are not the last characters of the seal", hint="read them from `remedy show`")
        return self._approved(row, plan, person, starting)

    def check_approvable(self, plan_id: str, person: Approver) -> tuple[PlanRow, Plan]:
        """All that an approval needs but the typed seal: doors ask before they have a person read and type."""
        self.switch.check()
        row = self.plans.get(plan_id)
        plan = self.plans.plan(row)
        self._check_person(plan, row, person)
        return self.check_open(row, plan, Phase.AWAITING), plan

    def check_person(self, person: Approver) -> None:
        """Raises InputRefused for who may not decide on repairs."""
        check_may_approve(person, self.people, executor_role=self.executor_role)

    def reject(self, plan_id: str, person: Approver, why: str) -> PlanRow:
        self.check_person(person)
        return self._ended(self.plans.get(plan_id), Phase.REJECTED, person, why)

    def revoke(self, plan_id: str, person: Approver, why: str) -> PlanRow:
        """Take a plan back that is approved and not started."""
        self.check_person(person)
        return self._ended(self.plans.get(plan_id), Phase.REVOKED, person, why)

    def check_open(self, row: PlanRow, plan: Plan, phase: Phase) -> PlanRow:
        """Raises Conflict unless the plan is in this phase and not expired; one that is expired is marked so."""
        if row.phase is not phase:
            raise Conflict(f"plan {row.plan_id} is {row.phase}, not {phase}", hint="`affidavit remedy show` says why")
        if self.plans.clock.now() >= plan.expires_at:
            self._ended(row, Phase.EXPIRED, None, "nobody started it in time")
            raise Conflict(
                f"plan {row.plan_id} expired at {plan.expires_at:%H:%M:%S} UTC", hint="propose again: states change"
            )
        return row

    def _check_person(self, plan: Plan, row: PlanRow, person: Approver) -> None:
        check_may_approve(person, self.people, executor_role=self.executor_role)
        if is_same_person(person.identity, plan.created_by):
            raise InputRefused(f"{person.identity} proposed this plan", hint="somebody else has to approve it")
        if any(is_same_person(person.identity, one) for one in row.approvers):
            raise InputRefused(f"{person.identity} approved already", hint="a second person has to approve, too")

    def _approved(self, row: PlanRow, plan: Plan, person: Approver, starting: Starting | None) -> PlanRow:
        approvers = (*row.approvers, person.identity)
        details = {"seal": row.seal, "proof": person.proof.value}
        if len(approvers) < max(plan.needed_approvals, self.least):
            move = PhaseMove(to=Phase.AWAITING, by=person.identity, details={**details, "approval": len(approvers)})
            return self._advance(row, move, changes={"approvers": approvers})
        moves = [PhaseMove(to=Phase.APPROVED, by=person.identity, details=details)]
        claim = StartClaim(writes=(), changes={})
        if starting is not None:
            claim = starting(plan, row)
            moves.append(PhaseMove(to=Phase.REDEEMED, by="executor", details={"seal": row.seal}))
        return self._advance(row, *moves, also=claim.writes, changes={"approvers": approvers, **claim.changes})

    def _ended(self, row: PlanRow, phase: Phase, person: Approver | None, why: str) -> PlanRow:
        by = person.identity if person is not None else "clock"
        return self._advance(row, PhaseMove(to=phase, by=by, details={"why": why}), changes={"reason": why})

    def _advance(
        self, row: PlanRow, *moves: PhaseMove, also: Sequence[Write] = (), changes: Mapping[str, Any] | None = None
    ) -> PlanRow:
        try:
            return self.plans.advance(row, *moves, also=also, changes=changes)
        except ConditionFailed as error:
            raise Conflict(
                f"plan {row.plan_id} changed meanwhile, or something it touches is being repaired",
                hint="`affidavit remedy show` says where it stands",
            ) from error
