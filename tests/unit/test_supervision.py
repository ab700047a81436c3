"""Settings → a supervisor: what becomes of an incident when the settings are wrong."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from tests.support.clock import ClockAhead
from tests.support.investigations.incidents import an_incident

from affidavit.agent.toolbox.tool_providers import DirectToolProvider
from affidavit.bootstrap import build_app
from affidavit.entrypoints.supervisor_wiring import build_supervisor
from affidavit.evaluation.incidents.workload_scenarios import SCENARIOS, load_workload_scenario
from affidavit.evidence.diagnosis import FaultType
from affidavit.incidents.store.incident_leases import IncidentStates
from affidavit.incidents.store.state import Status, state_key
from affidavit.incidents.supervisor import Handled, Supervisor
from affidavit.incidents.telemetry import to_nowhere
from affidavit.ports.json import JsonValue
from affidavit.sandbox.chat_models.bedrock import PREFIX, BedrockSimulator, ConverseRequest, Refuses, Reply
from affidavit.sandbox.chat_models.honest_model import good
from affidavit.settings import Settings


def a_supervisor(folder: Path, **settings: str) -> Supervisor:
    scenario = load_workload_scenario(SCENARIOS / "permission-s3-statement-removed.yaml")
    app = build_app(Settings.from_environment({"AFFIDAVIT_DATA": str(folder), **settings}))
    tools = DirectToolProvider(scenario.workloads())
    return build_supervisor(app, emit=to_nowhere, toolbox=lambda: lambda _: tools)


@pytest.mark.parametrize(
    ("settings", "hint"),
    [
        ({}, "set CHAT_MODEL_ID"),
        ({"CHAT_PROVIDER": "no-such-provider", "CHAT_MODEL_ID": "x"}, "CHAT_PROVIDER"),
    ],
    ids=["no model id", "no such provider"],
)
def test_without_a_chat_model_that_can_be_made_the_incident_says_so_and_keeps_its_facts(
    tmp_path: Path, settings: dict[str, str], hint: str
) -> None:
    supervisor, incident = a_supervisor(tmp_path, **settings), an_incident()
    assert supervisor.receive(incident, remaining=timedelta(minutes=5)).handled is Handled.RAN
    state = supervisor.states.get_state(incident.incident_id)
    context = supervisor.contexts.get_context(incident.incident_id)
    assert state is not None
    assert context is not None
    assert (state.status, state.error_category) == (Status.ERROR, "bedrock_config")
    assert (state.attempts, state.next_attempt_at) == (1, None)
    assert hint in str(state.error_reason)
    assert len(context.ledger) == 5
    assert context.best_so_far is not None
    assert context.best_so_far.fault_types == (FaultType.PERMISSION_LOSS,)


def test_unless_a_setting_says_otherwise_an_incident_is_kept_for_thirty_days(tmp_path: Path) -> None:
    supervisor = a_supervisor(tmp_path, CHAT_PROVIDER="offline")
    supervisor.receive(an_incident(), remaining=timedelta(minutes=5))
    item = supervisor.states.table.get(state_key(an_incident().incident_id))
    assert item is not None
    created = datetime.fromisoformat(str(item["created_at"]))
    assert item["ttl"] == int((created + timedelta(days=30)).timestamp())


class HangingTools(DirectToolProvider):
    """Opens at once, and never answers."""

    async def call_tool(self, name: str, arguments: Mapping[str, JsonValue]) -> str:
        await asyncio.sleep(3600)
        return ""


def test_tools_that_hang_without_a_chat_model_do_not_cost_the_time_to_store_what_happened(tmp_path: Path) -> None:
    app = build_app(Settings.from_environment({"AFFIDAVIT_DATA": str(tmp_path)}))
    scenario = load_workload_scenario(SCENARIOS / "permission-s3-statement-removed.yaml")
    tools = HangingTools(scenario.workloads())
    supervisor = build_supervisor(app, emit=to_nowhere, toolbox=lambda: lambda _: tools)
    supervisor.diagnostician()  # loads what only an attempt needs, before the time runs
    limit = app.clock.now() + timedelta(seconds=23)
    assert supervisor.receive(an_incident(), remaining=timedelta(seconds=23)).handled is Handled.RAN
    state = supervisor.states.get_state(an_incident().incident_id)
    context = supervisor.contexts.get_context(an_incident().incident_id)
    assert state is not None
    assert (state.status, state.error_category) == (Status.ERROR, "bedrock_config")
    assert limit - state.updated_at > timedelta(seconds=10)
    assert context is not None
    assert context.evidence is not None
    assert "get_recent_logs did not answer within" in str(context.evidence["logs"])
    assert context.evidence["iam"] == {"error": "not asked: the tools cannot be reached"}


def test_an_incident_that_is_driven_again_goes_on_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both tries of the second reply fail, so the attempt ends; the next one asks for that reply and nothing before."""

    def script(request: ConverseRequest) -> Reply:
        refusal = Refuses(status=503, code="ServiceUnavailableException")
        return refusal if request.number in (2, 3) else good(request)

    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    with BedrockSimulator(scripts={"scripted": script}) as simulator:
        monkeypatch.setenv("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", simulator.url)
        supervisor, incident = a_supervisor(tmp_path, CHAT_MODEL_ID=f"{PREFIX}scripted"), an_incident()
        supervisor.receive(incident, remaining=timedelta(minutes=5))
        failed = supervisor.states.get_state(incident.incident_id)
        assert failed is not None
        assert (failed.status, failed.error_category) == (Status.ERROR, "bedrock_transient")
        assert failed.next_attempt_at is not None
        later = replace(
            supervisor,
            clock=ClockAhead(timedelta(minutes=5)),
            states=IncidentStates(supervisor.states.table, ClockAhead(timedelta(minutes=5))),
        )
        later.resume(incident.incident_id, remaining=timedelta(minutes=15))
    state = supervisor.states.get_state(incident.incident_id)
    context = supervisor.contexts.get_context(incident.incident_id)
    assert state is not None
    assert context is not None
    assert (state.status, state.attempts) == (Status.DIAGNOSED, 2)
    first, second, third, *after = simulator.requests
    assert [request.number for request in after] == [4, 5]
    assert len(after[0].messages) == len(third.messages) == len(second.messages) > len(first.messages)
    assert context.token_usage.total_tokens == 460 * 3


@pytest.mark.parametrize("text", ["no json", "[]", '{"something": "else"}', '{"role_name": 3}', '{"Timeout": NaN}'])
def test_without_a_chat_model_an_answer_of_the_wrong_shape_is_no_fact_either(tmp_path: Path, text: str) -> None:
    class Odd:
        async def call_tool(self, name: str, arguments: Mapping[str, JsonValue]) -> str:
            return text

        async def __aenter__(self) -> "Odd":
            return self

        async def __aexit__(self, *_: object) -> None:
            pass

    app = build_app(Settings.from_environment({"AFFIDAVIT_DATA": str(tmp_path), "CHAT_MODEL_ID": ""}))
    supervisor = build_supervisor(app, emit=to_nowhere, toolbox=lambda: lambda _: Odd())
    supervisor.receive(an_incident(), remaining=timedelta(minutes=5))
    context = supervisor.contexts.get_context(an_incident().incident_id)
    assert context is not None
    assert context.evidence is not None
    for part in ("logs", "iam", "lambda_config", "network"):
        told = context.evidence[part]
        assert isinstance(told, Mapping)
        assert set(told) == {"error"}
        assert "thrown away" in str(told["error"])
