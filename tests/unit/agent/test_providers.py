"""The chat model that the settings name, or a clear word why there is none."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel

from affidavit.adapters.aws.chat import BedrockChat
from affidavit.agent.chat.offline import OfflineChat
from affidavit.agent.chat.providers import chat_model
from affidavit.agent.error_categories import classify_error
from affidavit.agent.errors import ChatModelFailed
from affidavit.errors import InputRefused
from affidavit.incidents.attempt.diagnostician import ErrorCategory, RunOutcome
from affidavit.sandbox.chat_models.bedrock import PREFIX, Refuses
from affidavit.sandbox.chat_models.scripts import denied, good, throttled
from affidavit.settings import Settings

from .support import investigate, scenario


def test_bedrock_needs_a_model_to_be_named() -> None:
    with pytest.raises(InputRefused, match="no chat model is named"):
        chat_model(Settings.from_environment({}))


def test_the_offline_provider_needs_nothing() -> None:
    assert isinstance(chat_model(Settings.from_environment({"CHAT_PROVIDER": "offline"})), OfflineChat)


def test_a_provider_whose_package_is_missing_says_which() -> None:
    with pytest.raises(InputRefused, match="langchain") as raised:
        chat_model(Settings.from_environment({"CHAT_PROVIDER": "openai", "CHAT_MODEL_ID": "x"}))
    assert "install" in raised.value.hint


def test_bedrock_is_made_without_a_request(aws_environment) -> None:
    made = chat_model(Settings.from_environment({"CHAT_MODEL_ID": "ca.anthropic.claude-x"}))
    assert made.client.meta.config.retries["total_max_attempts"] == 1
    assert (made.client.meta.config.connect_timeout, made.client.meta.config.read_timeout) == (10, 60)


ARN = "arn:aws:bedrock:ca-central-1:123456789012:"


@pytest.mark.parametrize(
    ("model_id", "provider"),
    [
        ("anthropic.claude-x", "anthropic"),
        ("us.anthropic.claude-x", "anthropic"),
        (f"{ARN}inference-profile/us.anthropic.claude-x", "anthropic"),
        (f"{ARN}inference-profile/us-gov.amazon.nova-x", "amazon"),
        ("arn:aws:bedrock:ca-central-1::foundation-model/cohere.command-r", "cohere"),
        (f"{ARN}provisioned-model/abcdefgh", "unknown"),
    ],
)
def test_ids_and_arns_of_profiles_both_name_a_chat_model(aws_environment, model_id: str, provider: str) -> None:
    made = chat_model(Settings.from_environment({"CHAT_MODEL_ID": model_id}))
    assert isinstance(made, BedrockChat)
    assert (made.model_id, made.provider) == (model_id, provider)


def test_a_profile_that_does_not_say_what_is_behind_it_is_looked_up_and_an_outage_is_transient(aws_environment) -> None:
    aws_environment.setenv("AWS_ENDPOINT_URL_BEDROCK", "http://127.0.0.1:9")
    with pytest.raises(ChatModelFailed) as caught:
        chat_model(Settings.from_environment({"CHAT_MODEL_ID": f"{ARN}application-inference-profile/abc"}))
    assert classify_error(caught.value).category is ErrorCategory.BEDROCK_TRANSIENT


# --- through LangChain -----------------------------------------------------------------------------------------------

# What a provider's package raises: a status, or a name of its own for a lost line.
STAND_IN = """
from affidavit.agent.chat.offline import OfflineChat

class ApiStatusError(Exception):
    def __init__(self, status_code):
        super().__init__(f"status {status_code}")
        self.status_code = status_code

class APITimeoutError(Exception):
    pass

class Chat(OfflineChat):
    model: str

    def _generate(self, *args, **named):
        if self.model.isdigit():
            raise ApiStatusError(int(self.model))
        if self.model == "slow":
            raise APITimeoutError("no answer")
        return super()._generate(*args, **named)

def init_chat_model(model, *, model_provider, temperature, max_retries):
    assert (temperature, max_retries) == (0, 0)
    if model_provider == "unknown":
        raise ValueError("Unsupported provider")
    return Chat(model=model)
"""


@pytest.fixture
def langchain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], BaseChatModel]]:
    """A stand-in for the package `langchain`, which is not among our dependencies, found as the real one would be."""
    package = tmp_path / "langchain"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "chat_models.py").write_text(STAND_IN)
    monkeypatch.syspath_prepend(str(tmp_path))
    forget_langchain()
    yield lambda model: chat_model(Settings.from_environment({"CHAT_PROVIDER": "acme", "CHAT_MODEL_ID": model}))
    forget_langchain()


def forget_langchain() -> None:
    for name in [one for one in sys.modules if one.partition(".")[0] == "langchain"]:
        del sys.modules[name]


def test_another_provider_is_made_by_langchain_and_investigates(langchain: Callable[[str], BaseChatModel]) -> None:
    result = investigate(langchain("large"), scenario())
    assert result.outcome is RunOutcome.DIAGNOSED


@pytest.mark.parametrize(
    ("model", "category", "calls"),
    [
        ("429", ErrorCategory.BEDROCK_TRANSIENT, 2),
        ("503", ErrorCategory.BEDROCK_TRANSIENT, 2),
        ("401", ErrorCategory.BEDROCK_AUTH, 1),
        ("404", ErrorCategory.BEDROCK_CONFIG, 1),
        ("slow", ErrorCategory.BEDROCK_TRANSIENT, 2),
    ],
)
def test_what_another_provider_raises_is_the_chat_models_failure(
    langchain: Callable[[str], BaseChatModel], model: str, category: ErrorCategory, calls: int
) -> None:
    made: Any = langchain(model)
    asked: list[str] = []
    kind = type(made)

    class Counted(kind):
        def _generate(self, *args: Any, **named: Any) -> Any:
            asked.append(model)
            return super()._generate(*args, **named)

    result = investigate(Counted(model=model), scenario())
    assert result.error is not None
    assert result.error.category is category
    assert len(asked) == calls


@pytest.mark.usefixtures("langchain")
def test_a_provider_that_langchain_does_not_know_is_refused() -> None:
    with pytest.raises(InputRefused, match="knows no provider 'unknown'"):
        chat_model(Settings.from_environment({"CHAT_PROVIDER": "unknown", "CHAT_MODEL_ID": "x"}))


@pytest.mark.parametrize(
    ("script", "outcome", "category"),
    [
        (good, RunOutcome.DIAGNOSED, None),
        (denied, RunOutcome.ERROR, ErrorCategory.BEDROCK_AUTH),
        (throttled, RunOutcome.ERROR, ErrorCategory.BEDROCK_TRANSIENT),
    ],
)
def test_the_real_langchain_makes_a_chat_model_that_investigates(
    serve, aws_environment, script, outcome: RunOutcome, category: ErrorCategory | None
) -> None:
    pytest.importorskip(
        "langchain.chat_models",
        reason="needs langchain, which is no dependency of ours: pip install langchain, then run again",
    )
    aws_environment.setenv("AWS_DEFAULT_REGION", "ca-central-1")
    serve(script)
    chat = chat_model(
        Settings.from_environment({"CHAT_PROVIDER": "bedrock_converse", "CHAT_MODEL_ID": f"{PREFIX}scripted"})
    )
    result = investigate(chat, scenario())
    assert result.outcome is outcome
    assert category is None or (result.error is not None and result.error.category is category)


def test_what_every_turn_repeats_is_marked_for_the_cache(serve, chat) -> None:
    simulator = serve(good)
    assert investigate(chat(), scenario()).outcome is RunOutcome.DIAGNOSED
    assert all(1 < request.cache_points <= 4 for request in simulator.requests)
    assert "cachePoint" in simulator.requests[0].body["system"][-1]
    assert "cachePoint" in simulator.requests[0].body["toolConfig"]["tools"][-1]


def test_a_model_that_refuses_cache_points_is_asked_without_them_from_then_on(serve, chat) -> None:
    def old(request):
        is_refused = request.cache_points > 0
        told = "You invoked an unsupported model or your request did not allow prompt caching."
        return Refuses(status=400, code="ValidationException", message=told) if is_refused else good(request)

    simulator = serve(old)
    assert investigate(chat(), scenario()).outcome is RunOutcome.DIAGNOSED
    assert [request.cache_points > 0 for request in simulator.requests].count(True) == 1


@pytest.mark.parametrize(
    ("model_id", "is_cached"),
    [("ca.anthropic.claude-x", True), ("us.amazon.nova-pro-v1:0", True), ("meta.llama3-70b-instruct-v1:0", False)],
)
def test_only_models_that_keep_prompts_are_sent_cache_points(aws_environment, model_id: str, is_cached: bool) -> None:
    made = chat_model(Settings.from_environment({"CHAT_MODEL_ID": model_id}))
    assert bool(made._caching) is is_cached
