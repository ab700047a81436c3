"""The chat model that the settings name, or a clear word why there is none."""

import pytest

from affidavit.adapters.aws.chat import BedrockChat
from affidavit.agent.errors import classify_error
from affidavit.agent.failures import ChatModelFailed
from affidavit.agent.offline import OfflineChat
from affidavit.agent.providers import chat_model
from affidavit.errors import InputRefused
from affidavit.incidents.diagnostician import ErrorCategory
from affidavit.settings import Settings


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
