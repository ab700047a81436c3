"""Incidents and scenarios for the agent's tests, with limits scaled down where a test must wait."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from affidavit.agent.limits import Patience
from affidavit.agent.run import ChatDiagnostician
from affidavit.agent.toolbox.tool_providers import DirectToolProvider, Toolbox
from affidavit.evaluation.incidents.workload_scenarios import SCENARIOS, WorkloadScenario, load_workload_scenario
from affidavit.evidence.diagnosis import NO_TOKENS, TokenUsage
from affidavit.evidence.incident_subject import Subject, SubjectKind
from affidavit.incidents.attempt.answer_ledger import Ledger
from affidavit.incidents.attempt.diagnostician_port import AgentResult, Limits
from affidavit.incidents.incident import Incident, IncidentId, Signal
from affidavit.ports.json import JsonValue

# Without the pauses; everything else as it is.
QUICK = Patience(backoff_base=0.01)


def scenario(name: str = "permission-s3-statement-removed") -> WorkloadScenario:
    return load_workload_scenario(SCENARIOS / f"{name}.yaml")


def incident(of: WorkloadScenario, message: str = "Errors is above its limit") -> Incident:
    return Incident(
        incident_id=IncidentId("incident-1"),
        delivery_id="delivery-1",
        account="123456789012",
        region="ca-central-1",
        subject=Subject(kind=SubjectKind.FUNCTION, id=of.function),
        resources=(of.function,),
        signal=Signal.ALARM,
        signal_name="data-processor-errors",
        message=message,
        occurred_at=datetime(2026, 3, 3, 10, 15, tzinfo=UTC),
    )


def toolbox(of: WorkloadScenario) -> Toolbox:
    return lambda _: DirectToolProvider(of.workloads())


class Memory:
    """A checkpoint that keeps all that was saved."""

    def __init__(self, state: JsonValue = None) -> None:
        self.saved: list[tuple[JsonValue, TokenUsage]] = []
        self._state = state

    def load(self) -> JsonValue:
        return self.saved[-1][0] if self.saved else self._state

    def save(self, state: JsonValue, usage: TokenUsage) -> None:
        self.saved.append((state, usage))


class CountingTools:
    """The scenario's tools, with every call noted."""

    def __init__(self, of: WorkloadScenario, answers: Mapping[str, str] | None = None) -> None:
        self._real = DirectToolProvider(of.workloads())
        self._answers = answers or {}
        self.calls: list[tuple[str, Mapping[str, JsonValue]]] = []

    async def call_tool(self, name: str, arguments: Mapping[str, JsonValue]) -> str:
        self.calls.append((name, arguments))
        await asyncio.sleep(0)
        return self._answers[name] if name in self._answers else await self._real.call_tool(name, arguments)

    async def __aenter__(self) -> "CountingTools":
        return self

    async def __aexit__(self, *_: object) -> None:
        pass


def investigate(
    chat,
    of: WorkloadScenario,
    *,
    tools=None,
    ledger: Ledger | None = None,
    seconds: float = 600,
    max_tokens: int = 100_000,
    spent: TokenUsage | None = None,
    checkpoint: Memory | None = None,
    patience: Patience = QUICK,
    message: str = "Errors is above its limit",
) -> AgentResult:
    diagnostician = ChatDiagnostician(
        chat=chat, toolbox=(lambda _: tools) if tools is not None else toolbox(of), patience=patience
    )
    return _result(diagnostician, of, message, ledger, seconds, max_tokens, spent, checkpoint)


def investigate_with(diagnostician: ChatDiagnostician, of: WorkloadScenario, *, seconds: float = 600) -> AgentResult:
    """With a chat model of whatever provider."""
    made = replace(diagnostician, toolbox=toolbox(of))
    return _result(made, of, "Errors is above its limit", None, seconds, 100_000, None, None)


def _result(diagnostician, of, message, ledger, seconds, max_tokens, spent, checkpoint) -> AgentResult:
    return diagnostician.investigate(
        incident(of, message),
        ledger=ledger if ledger is not None else Ledger(),
        limits=Limits(deadline=datetime.now(UTC) + timedelta(seconds=seconds), max_tokens=max_tokens),
        spent=spent or NO_TOKENS,
        checkpoint=checkpoint or Memory(),
    )
