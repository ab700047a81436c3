"""From an incident to a plan that waits for people: the Resolver makes it, the Critic reviews it, both go on record."""

from collections.abc import Callable
from dataclasses import dataclass

from affidavit.errors import Conflict, EvidenceUnavailable
from affidavit.incidents.incident import IncidentId
from affidavit.incidents.store.context import IncidentContexts
from affidavit.incidents.store.incident_leases import IncidentStates
from affidavit.incidents.store.state import Status, not_known
from affidavit.remediation.critic import Critic
from affidavit.remediation.plan.records import Plan
from affidavit.remediation.plan.seal import seal_of
from affidavit.remediation.record.phases import Phase
from affidavit.remediation.record.store import PhaseMove, PlanRow, PlanStore
from affidavit.remediation.resolver import Resolver

# Told once a plan waits for people: its id and what it is about. A notice carries a link, never the power.
Tell = Callable[[Plan], None]


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
        state = self.states.get_state(IncidentId(incident_id))
        context = self.contexts.get_context(IncidentId(incident_id))
        if state is None:
            raise not_known(IncidentId(incident_id))
        if state.status is not Status.DIAGNOSED:
            raise Conflict(
                f"incident {incident_id} is {state.status}", hint="only a diagnosed incident without an open plan"
            )
        if context is None or context.diagnosis is None:
            raise EvidenceUnavailable(f"incident {incident_id} has no diagnosis", hint="affidavit incident show")
        plan = self.resolver.resolve(state.incident, context.diagnosis, created_by=created_by)
        if not plan.actions:
            return Proposed(plan=plan, refusals=(), row=None)
        refusals = tuple(self.critic.refusals(plan, state.incident, context.diagnosis))
        return Proposed(plan=plan, refusals=refusals, row=None if is_dry else self._recorded(plan, refusals))

    def _recorded(self, plan: Plan, refusals: tuple[str, ...]) -> PlanRow:
        first = PhaseMove(
            to=Phase.PROPOSED, by=plan.created_by, details={"incident_id": plan.incident_id, "seal": seal_of(plan)}
        )
        if refusals:
            refused = PhaseMove(to=Phase.CRITIC_REFUSED, by="critic", details={"refusals": list(refusals)})
            return self.plans.create(plan, [first, refused])
        passed = PhaseMove(to=Phase.CRITIC_PASSED, by="critic", details={})
        row = self.plans.create(plan, [first, passed, PhaseMove(to=Phase.AWAITING, by="supervisor", details={})])
        if self.tell is not None:
            self.tell(plan)
        return row
