"""A workshop for repairs: local stores with a diagnosed incident, functions in the sandbox, people who approve."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

from affidavit.adapters.aws.clients import AwsClients
from affidavit.adapters.aws.remediation.least_privilege_calls import AssumedRoleDoor
from affidavit.adapters.aws.remediation.state_reader import AwsStateReader
from affidavit.errors import NotFound
from affidavit.evidence.diagnosis import RiskLevel
from affidavit.evidence.incident_subject import Subject, SubjectKind
from affidavit.incidents.incident import IncidentId
from affidavit.incidents.store.state import Status
from affidavit.ports.argument_sources import ArgumentSource, SourceDocument, SourceKind
from affidavit.ports.aws_reads_and_changes import ApiCall, Changer, Grant
from affidavit.ports.json import Item
from affidavit.remediation.actions.action_type import Aim
from affidavit.remediation.actions.catalog import action_type
from affidavit.remediation.approvals.people import Approver, IdentityProof
from affidavit.remediation.approvals.plan_decisions import Approvals
from affidavit.remediation.citation_rereading import StoredCitations, diagnosis_digest
from affidavit.remediation.execution.executor import Executor
from affidavit.remediation.execution.function_symptoms import SymptomSeen
from affidavit.remediation.execution.other_writers import Bystanders
from affidavit.remediation.execution.shared_executor_steps import ExecutorTools
from affidavit.remediation.execution.start_limits import Starts
from affidavit.remediation.kill_switch import KillSwitch
from affidavit.remediation.plan.plan_record import Action, OnFailedProof, Plan, PlanId, Symptom
from affidavit.remediation.plan.seal import precondition_of, sha256_of, typed_part
from affidavit.remediation.record.phases import Phase
from affidavit.remediation.record.store import PhaseMove, PlanRow, PlanStore
from affidavit.sandbox.sandbox import Sandbox
from affidavit.settings import Settings
from tests.support.clock import FakeClock
from tests.support.investigations.incidents import REMAINING, Bench, a_bench, an_incident
from tests.support.repairing.repaired_function import executor_role

ROBOT = "arn:aws:iam::000000000000:user/robot"
ALICE = Approver(identity="arn:aws:iam::000000000000:user/alice", proof=IdentityProof.AWS)
BOB = Approver(identity="arn:aws:iam::000000000000:user/bob", proof=IdentityProof.AWS)
PEOPLE = frozenset({"arn:aws:iam::000000000000:user/*"})
REGION = "ca-central-1"


@dataclass
class Runs:
    """A `SymptomReader`: what a test says about the runs after the change."""

    good: int = 1
    bad: int = 0
    is_complete: bool = True
    error: Exception | None = None

    def look(self, symptom: Symptom, *, since: datetime) -> SymptomSeen:
        if self.error is not None:
            raise self.error
        return SymptomSeen(good=self.good, bad=self.bad, is_complete=self.is_complete)


@dataclass
class KnownSources:
    """`ArgumentSources` that a test fills."""

    documents: list[SourceDocument] = field(default_factory=list)

    def about(self, subject: Subject, *, before: datetime) -> Sequence[SourceDocument]:
        return self.documents

    def reread(self, source: ArgumentSource) -> SourceDocument:
        for one in self.documents:
            if one.source.reference == source.reference:
                return one
        raise NotFound(f"{source.reference} is gone")


@dataclass
class CountedDoor:
    """The real door, with every grant and call counted, and a hook around each call."""

    inner: Any
    grants: list[Grant] = field(default_factory=list)
    calls: list[ApiCall] = field(default_factory=list)
    before: Callable[[ApiCall], None] = lambda _: None
    after: Callable[[ApiCall], None] = lambda _: None

    def open(self, grant: Grant) -> Changer:
        self.grants.append(grant)
        return _Counted(self, self.inner.open(grant))


@dataclass
class _Counted:
    door: CountedDoor
    inner: Changer

    def call(self, call: ApiCall) -> Item:
        self.door.calls.append(call)
        self.door.before(call)
        answer = self.inner.call(call)
        self.door.after(call)
        return answer


@dataclass
class Workshop:
    bench: Bench
    plans: PlanStore
    reader: Any
    door: CountedDoor
    sources: KnownSources
    runs: Runs
    settings: dict[str, str]
    per_hour: int = 1_000
    target_rest: timedelta = timedelta(0)
    read_back_seconds: float = 0.0
    least: int = 1
    bystanders: Bystanders | None = None

    @property
    def clock(self) -> FakeClock:
        return self.bench.clock

    @property
    def switch(self) -> KillSwitch:
        return KillSwitch(
            table=self.plans.table, clock=self.clock, settings=lambda: Settings.from_environment(self.settings)
        )

    @property
    def approvals(self) -> Approvals:
        return Approvals(plans=self.plans, switch=self.switch, people=PEOPLE, least=self.least)

    @property
    def starts(self) -> Starts:
        return Starts(table=self.plans.table, clock=self.clock, per_hour=self.per_hour, target_rest=self.target_rest)

    @property
    def executor(self) -> Executor:
        supervisor = self.bench.supervisor
        tools = ExecutorTools(
            plans=self.plans,
            reader=self.reader,
            door=self.door,
            switch=self.switch,
            citations=StoredCitations(contexts=supervisor.contexts, records=supervisor.records, sources=self.sources),
            symptoms=self.runs,
            starts=self.starts,
            clock=self.clock,
            sleep=self._sleep,
            read_back_seconds=self.read_back_seconds,
            bystanders=self.bystanders,
        )
        return Executor(tools=tools, approvals=self.approvals)

    def _sleep(self, seconds: float) -> None:
        """The emulator settles in real time, however little of it."""
        time.sleep(0.05)
        self.clock.pass_by(timedelta(seconds=seconds))

    def incident(self, name: str) -> IncidentId:
        """A diagnosed incident of this name."""
        return self.bench.supervisor.receive(an_incident(name), remaining=REMAINING).incident_id

    def status(self, incident: str) -> Status:
        state = self.bench.states.get_state(IncidentId(incident))
        assert state is not None
        return state.status

    def action(self, kind: str, target: str, arguments: Item, **changes: Any) -> Action:
        """An action on the live state, whose source says its arguments."""
        known, aim = action_type(kind), Aim(target=target, arguments=arguments)
        state = known.read(aim, self.reader).state
        document = SourceDocument(
            source=ArgumentSource(
                kind=SourceKind.TRAIL_EVENT, reference=f"event-{uuid4().hex}", sha256=sha256_of(dict(arguments))
            ),
            at=self.clock.now(),
            document=dict(arguments),
        )
        self.sources.documents.append(document)
        made = Action(
            type=kind,
            target=target,
            arguments=arguments,
            source=document.source,
            evidence_basis=(0,),
            precondition=precondition_of(state),
            expected=known.expected(aim, state),
            undo=known.undo(aim, state),
            risk=known.risk,
            undo_class=known.undo_class,
        )
        return replace(made, **changes)

    def plan(self, *actions: Action, incident: str = "", **changes: Any) -> Plan:
        name = incident or f"inc-{uuid4().hex[:12]}"
        context = self.bench.contexts.get_context(self.incident(name))
        assert context is not None
        assert context.diagnosis is not None
        fields = {
            "plan_id": PlanId(f"plan-{uuid4().hex[:12]}"),
            "incident_id": IncidentId(name),
            "diagnosis_sha256": diagnosis_digest(context.diagnosis),
            "account": "000000000000",
            "region": REGION,
            "actions": actions,
            "advice": (),
            "symptom": Symptom(subject=Subject(kind=SubjectKind.FUNCTION, id="orders"), window_seconds=5),
            "on_failed_proof": OnFailedProof.UNDO,
            "needed_approvals": 1,
            "blast_radius": tuple(action.target for action in actions),
            "created_by": ROBOT,
            "created_at": self.clock.now(),
            "expires_at": self.clock.now() + timedelta(hours=1),
        }
        return Plan(**{**fields, **changes})

    def awaiting(self, plan: Plan) -> PlanRow:
        from affidavit.remediation.plan.seal import seal_of

        first = {"incident_id": plan.incident_id, "seal": seal_of(plan)}
        moves = [
            PhaseMove(to=Phase.PROPOSED, by=plan.created_by, details=first),
            PhaseMove(to=Phase.CRITIC_PASSED, by="critic", details={}),
            PhaseMove(to=Phase.AWAITING, by="supervisor", details={}),
        ]
        return self.plans.create(plan, moves)

    def approved(self, plan: Plan) -> PlanRow:
        row = self.awaiting(plan)
        return self.approvals.approve(row.plan_id, ALICE, typed=typed_part(row.seal))

    def approved_by_all(self, *actions: Action, **changes: Any) -> PlanRow:
        """A plan of these, approved by as many people as its risk asks for."""
        is_high = any(action.risk is RiskLevel.HIGH for action in actions)
        row = self.approved(self.plan(*actions, needed_approvals=2 if is_high else 1, **changes))
        return self.approvals.approve(row.plan_id, BOB, typed=typed_part(row.seal)) if is_high else row

    def phases(self, plan_id: str) -> list[Phase]:
        return [entry.phase for entry in self.plans.record(plan_id)]


class Unreadable:
    """For tests that never read AWS."""

    def read(self, service: str, operation: str, **parameters: Any) -> Item:
        raise AssertionError(f"{operation} was asked")

    read_all = read


def a_workshop(folder: Path, sandbox: Sandbox | None = None) -> Workshop:
    """Without a sandbox nothing can be read or changed. With one, its variables must be in force."""
    bench = a_bench(folder)
    table = bench.states.table
    clients = AwsClients(REGION)
    return Workshop(
        bench=bench,
        plans=PlanStore(table, bench.objects, bench.clock),
        reader=AwsStateReader(clients) if sandbox else Unreadable(),
        door=CountedDoor(AssumedRoleDoor(clients, executor_role(sandbox)) if sandbox else None),
        sources=KnownSources(),
        runs=Runs(),
        settings={"REMEDIATION": "on"},
    )


def arn_of(function: str) -> str:
    return f"arn:aws:lambda:{REGION}:000000000000:function:{function}"
