"""Settings → a supervisor. What investigates is imported when an incident really runs, never for a duplicate."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from typing import TYPE_CHECKING

from affidavit.bootstrap import App
from affidavit.errors import EvidenceUnavailable, InputRefused, UpstreamFailed
from affidavit.incidents.breaker import Breaker
from affidavit.incidents.context import IncidentContexts
from affidavit.incidents.diagnostician import Diagnostician
from affidavit.incidents.incident import Incident
from affidavit.incidents.records import Records
from affidavit.incidents.states import IncidentStates
from affidavit.incidents.supervisor import Supervisor
from affidavit.incidents.telemetry import Emit, Telemetry
from affidavit.ports import JsonValue, ObjectStore
from affidavit.settings import Settings

if TYPE_CHECKING:
    from affidavit.agent.toolbox import Toolbox
    from affidavit.evidence.finding import ByteRange, Evidence
    from affidavit.incidents.degraded import Degraded
    from affidavit.nodes.stored_lines import StoredLines


def build_supervisor(app: App, *, emit: Emit, toolbox: "Callable[[], Toolbox] | None" = None) -> Supervisor:
    """`toolbox` replaces the tools that the settings name. Touches no network."""
    settings, keep = app.settings, timedelta(days=app.settings.incident_ttl_days)
    records, investigation = Records(app.objects), _Investigation(app, toolbox)
    return Supervisor(
        states=IncidentStates(app.incident_state, app.clock, keep=keep, tells_people=app.notifier is not None),
        contexts=IncidentContexts(
            app.incident_context, records, app.clock, max_tokens=settings.max_tokens_per_incident, keep=keep
        ),
        records=records,
        breaker=Breaker(app.incident_state, app.clock, limit=settings.max_incidents_per_hour),
        telemetry=Telemetry(emit, app.clock),
        clock=app.clock,
        diagnostician=investigation.diagnostician,
        max_tokens=settings.max_tokens_per_incident,
        degraded=investigation.degraded,
        source=NodeLines(app.objects),
        notifier=app.notifier,
    )


class _Investigation:
    def __init__(self, app: App, toolbox: "Callable[[], Toolbox] | None") -> None:
        self._app, self._given = app, toolbox

    def diagnostician(self) -> Diagnostician:
        from affidavit.agent.errors import classify_error
        from affidavit.agent.providers import chat_model
        from affidavit.agent.run import ChatDiagnostician
        from affidavit.agent.unable import UnableDiagnostician

        try:
            chat = chat_model(self._app.settings)
        except (InputRefused, UpstreamFailed) as error:
            return UnableDiagnostician(error=classify_error(error))
        return ChatDiagnostician(chat=chat, toolbox=self._toolbox, source=NodeLines(self._app.objects))

    def degraded(self, incident: Incident) -> "Degraded":
        from affidavit.agent.rules import best_so_far
        from affidavit.incidents.degraded import Degraded

        return Degraded(tools=_Asked(lambda: self._toolbox, incident), conclude=lambda _, entries: best_so_far(entries))

    @cached_property
    def _toolbox(self) -> "Toolbox":
        if self._given is not None:
            return self._given()
        return _served(self._app.settings) if self._app.settings.mcp_server_url else _direct(self._app)


def _served(settings: Settings) -> "Toolbox":
    from affidavit.agent.mcp_tools import mcp_toolbox

    if settings.mcp_api_key:
        return mcp_toolbox(settings.mcp_server_url, _FixedKey(settings.mcp_api_key))
    from affidavit.adapters.aws.api_key import SsmApiKey
    from affidavit.adapters.aws.clients import AwsClients

    return mcp_toolbox(settings.mcp_server_url, SsmApiKey(AwsClients(settings.region), settings.mcp_api_key_parameter))


def _direct(app: App) -> "Toolbox":
    from affidavit.adapters.aws.clients import AwsClients
    from affidavit.adapters.aws.workloads import AwsWorkloadInspector
    from affidavit.agent.toolbox import direct_toolbox

    return direct_toolbox(AwsWorkloadInspector(AwsClients(app.settings.region)), app.clock)


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

        from affidavit.agent.calls import Refused, checked

        try:
            return checked(tool, asyncio.run(asyncio.wait_for(self._ask(tool, arguments), within.total_seconds())))
        except TimeoutError as error:
            raise UpstreamFailed(f"{tool} did not answer within {within.total_seconds():.0f} s") from error
        except Refused as refusal:
            return {"error": f"{tool}: {refusal}"}

    async def _ask(self, tool: str, arguments: Mapping[str, JsonValue]) -> str:
        async with self._toolbox()(self._incident) as provider:
            return await provider.call_tool(tool, arguments)


class NodeLines:
    """A ByteSource over the stored files of every node: a key begins with its instance."""

    def __init__(self, objects: ObjectStore) -> None:
        self._objects = objects
        self._instances: dict[str, StoredLines] = {}

    def read(self, evidence: "Evidence", span: "ByteRange") -> bytes:
        return self._of(evidence).read(evidence, span)

    def newlines_before(self, evidence: "Evidence", offset: int) -> int:
        return self._of(evidence).newlines_before(evidence, offset)

    def _of(self, evidence: "Evidence") -> "StoredLines":
        from affidavit.nodes.stored_lines import LineIndexes, StoredLines

        folder = evidence.full_key.partition("/")[0]
        if not folder.startswith("eks_"):
            raise EvidenceUnavailable(
                f"{evidence.full_key} is not in a bundle that is stored here", hint="ingest the bundle first"
            )
        instance = folder.removeprefix("eks_")
        if instance not in self._instances:
            self._instances[instance] = StoredLines(instance, self._objects, LineIndexes())
        return self._instances[instance]
