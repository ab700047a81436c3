"""Acceptance 11: the real agent, killed with SIGKILL at every store, chat-model and tool call, then delivered again."""

import os
import signal
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from langchain_core.outputs import ChatResult
from tests.support.clock import ClockAhead
from tests.support.faults import Boundaries, FailingObjectStore, FailingTable, sigkill
from tests.support.investigations.incidents import memory_folder

from affidavit.agent.chat.offline import OfflineChat
from affidavit.agent.run import ChatDiagnostician
from affidavit.agent.toolbox.tool_providers import DirectToolProvider
from affidavit.bootstrap import App, build_app
from affidavit.entrypoints.supervisor_wiring import build_supervisor
from affidavit.evaluation.incidents.workload_scenarios import SCENARIOS, WorkloadScenario, load_workload_scenario
from affidavit.incidents.incident import Incident
from affidavit.incidents.intake.event_reader import readings_of
from affidavit.incidents.notices.channel import Channel, ChannelName
from affidavit.incidents.store.state import Status
from affidavit.incidents.supervisor import Supervisor
from affidavit.incidents.telemetry import to_nowhere
from affidavit.incidents.watchdog import tick
from affidavit.ports.json import JsonValue
from affidavit.ports.notice_record import Notice
from affidavit.settings import Settings
from affidavit.verification.pointer_check import verify

REMAINING = timedelta(minutes=5)


class CountedChat(OfflineChat):
    """Notes every call in a file, which outlives the process."""

    notes: Path
    boundaries: Any

    def _generate(self, *args: Any, **named: Any) -> ChatResult:
        with self.boundaries.around("chat"):
            with self.notes.open("a") as file:
                file.write("called\n")
            return super()._generate(*args, **named)


class CountedTools(DirectToolProvider):
    async def call_tool(self, name: str, arguments: Mapping[str, JsonValue]) -> str:
        with BOUNDARIES[0].around(f"tool {name}"):
            return await super().call_tool(name, arguments)


@dataclass
class CountedMail:
    """People, told in a file."""

    notes: Path
    boundaries: Boundaries

    def takes(self, notice: Notice) -> bool:
        return True

    def notify(self, notice: Notice, *, earlier: str) -> str:
        with self.boundaries.around("notify"), self.notes.open("a") as file:
            file.write(f"{notice.key}\n")
        return ""


BOUNDARIES = [Boundaries()]


@pytest.fixture(scope="module")
def scenario() -> WorkloadScenario:
    return load_workload_scenario(SCENARIOS / "permission-s3-statement-removed.yaml")


def a_supervisor(folder: Path, scenario: WorkloadScenario, boundaries: Boundaries, clock: ClockAhead) -> Supervisor:
    BOUNDARIES[0] = boundaries
    app: App = build_app(Settings.from_environment({"AFFIDAVIT_DATA": str(folder)}))
    watched = replace(
        app,
        clock=clock,
        objects=FailingObjectStore(app.objects, boundaries),
        incident_state=FailingTable(app.incident_state, boundaries),
        incident_context=FailingTable(app.incident_context, boundaries),
        channels=(Channel(name=ChannelName.WEBHOOK, notifier=CountedMail(folder / "mail", boundaries)),),
    )
    chat = CountedChat(notes=folder / "calls", boundaries=boundaries)
    agent = ChatDiagnostician(chat=chat, toolbox=lambda _: CountedTools(scenario.workloads()))
    return replace(build_supervisor(watched, emit=to_nowhere), diagnostician=lambda: agent)


def the_incident(scenario: WorkloadScenario) -> Incident:
    (notice,) = readings_of(scenario.event(), now=datetime(2026, 3, 3, tzinfo=UTC))
    assert isinstance(notice, Incident)
    return notice


def chat_calls(folder: Path) -> int:
    notes = folder / "calls"
    return len(notes.read_text().splitlines()) if notes.exists() else 0


def killed(folder: Path, scenario: WorkloadScenario, at: int) -> bool:
    """Whether the child died by our hand; it does not when it has fewer boundaries than that."""
    child = os.fork()
    if child == 0:
        supervisor = a_supervisor(folder, scenario, Boundaries(at=at, act=sigkill), ClockAhead())
        supervisor.receive(the_incident(scenario), remaining=REMAINING)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL


@pytest.mark.slow
def test_killed_at_any_call_the_incident_ends_once_and_asks_at_most_once_more(scenario: WorkloadScenario) -> None:
    with memory_folder() as folder:
        _sweep(folder, scenario)


def _sweep(place: Path, scenario: WorkloadScenario) -> None:
    plain = Boundaries()
    folder = place / "undisturbed"
    a_supervisor(folder, scenario, plain, ClockAhead()).receive(the_incident(scenario), remaining=REMAINING)
    normal = chat_calls(folder)
    assert normal >= 2
    assert {name.split()[0].split(".")[0] for name in plain.reached} >= {"chat", "tool", "objects", "incident-state"}
    for number, name in enumerate(plain.reached):
        folder = place / str(number)
        folder.mkdir()
        assert killed(folder, scenario, number), f"{number} {name} was not reached"
        _recovers(folder, scenario, normal, f"{number} {name}")


def _recovers(folder: Path, scenario: WorkloadScenario, normal: int, where: str) -> None:
    for ahead in (timedelta(minutes=11), timedelta(minutes=22)):
        supervisor = a_supervisor(folder, scenario, Boundaries(), ClockAhead(ahead))
        supervisor.receive(the_incident(scenario), remaining=REMAINING)
        tick(supervisor, until=supervisor.clock.now() + REMAINING)
    incident_id = the_incident(scenario).incident_id
    state, context = supervisor.states.get_state(incident_id), supervisor.contexts.get_context(incident_id)
    assert state is not None, where
    assert state.status is Status.DIAGNOSED, f"{where}: {state.error_reason}"
    assert context is not None, where
    assert context.diagnosis is not None, where
    assert verify(context.diagnosis, supervisor.records.entries(context.ledger)).holds, where
    assert chat_calls(folder) <= normal + 1, where
    told = (folder / "mail").read_text().splitlines()
    # Twice only when it died between telling and noting so.
    assert len(told) == 1 or (len(told) == 2 and where.split()[1] in ("notify", "incident-state.write")), where
    assert len(set(told)) == 1, where
