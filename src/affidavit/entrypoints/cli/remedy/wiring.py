"""Settings → what proposes, approves and carries out repairs. The one place that builds an executor."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from affidavit.adapters.aws.clients import AwsClients
from affidavit.adapters.aws.error_translation import translated
from affidavit.adapters.aws.node_directory import Ec2NodeDirectory
from affidavit.adapters.aws.remediation.least_privilege_calls import AssumedRoleDoor
from affidavit.adapters.aws.remediation.state_reader import AwsStateReader
from affidavit.adapters.aws.workload.inspector import AwsWorkloadInspector
from affidavit.adapters.aws.workload.state_inspector import AwsStateInspector
from affidavit.bootstrap import App, build_app
from affidavit.entrypoints.reverification_wiring import NodeLines
from affidavit.errors import AffidavitError
from affidavit.incidents.notices.incident_notice import NoticeStyle
from affidavit.incidents.notices.sent_notices import ToldStates
from affidavit.incidents.store.blobs import Records
from affidavit.incidents.store.incident_leases import IncidentStates
from affidavit.incidents.store.stored_diagnoses import IncidentContexts
from affidavit.known_good.store import KnownGoodStore
from affidavit.nodes.library.object_keys import markers_prefix
from affidavit.remediation.adviser import RepairAdviser
from affidavit.remediation.approvals.people import Approver, IdentityProof
from affidavit.remediation.approvals.plan_decisions import Approvals
from affidavit.remediation.citation_rereading import StoredCitations
from affidavit.remediation.critic import Critic
from affidavit.remediation.execution.executor import Executor
from affidavit.remediation.execution.function_symptoms import FunctionRuns
from affidavit.remediation.execution.node_symptoms import NodeReadiness, SymptomsByKind
from affidavit.remediation.execution.other_writers import Bystanders
from affidavit.remediation.execution.shared_executor_steps import ExecutorTools
from affidavit.remediation.execution.start_limits import Starts
from affidavit.remediation.kill_switch import KillSwitch
from affidavit.remediation.plan_notices import PlanNotices
from affidavit.remediation.plan_resolver import Resolver
from affidavit.remediation.proposing import Proposing
from affidavit.remediation.record.store import PlanStore
from affidavit.remediation.sources.argument_source_lookup import RecordedSources
from affidavit.remediation.sources.node_as_source import NodeIdentity
from affidavit.settings import Settings

OFFLINE = "offline"


@dataclass(frozen=True, kw_only=True)
class RemedyDesk:
    """What the commands work with. `executor` holds no credentials: each run and undo gets its own."""

    app: App
    clients: AwsClients
    plans: PlanStore
    proposing: Proposing
    approvals: Approvals
    executor: Executor

    def person(self) -> Approver:
        """Who runs this command, by the word of STS: not a name in the environment, not an option."""
        with translated("who you are"):
            arn = str(self.clients.client("sts", attempts=1).get_caller_identity()["Arn"])
        return Approver(identity=arn, proof=IdentityProof.AWS)


def build_remedy_desk(*, tell: Callable[[str], None] = lambda _: None) -> RemedyDesk:
    """`tell` hears how far an execution is."""
    settings = Settings.from_environment()
    app, clients = build_app(settings), AwsClients(settings.region)
    records = Records(app.objects)
    contexts = IncidentContexts(app.incident_context, records, app.clock, max_tokens=settings.max_tokens_per_incident)
    reader, plans = AwsStateReader(clients), PlanStore(app.incident_state, app.objects, app.clock)
    known_good = KnownGoodStore(objects=app.objects, table=app.state, clock=app.clock)
    nodes, inspector = _node_identity(app, reader), AwsStateInspector(clients)
    sources = RecordedSources(store=known_good, inspector=inspector, nodes=nodes)
    citations = StoredCitations(contexts=contexts, records=records, sources=sources, lines=NodeLines(app.objects))
    switch = KillSwitch(table=app.incident_state, clock=app.clock, settings=Settings.from_environment)
    approvals = Approvals(
        plans=plans,
        switch=switch,
        people=frozenset(name for name in settings.remediation_people.split(",") if name),
        executor_role=settings.remediation_role_arn,
        least=settings.remediation_approvers,
    )
    adviser = _adviser(settings)
    proposing = Proposing(
        states=IncidentStates(app.incident_state, app.clock),
        contexts=contexts,
        resolver=Resolver(
            reader=reader,
            sources=sources,
            clock=app.clock,
            expiry=timedelta(minutes=settings.remediation_expiry_minutes),
            proof_window=timedelta(minutes=settings.remediation_proof_minutes),
            least_approvals=settings.remediation_approvers,
            adviser=adviser,
        ),
        critic=Critic(reader=reader, sources=sources, citations=citations, clock=app.clock, adviser=adviser),
        plans=plans,
        tell=PlanNotices(
            channels=app.channels,
            told=ToldStates(app.incident_state, app.clock),
            style=NoticeStyle(console_url=settings.console_url, hides_personal=settings.enable_pii_redaction),
            failed=tell,
        ),
    )
    tools = ExecutorTools(
        plans=plans,
        reader=reader,
        door=AssumedRoleDoor(clients, settings.remediation_role_arn),
        switch=switch,
        citations=citations,
        symptoms=SymptomsByKind(
            functions=FunctionRuns(inspector=AwsWorkloadInspector(clients), clock=app.clock),
            nodes=NodeReadiness(
                directory=Ec2NodeDirectory(clients), control_plane=app.control_plane, region=settings.region
            ),
        ),
        starts=Starts(
            table=app.incident_state,
            clock=app.clock,
            per_hour=settings.remediation_per_hour,
            target_rest=timedelta(minutes=settings.remediation_target_minutes),
        ),
        clock=app.clock,
        sleep=time.sleep,
        tell=tell,
        bystanders=Bystanders(trail=inspector),
    )
    executor = Executor(tools=tools, approvals=approvals)
    return RemedyDesk(
        app=app, clients=clients, plans=plans, proposing=proposing, approvals=approvals, executor=executor
    )


def _node_identity(app: App, reader: AwsStateReader) -> NodeIdentity:
    settings = app.settings
    return NodeIdentity(
        reader=reader,
        directory=Ec2NodeDirectory(AwsClients(settings.region)),
        allowed_clusters=settings.clusters,
        region=settings.region,
        clock=app.clock,
        has_evidence=lambda instance_id: any(app.objects.list(markers_prefix(instance_id))),
    )


def _adviser(settings: Settings) -> RepairAdviser | None:
    """None without a chat model: rules choose, and checks decide, either way."""
    if settings.chat_provider == OFFLINE or not settings.chat_model_id:
        return None
    from affidavit.agent.chat.providers.model_choice import chat_model, provider_of
    from affidavit.agent.chat_repair_opinions import ChatRepairAdviser

    try:
        return ChatRepairAdviser(chat_model(settings), provider_of(settings))
    except AffidavitError:
        return None  # a key or a package is missing; `affidavit doctor model` says which
