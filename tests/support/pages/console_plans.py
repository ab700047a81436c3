"""Plans in a served console: a workshop's stores, people of an issuer, and an executor where a test lends one."""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from affidavit.entrypoints.cli.remedy.console_executor import LentExecutor
from affidavit.entrypoints.console.access.oidc import OidcLogin
from affidavit.entrypoints.console.plans.repair_services import Repairs
from affidavit.remediation.citation_rereading import StoredCitations
from affidavit.remediation.critic import Critic
from affidavit.remediation.plan.plan_record import Plan
from affidavit.remediation.plan.seal import seal_of
from affidavit.remediation.plan_resolver import Resolver
from affidavit.remediation.proposing import Proposing
from affidavit.remediation.record.phases import Phase
from affidavit.remediation.record.store import PhaseMove, PlanRow, PlanStore
from tests.support.pages.console import ServedConsole, served
from tests.support.repairing.repairs import Workshop

PEOPLE = frozenset({"*@example.com", "arn:aws:iam::000000000000:user/*"})


@dataclass(frozen=True, kw_only=True)
class PlanRoom:
    console: ServedConsole
    workshop: Workshop


@contextmanager
def plan_room(folder: Path, workshop: Workshop, *, has_executor: bool = False) -> Generator[PlanRoom]:
    """People are who their session says, as after a login at an issuer. An executor comes with who proposes."""

    def lent() -> Repairs:
        if not has_executor:
            return Repairs(approvals=approvals)
        executor = replace(workshop.executor, approvals=approvals)
        return Repairs(approvals=approvals, runner=LentExecutor(executor), proposing=_proposing(workshop))

    approvals = replace(workshop.approvals, people=PEOPLE)
    issuer = OidcLogin(issuer="http://127.0.0.1:1", client_id="console", base="http://127.0.0.1")
    with served(folder, clock=workshop.clock, lent=lent, oidc=issuer, REMEDIATION="on") as console:
        yield PlanRoom(console=console, workshop=workshop)


def _proposing(workshop: Workshop) -> Proposing:
    """From the workshop's sources and live state."""
    supervisor, sources, clock = workshop.bench.supervisor, workshop.sources, workshop.clock
    citations = StoredCitations(contexts=supervisor.contexts, records=supervisor.records, sources=sources)
    return Proposing(
        states=workshop.bench.states,
        contexts=workshop.bench.contexts,
        resolver=Resolver(reader=workshop.reader, sources=sources, clock=clock),
        critic=Critic(reader=workshop.reader, sources=sources, citations=citations, clock=clock),
        plans=workshop.plans,
    )


def awaiting_plan(plans: PlanStore, plan: Plan) -> PlanRow:
    """Proposed, passed by the Critic, waiting."""
    first = {"incident_id": plan.incident_id, "seal": seal_of(plan)}
    moves = [
        PhaseMove(to=Phase.PROPOSED, by=plan.created_by, details=first),
        PhaseMove(to=Phase.CRITIC_PASSED, by="critic", details={}),
        PhaseMove(to=Phase.AWAITING, by="supervisor", details={}),
    ]
    return plans.create(plan, moves)
