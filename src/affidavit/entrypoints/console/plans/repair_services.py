"""What the console needs to decide on repairs. It holds no executor; a command may lend it one."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from affidavit.bootstrap import App
from affidavit.entrypoints.console.access.person import Person
from affidavit.errors import InputRefused
from affidavit.remediation.approvals.people import Approver, IdentityProof
from affidavit.remediation.approvals.plan_decisions import Approvals, StartClaim
from affidavit.remediation.kill_switch import KillSwitch
from affidavit.remediation.plan.plan_record import Plan
from affidavit.remediation.proposing import Proposing
from affidavit.remediation.record.store import PlanRow, PlanStore
from affidavit.settings import Settings


class PlanRunner(Protocol):
    """Carries plans out, with credentials that are not the console's."""

    def claim(self, plan: Plan, row: PlanRow) -> StartClaim: ...

    def carry_out(self, row: PlanRow) -> PlanRow: ...

    def run(self, plan_id: str) -> PlanRow: ...

    def undo(self, plan_id: str, by: str) -> PlanRow: ...


def _nobody() -> Approver:
    raise InputRefused(
        "a link proves no person, so nobody is known here who could approve",
        hint="set CONSOLE_OIDC_ISSUER so that people log in, or use `affidavit remedy`",
    )


@dataclass(frozen=True, kw_only=True)
class Repairs:
    """Without a `runner` an approved plan waits for `affidavit remedy run`; without `proposing` none is made here.

    `on_this_machine` says who works here where nobody logs in: the owner of the AWS credentials, by the word of STS.
    """

    approvals: Approvals
    proposing: Proposing | None = None
    runner: PlanRunner | None = None
    on_this_machine: Callable[[], Approver] = _nobody

    @property
    def plans(self) -> PlanStore:
        return self.approvals.plans


# Built when the first page needs it: it may load the AWS library.
Lent = Callable[[], Repairs]


def stored_plans(app: App) -> PlanStore:
    return PlanStore(app.incident_state, app.objects, app.clock)


def stored_repairs(app: App) -> Repairs:
    """Decisions alone: whoever may run the executor carries them out elsewhere."""
    settings = app.settings
    return Repairs(
        approvals=Approvals(
            plans=stored_plans(app),
            switch=KillSwitch(table=app.incident_state, clock=app.clock, settings=Settings.from_environment),
            people=frozenset(name for name in settings.remediation_people.split(",") if name),
            executor_role=settings.remediation_role_arn,
            least=settings.remediation_approvers,
        )
    )


def signed_in(person: Person) -> Approver:
    """The person whom the issuer signed. Raises InputRefused for a name that reads like an AWS identity."""
    if person.name.startswith("arn:"):
        raise InputRefused(
            f"{person.name} is no name of a person", hint="who has an ARN approves by `affidavit remedy`"
        )
    return Approver(identity=person.name, proof=IdentityProof.CONSOLE)
