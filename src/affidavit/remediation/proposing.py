"""Proposes a plan for an incident: the Resolver makes it, the Critic reviews it, and both are recorded."""

from collections.abc import Callable, Collection
from dataclasses import dataclass

from affidavit.errors import Conflict, EvidenceUnavailable
from affidavit.evidence.diagnosis import Diagnosis
from affidavit.incidents.incident import Incident, IncidentId
from affidavit.incidents.store.incident_leases import IncidentStates
from affidavit.incidents.store.state import IncidentState, Status, not_known
from affidavit.incidents.store.stored_diagnoses import IncidentContexts
from affidavit.remediation.approvals.people import Approver
from affidavit.remediation.approvals.plan_decisions import Approvals
from affidavit.remediation.critic import Critic
from affidavit.remediation.plan.narrowing import narrowed
from affidavit.remediation.plan.plan_record import Plan
from affidavit.remediation.plan.seal import seal_of
from affidavit.remediation.plan_resolver import Resolver
from affidavit.remediation.record.phases import Phase
from affidavit.remediation.record.store import PhaseMove, PlanRow, PlanStore

# Told once a plan waits for people. A notice carries a link, never the power.
Tell = Callable[[Plan, Incident], None]


@dataclass(frozen=True, kw_only=True)
class Proposed:
    """`row` is None when there is nothing to approve: advice alone, or a dry run."""

    plan: Plan
    refusals: tuple[str, ...]
    row: PlanRow | None


@dataclass(frozen=True, kw_only=True)
class Proposing:
    states: IncidentStates
    contexts: IncidentContexts
    resolver: Resolver
    critic: Critic
    plans: PlanStore
    tell: Tell | None = None

    def propose(self, incident_id: str, *, created_by: str, is_dry: bool = False) -> Proposed:
        """Raises NotFound, Conflict when the incident is not DIAGNOSED, EvidenceUnavailable without a diagnosis."""
        state, diagnosis = self._diagnosed(IncidentId(incident_id))
        if state.status is not Status.DIAGNOSED:
            raise Conflict(
                f"incident {incident_id} is {state.status}",
                hint="a plan can be proposed only for a diagnosed incident without an open plan",
            )
        plan = self.resolver.resolve(state.incident, diagnosis, created_by=created_by)
        if not plan.actions:
            return Proposed(plan=plan, refusals=(), row=None)
        refusals = tuple(self.critic.refusals(plan, state.incident, diagnosis))
        row = None if is_dry else self._recorded(plan, state.incident, refusals)
        return Proposed(plan=plan, refusals=refusals, row=row)

    def narrow(self, plan_id: str, drop: Collection[int], *, approvals: Approvals, person: Approver) -> Proposed:
        """Reject a plan that waits, and propose what is left of it without the actions of these numbers, from 1.

        Whoever narrows has proposed the new plan, so others approve it. Raises InputRefused, Conflict.
        """
        row = self.plans.get(plan_id)
        plan = self.plans.plan(row)
        approvals.check_person(person)
        approvals.check_open(row, plan, Phase.AWAITING)
        narrower = narrowed(
            plan, drop, created_by=person.identity, now=self.plans.clock.now(), reader=self.critic.reader
        )
        state, diagnosis = self._diagnosed(plan.incident_id)
        refusals = tuple(self.critic.refusals(narrower, state.incident, diagnosis))
        if refusals:
            return Proposed(plan=narrower, refusals=refusals, row=None)
        # A crash in between leaves the incident without a plan, never with a wider one.
        approvals.reject(plan_id, person, f"narrowed to {narrower.plan_id}")
        return Proposed(plan=narrower, refusals=(), row=self._recorded(narrower, state.incident, ()))

    def _diagnosed(self, incident_id: IncidentId) -> tuple[IncidentState, Diagnosis]:
        state, context = self.states.get_state(incident_id), self.contexts.get_context(incident_id)
        if state is None:
            raise not_known(incident_id)
        if context is None or context.diagnosis is None:
            raise EvidenceUnavailable(f"incident {incident_id} has no diagnosis", hint="affidavit incident show")
        return state, context.diagnosis

    def _recorded(self, plan: Plan, incident: Incident, refusals: tuple[str, ...]) -> PlanRow:
        first = PhaseMove(
            to=Phase.PROPOSED, by=plan.created_by, details={"incident_id": plan.incident_id, "seal": seal_of(plan)}
        )
        if refusals:
            refused = PhaseMove(to=Phase.CRITIC_REFUSED, by="critic", details={"refusals": list(refusals)})
            return self.plans.create(plan, [first, refused])
        passed = PhaseMove(to=Phase.CRITIC_PASSED, by="critic", details={})
        row = self.plans.create(plan, [first, passed, PhaseMove(to=Phase.AWAITING, by="supervisor", details={})])
        if self.tell is not None:
            self.tell(plan, incident)
        return row
