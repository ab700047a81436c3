"""The chat model that the settings name, or a clear word why there is none."""

import sys

import pytest

from affidavit.adapters.aws.bedrock_chat import BedrockChat
from affidavit.agent.chat.offline import OfflineChat
from affidavit.agent.chat.providers.model_choice import PROVIDERS, chat_model
from affidavit.agent.chat.providers.provider import ChatProvider
from affidavit.agent.error_categories import classify_error
from affidavit.agent.errors import ChatModelFailed
from affidavit.errors import InputRefused
from affidavit.incidents.attempt.diagnostician_port import ErrorCategory, RunOutcome
from affidavit.sandbox.chat_models.bedrock import Refuses
from affidavit.sandbox.chat_models.honest_model import good
from affidavit.settings import Settings

from .support import investigate, scenario


def test_bedrock_needs_a_model_to_be_named() -> None:
    with pytest.raises(InputRefused, match="no chat model is named for the provider bedrock"):
        chat_model(Settings.from_environment({}))


def test_the_offline_provider_needs_nothing() -> None:
    assert isinstance(chat_model(Settings.from_environment({"CHAT_PROVIDER": "offline"})), OfflineChat)


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


# --- other providers -------------------------------------------------------------------------------------------------

KEYS = {"anthropic": "ANTHROPIC_API_KEY", "openai": "OPENAI_API_KEY", "google": "GOOGLE_API_KEY"}


def test_every_provider_of_the_table_is_in_the_settings_words() -> None:
    assert set(PROVIDERS) == set(ChatProvider)
    described = Settings.model_fields["chat_provider"].description or ""
    assert all(provider in described for provider in ChatProvider)


def test_a_provider_that_does_not_exist_is_refused_with_those_that_do() -> None:
    with pytest.raises(InputRefused, match="no provider 'acme'") as raised:
        chat_model(Settings.from_environment({"CHAT_PROVIDER": "acme", "CHAT_MODEL_ID": "x"}))
    assert "anthropic" in raised.value.hint


@pytest.mark.parametrize("provider", [one for one in ChatProvider if one is not ChatProvider.OFFLINE])
def test_a_provider_without_a_model_id_is_refused_and_never_falls_back_to_rules(provider: ChatProvider) -> None:
    with pytest.raises(InputRefused, match="no chat model is named"):
        chat_model(Settings.from_environment({"CHAT_PROVIDER": provider, "CHAT_API_KEY": "k"}))


@pytest.mark.parametrize(("provider", "variable"), KEYS.items())
def test_a_missing_key_is_a_sentence_about_authorization(
    provider: str, variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in (*KEYS.values(), "GEMINI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(InputRefused, match="there is no key") as raised:
        chat_model(Settings.from_environment({"CHAT_PROVIDER": provider, "CHAT_MODEL_ID": "x"}))
    assert variable in raised.value.hint
    assert classify_error(raised.value).category is ErrorCategory.BEDROCK_AUTH


@pytest.mark.parametrize(("provider", "variable"), KEYS.items())
def test_the_providers_own_variable_serves_as_its_key(
    provider: str, variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, "k")
    assert chat_model(Settings.from_environment({"CHAT_PROVIDER": provider, "CHAT_MODEL_ID": "x"})) is not None


def test_a_server_of_ones_own_needs_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    named = {"CHAT_PROVIDER": "openai", "CHAT_MODEL_ID": "x", "CHAT_BASE_URL": "http://127.0.0.1:8000/v1"}
    assert chat_model(Settings.from_environment(named)) is not None


@pytest.mark.parametrize(
    ("provider", "module"),
    [
        ("anthropic", "langchain_anthropic"),
        ("openai", "langchain_openai"),
        ("google", "langchain_google_genai"),
        ("ollama", "langchain_ollama"),
    ],
)
def test_a_provider_whose_package_is_missing_says_which_extra_brings_it(
    provider: str, module: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(InputRefused, match=module.replace("_", "-")) as raised:
        chat_model(Settings.from_environment({"CHAT_PROVIDER": provider, "CHAT_MODEL_ID": "x", "CHAT_API_KEY": "k"}))
    assert f"affidavit[agent,{provider}]" in raised.value.hint


def test_no_temperature_is_sent_to_bedrock_unless_one_is_set(serve, chat, aws_environment) -> None:
    simulator = serve(good)
    chat().invoke("hello")
    assert "temperature" not in simulator.requests[0].body.get("inferenceConfig", {})


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
