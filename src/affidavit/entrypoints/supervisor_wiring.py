"""Settings → a supervisor. What investigates is imported when an incident really runs, never for a duplicate."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cache, cached_property
from typing import TYPE_CHECKING, assert_never

from affidavit.bootstrap import App
from affidavit.entrypoints.node_evidence_wiring import node_evidence, node_states
from affidavit.entrypoints.reverification_wiring import NodeLines
from affidavit.errors import InputRefused, UpstreamFailed
from affidavit.evidence.incident_subject import SubjectKind
from affidavit.incidents.attempt.diagnostician_port import Diagnostician
from affidavit.incidents.attempt.incidents_per_hour import Breaker
from affidavit.incidents.evidence.readiness import EvidenceAwaited, EvidenceCheck, EvidenceReady, Readiness
from affidavit.incidents.evidence.termination_holds import HeldNodes
from affidavit.incidents.incident import Incident
from affidavit.incidents.intake.node_gate import NodeGate
from affidavit.incidents.intake.other_account_alerts import Home
from affidavit.incidents.notices.incident_notice import NoticeStyle
from affidavit.incidents.store.blobs import Records
from affidavit.incidents.store.incident_leases import IncidentStates
from affidavit.incidents.store.stored_diagnoses import IncidentContexts
from affidavit.incidents.supervisor import Supervisor
from affidavit.incidents.telemetry import Emit, Telemetry
from affidavit.ports.json import JsonValue
from affidavit.settings import Settings

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from affidavit.agent.toolbox.tool_providers import Toolbox, ToolProvider
    from affidavit.evidence.citation_check import ByteSource
    from affidavit.incidents.attempt.evidence_without_chat_model import Degraded


def build_supervisor(
    app: App,
    *,
    emit: Emit,
    toolbox: "Callable[[], Toolbox] | None" = None,
    account: Callable[[], str] | None = None,
    source: "ByteSource | None" = None,
    evidence: EvidenceCheck | None = None,
) -> Supervisor:
    """`toolbox` replaces the tools that the settings name; then alerts of any account and region are theirs.

    `source` and `evidence` replace the stored bundles of nodes, and the choice among them. `account` says in which
    account this runs; without it AWS is asked when that matters. Touches no network.
    """
    settings, keep = app.settings, timedelta(days=app.settings.incident_ttl_days)
    source = source or NodeLines(app.objects)
    records, investigation = Records(app.objects), _Investigation(app, toolbox, source)
    states = IncidentStates(app.incident_state, app.clock, keep=keep, tells_people=bool(app.channels))
    telemetry, readiness = Telemetry(emit, app.clock), evidence or _LazyReadiness(app)
    return Supervisor(
        states=states,
        contexts=IncidentContexts(
            app.incident_context, records, app.clock, max_tokens=settings.max_tokens_per_incident, keep=keep
        ),
        records=records,
        breaker=Breaker(app.incident_state, app.clock, limit=settings.max_incidents_per_hour),
        telemetry=telemetry,
        clock=app.clock,
        diagnostician=investigation.diagnostician,
        max_tokens=settings.max_tokens_per_incident,
        degraded=investigation.degraded,
        source=source,
        channels=app.channels,
        notice_style=NoticeStyle(console_url=settings.console_url, hides_personal=settings.enable_pii_redaction),
        gate=_gate(app),
        readiness=readiness,
        held=_held(app, states, readiness, telemetry),
        home=Home() if toolbox is not None else Home(region=settings.region, account=account or _account(settings)),
    )


def _gate(app: App) -> NodeGate:
    return NodeGate(directory=app.directory, region=app.settings.region, clusters=app.settings.clusters)


def _held(app: App, states: IncidentStates, readiness: EvidenceCheck, telemetry: Telemetry) -> HeldNodes | None:
    if app.hooks is None:
        return None
    return HeldNodes(
        table=app.incident_state,
        clock=app.clock,
        hooks=app.hooks,
        states=states,
        evidence=readiness,
        telemetry=telemetry,
        own_hooks=tuple(name for name in app.settings.lifecycle_hooks.split(",") if name),
    )


class _LazyReadiness:
    """Loads what it takes to look at bundles when a node's incident really runs."""

    def __init__(self, app: App) -> None:
        self._app = app

    def of(self, incident: Incident, *, now: datetime, since: datetime | None) -> EvidenceReady | EvidenceAwaited:
        return self._readiness.of(incident, now=now, since=since)

    def is_saved(self, incident: Incident) -> bool:
        return self._readiness.is_saved(incident)

    @cached_property
    def _readiness(self) -> Readiness:
        fresh = timedelta(minutes=self._app.settings.bundle_fresh_minutes)
        return Readiness(evidence=node_evidence(self._app), fresh_for=fresh, states=node_states(self._app))


def _account(settings: Settings) -> Callable[[], str]:
    """The account whose credentials are in force; empty when nobody can say."""

    @cache
    def asked() -> str:
        from affidavit.adapters.aws.account_id import account_id
        from affidavit.adapters.aws.clients import AwsClients

        return account_id(AwsClients(settings.region))

    return asked


class _Investigation:
    def __init__(self, app: App, toolbox: "Callable[[], Toolbox] | None", source: "ByteSource") -> None:
        self._app, self._given, self._source = app, toolbox, source

    def diagnostician(self) -> Diagnostician:
        from affidavit.agent.chat.providers.model_choice import chat_model, provider_of
        from affidavit.agent.error_categories import classify_error
        from affidavit.agent.run import ChatDiagnostician
        from affidavit.agent.unable_diagnostician import UnableDiagnostician

        try:
            provider, chat = provider_of(self._app.settings), chat_model(self._app.settings)
        except (InputRefused, UpstreamFailed) as error:
            told = replace(classify_error(error), provider=self._app.settings.chat_provider)
            return UnableDiagnostician(error=told)
        return ChatDiagnostician(chat=chat, provider=provider, toolbox=self._toolbox, source=self._source)

    def degraded(self, incident: Incident) -> "Degraded":
        from affidavit.agent.prompt_messages import described
        from affidavit.agent.subjects.registry import investigable
        from affidavit.incidents.attempt.evidence_without_chat_model import Degraded, PartQuestion

        of, name = investigable(incident.subject.kind), incident.subject.id
        return Degraded(
            tools=_Asked(lambda: self._toolbox, incident),
            conclude=lambda entries: (
                None if of.mismatch(incident, entries) else of.conclude(entries, alert=described(incident))
            ),
            questions={
                part: PartQuestion(tool=tool, arguments=of.arguments(tool, name)) for part, tool in of.parts.items()
            },
            pinned=lambda question, entries: PartQuestion(
                tool=question.tool,
                arguments=of.scoped(question.tool, question.arguments, of.scope(incident, entries)),
            ),
            shrinks=of.shrinks,
            signature=of.signature,
        )

    @cached_property
    def _toolbox(self) -> "Toolbox":
        if self._given is not None:
            return self._given()
        return _served(self._app.settings) if self._app.settings.mcp_server_url else _direct(self._app)


def _served(settings: Settings) -> "Toolbox":
    from affidavit.agent.toolbox.mcp_tools import mcp_toolbox

    if settings.mcp_api_key:
        return mcp_toolbox(settings.mcp_server_url, _FixedKey(settings.mcp_api_key))
    from affidavit.adapters.aws.clients import AwsClients
    from affidavit.adapters.aws.mcp_api_key import SsmApiKey

    return mcp_toolbox(settings.mcp_server_url, SsmApiKey(AwsClients(settings.region), settings.mcp_api_key_parameter))


def _direct(app: App) -> "Toolbox":
    """Asks in this process: AWS about functions, the library about nodes."""

    def open_for(incident: Incident) -> "AbstractAsyncContextManager[ToolProvider]":
        match incident.subject.kind:
            case SubjectKind.FUNCTION:
                return _function_tools(app)(incident)
            case SubjectKind.NODE:
                return _node_tools(app)(incident)
            case _:
                assert_never(incident.subject.kind)

    return open_for


def _function_tools(app: App) -> "Toolbox":
    from affidavit.agent.subjects.function import direct_toolbox
    from affidavit.entrypoints.known_good_function_captures import build_captures

    captures = build_captures(app)
    return direct_toolbox(captures.inspector, app.clock, captures)


def _node_tools(app: App) -> "Toolbox":
    from affidavit.agent.toolbox.tool_providers import DirectToolProvider
    from affidavit.entrypoints.node_tool_calls import NodeTools

    return lambda _: DirectToolProvider(NodeTools(app))


@dataclass(frozen=True)
class _FixedKey:
    key: str

    def __call__(self, *, refresh: bool) -> str:
        return self.key


class _Asked:
    """Tools for a caller that is not asynchronous: one connection a call, which is what degraded mode can afford.

    `toolbox` is made when somebody asks: rules over what is recorded need none.
    """

    def __init__(self, toolbox: "Callable[[], Toolbox]", incident: Incident) -> None:
        self._toolbox, self._incident = toolbox, incident

    def call(self, tool: str, arguments: Mapping[str, JsonValue], *, within: timedelta) -> JsonValue:
        import asyncio

        from affidavit.agent.subjects.registry import investigable
        from affidavit.agent.toolbox.checked_calls import Refused, checked

        of = investigable(self._incident.subject.kind)
        try:
            return checked(tool, asyncio.run(asyncio.wait_for(self._ask(tool, arguments), within.total_seconds())), of)
        except TimeoutError as error:
            raise UpstreamFailed(f"{tool} did not answer within {within.total_seconds():.0f} s") from error
        except Refused as refusal:
            return {"error": f"{tool}: {refusal}"}

    async def _ask(self, tool: str, arguments: Mapping[str, JsonValue]) -> str:
        async with self._toolbox()(self._incident) as provider:
            return await provider.call_tool(tool, arguments)
