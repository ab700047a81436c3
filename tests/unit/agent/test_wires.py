"""The real client of each provider, against a server on this machine that speaks its wire format."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from tests.support.peers.chat_wires import SIGNATURE, WIRES, Asked, ScriptedService, Turn, Wire, good
from tests.support.peers.http_peer import Answer, a_peer

from affidavit.agent.chat.providers.model_choice import chat_model, provider_of
from affidavit.agent.limits import Patience
from affidavit.agent.run import ChatDiagnostician
from affidavit.agent.tool_specifications import SUBMIT
from affidavit.evidence.diagnosis import ProducedBy
from affidavit.incidents.attempt.diagnostician_port import AgentResult, ErrorCategory, RunOutcome
from affidavit.settings import Settings

from .support import QUICK, investigate_with, scenario

# On a machine that does several things at once a client may take a while to load.
SHORT = Patience(backoff_base=0.01, reply=1.0)
Run = Callable[..., tuple[AgentResult, ScriptedService]]


@pytest.fixture(params=sorted(WIRES))
def wire(request: pytest.FixtureRequest) -> Wire:
    return WIRES[request.param]


@pytest.fixture
def run(wire: Wire) -> Iterator[Run]:
    """Investigate the usual incident with a service that follows a script."""
    with ExitStack() as stack:

        def start(script: Any, patience: Patience = QUICK, **changes: Any) -> tuple[AgentResult, ScriptedService]:
            service = ScriptedService(wire, script)
            peer = stack.enter_context(a_peer(respond=service))
            made = settings(wire, peer.url)
            diagnostician = ChatDiagnostician(
                chat=chat_model(made), provider=provider_of(made), toolbox=lambda _: None, patience=patience
            )
            return investigate_with(diagnostician, scenario(), **changes), service

        yield start


def settings(wire: Wire, url: str, **more: str) -> Settings:
    given = {"CHAT_PROVIDER": wire.name, "CHAT_MODEL_ID": "model-x", "CHAT_BASE_URL": url, "CHAT_API_KEY": "k", **more}
    return Settings.from_environment(given)


def refusing(wire: Wire, status: int, **headers: str) -> Callable[[Asked], Answer]:
    return lambda _: wire.refuses(status, "refused by script", **headers)


def test_parallel_calls_with_words_and_thinking_lead_to_a_diagnosis(run: Run) -> None:
    result, service = run(good)
    assert result.outcome is RunOutcome.DIAGNOSED, result
    assert result.diagnosis is not None
    assert result.diagnosis.produced_by is ProducedBy.CHAT_MODEL
    assert max(len(asked.answered) for asked in service.asked) > 1
    assert result.token_usage.total_tokens == 460 * len(service.asked)


def test_no_sampling_parameter_is_sent_and_nothing_streams_unless_the_client_knows_no_other_way(run: Run) -> None:
    _, service = run(good)
    body = service.bodies[0]
    told = {**body, **(body.get("generationConfig") or {}), **(body.get("options") or {})}
    assert not {"temperature", "top_p", "topP", "top_k", "topK"} & {
        name for name, value in told.items() if value is not None
    }
    assert not told.get("stream") or service.wire.name == "ollama"


def test_a_temperature_that_was_asked_for_is_sent(wire: Wire) -> None:
    service = ScriptedService(wire, lambda _: Turn(text="hello"))
    with a_peer(respond=service) as peer:
        chat_model(settings(wire, peer.url, CHAT_TEMPERATURE="0.25")).invoke("hi")
    body = service.bodies[0]
    told = {**body, **(body.get("generationConfig") or {}), **(body.get("options") or {})}
    assert told["temperature"] == 0.25


def test_the_key_goes_where_the_provider_looks_for_it(wire: Wire) -> None:
    with a_peer(respond=ScriptedService(wire, lambda _: Turn(text="hello"))) as peer:
        chat_model(settings(wire, peer.url)).invoke("hi")
    places = {"authorization", "x-api-key", "x-goog-api-key"}
    given = [value for name, value in peer.sent[0].headers.items() if name in places]
    assert [value.removeprefix("Bearer ") for value in given] == ([] if wire.name == "ollama" else ["k"])


@pytest.mark.parametrize("name", ["anthropic", "openai"])
def test_prompts_go_where_our_setting_says_whatever_other_variables_name(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    wire = WIRES[name]
    with a_peer() as elsewhere, a_peer(respond=ScriptedService(wire, lambda _: Turn(text="hello"))) as peer:
        for variable in ("ANTHROPIC_BASE_URL", "ANTHROPIC_API_URL", "OPENAI_BASE_URL", "OPENAI_API_BASE"):
            monkeypatch.setenv(variable, elsewhere.url)
        monkeypatch.setenv("LANGSMITH_GATEWAY", "true")
        monkeypatch.setenv("LANGSMITH_GATEWAY_API_KEY", "other")
        chat_model(settings(wire, peer.url)).invoke("hi")
        assert elsewhere.sent == []
        usual: Any = chat_model(settings(wire, ""))
        assert str(usual.__dict__.get(f"{name}_api_url") or usual.openai_api_base).startswith(f"https://api.{name}.com")


@pytest.mark.parametrize(
    ("status", "category", "calls"),
    [
        (401, ErrorCategory.BEDROCK_AUTH, 1),
        (403, ErrorCategory.BEDROCK_AUTH, 1),
        (404, ErrorCategory.BEDROCK_CONFIG, 1),
        (408, ErrorCategory.BEDROCK_TRANSIENT, 2),
        (413, ErrorCategory.BEDROCK_CONFIG, 1),
        (429, ErrorCategory.BEDROCK_TRANSIENT, 2),
        (500, ErrorCategory.BEDROCK_TRANSIENT, 2),
        (529, ErrorCategory.BEDROCK_TRANSIENT, 2),
    ],
)
def test_a_status_is_told_by_category_and_provider_and_tried_again_only_where_that_helps(
    wire: Wire, run: Run, status: int, category: ErrorCategory, calls: int
) -> None:
    result, service = run(refusing(wire, status))
    assert result.error is not None
    assert (result.error.category, result.error.provider) == (category, wire.name), result.error
    assert len(service.asked) == calls, "the client itself must not try again"


def test_a_pause_that_is_longer_than_the_run_ends_it_for_a_later_attempt(wire: Wire, run: Run) -> None:
    result, service = run(refusing(wire, 429, **{"Retry-After": "3600"}))
    assert result.error is not None
    assert result.error.category is ErrorCategory.BEDROCK_TRANSIENT
    assert len(service.asked) <= 2


def test_a_service_that_hangs_is_transient(wire: Wire, run: Run) -> None:
    result, _ = run(lambda _: Answer(hang=True), patience=SHORT)
    assert result.error is not None
    assert (result.error.category, result.error.provider) == (ErrorCategory.BEDROCK_TRANSIENT, wire.name)


def test_an_answer_that_is_no_json_is_the_chat_models_failure(wire: Wire, run: Run) -> None:
    result, _ = run(lambda _: Answer(body=b"<html>Bad gateway</html>", headers={"content-type": "text/html"}))
    assert result.error is not None
    assert result.error.provider == wire.name
    assert result.error.category in (ErrorCategory.BEDROCK_TRANSIENT, ErrorCategory.BEDROCK_CONFIG)


def test_nobody_at_the_port_is_transient(wire: Wire) -> None:
    with a_peer() as peer:
        made = settings(wire, peer.url)
    diagnostician = ChatDiagnostician(
        chat=chat_model(made), provider=provider_of(made), toolbox=lambda _: None, patience=QUICK
    )
    result = investigate_with(diagnostician, scenario())
    assert result.error is not None
    assert result.error.category is ErrorCategory.BEDROCK_TRANSIENT


# Ollama has no word for a refusal.
@pytest.mark.parametrize("wire", [one for one in WIRES.values() if one.refusal], ids=lambda one: one.name)
def test_a_refusal_ends_the_run_at_once_and_is_told_as_one(wire: Wire, run: Run) -> None:
    result, service = run(lambda _: Turn(text="I cannot help with that.", stop=wire.refusal))
    assert len(service.asked) == 1
    said = (*result.gaps, *(result.diagnosis.gaps if result.diagnosis else ()))
    assert any("refused to answer" in gap for gap in said), result


def test_silence_is_reminded_twice_and_told_as_silence(run: Run) -> None:
    result, service = run(lambda _: Turn())
    assert len(service.asked) == 3
    said = (*result.gaps, *(result.diagnosis.gaps if result.diagnosis else ()))
    assert any("called no tool" in gap for gap in said), result


def test_a_reply_that_was_cut_off_is_asked_for_again_in_shorter_form(wire: Wire, run: Run) -> None:
    def cut_once(asked: Asked) -> Turn:
        return Turn(text="I shall now", stop=wire.cut) if asked.turns == 0 else good(asked)

    result, service = run(cut_once)
    assert result.outcome is RunOutcome.DIAGNOSED
    assert any("cut off" in str(body) for body in service.bodies)


def test_a_tool_that_does_not_exist_is_answered_and_the_run_goes_on(run: Run) -> None:
    def invents_once(asked: Asked) -> Turn:
        return Turn(calls=[("delete_everything", {})]) if asked.turns == 0 else good_after(asked)

    def good_after(asked: Asked) -> Turn:
        known = tuple(one for one in asked.answered if one.tool != "delete_everything")
        return good(Asked(alert=asked.alert, answered=known, forced=asked.forced, turns=asked.turns))

    result, _ = run(invents_once)
    assert result.outcome is RunOutcome.DIAGNOSED


def test_a_service_that_refuses_to_be_forced_is_asked_in_words(wire: Wire, run: Run) -> None:
    def unforced(asked: Asked) -> Turn | Answer:
        return wire.refuses(400, "tool_choice is not supported with thinking") if asked.forced else good_late(asked)

    def good_late(asked: Asked) -> Turn:
        return good(Asked(alert=asked.alert, answered=asked.answered, forced=SUBMIT, turns=asked.turns))

    # Less than 90 s are left, so the answer is asked for at once.
    result, service = run(unforced, seconds=80)
    assert result.error is None, result.error
    assert [bool(asked.forced) for asked in service.asked].count(True) == (0 if wire.name == "ollama" else 1)


@pytest.mark.parametrize("arguments", ['{"lambda_name": "data-pro', "no json"])
def test_a_call_whose_arguments_cannot_be_read_is_said_to_be_unreadable(arguments: str) -> None:
    wire = WIRES["openai"]

    def garbled_once(asked: Asked) -> Turn:
        return Turn(calls=[("get_recent_logs", {})], raw_arguments=arguments) if asked.turns == 0 else good(asked)

    service = ScriptedService(wire, garbled_once)
    with a_peer(respond=service) as peer:
        made = settings(wire, peer.url)
        diagnostician = ChatDiagnostician(
            chat=chat_model(made), provider=provider_of(made), toolbox=lambda _: None, patience=QUICK
        )
        result = investigate_with(diagnostician, scenario())
    assert result.outcome is RunOutcome.DIAGNOSED
    assert "could not be read" in str(service.bodies[1]) or "not valid" in str(service.bodies[1])


def test_a_call_whose_arguments_are_no_object_is_an_unusable_reply_and_asked_for_again() -> None:
    wire, replies = WIRES["openai"], [Turn(calls=[("get_recent_logs", {})], raw_arguments="[1]")]
    service = ScriptedService(wire, lambda asked: replies.pop() if replies else good(asked))
    with a_peer(respond=service) as peer:
        made = settings(wire, peer.url)
        diagnostician = ChatDiagnostician(
            chat=chat_model(made), provider=provider_of(made), toolbox=lambda _: None, patience=QUICK
        )
        assert investigate_with(diagnostician, scenario()).outcome is RunOutcome.DIAGNOSED


# Gemini's signatures are checked in every run above.
@pytest.mark.parametrize("wire", [WIRES["anthropic"]], ids=["anthropic"])
def test_claude_is_sent_its_thinking_back_with_the_signature(wire: Wire, run: Run) -> None:
    _, service = run(good)
    later = service.bodies[-1]["messages"]
    blocks = [block for message in later if message["role"] == "assistant" for block in message["content"]]
    assert {"type": "thinking", "thinking": "hm", "signature": SIGNATURE} in blocks
