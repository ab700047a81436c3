"""The relay between a sandbox and real Bedrock, in front of a simulated one."""

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from affidavit.errors import InputRefused
from affidavit.sandbox.chat_models.bedrock import BedrockSimulator, ConverseRequest, Refuses, Reply, ScriptedText
from affidavit.sandbox.chat_models.bedrock_relay import BedrockRelay, relay_to_bedrock

ASKED = [{"role": "user", "content": [{"text": "why?"}]}]


def client(url: str, key: str) -> object:
    return boto3.client(
        "bedrock-runtime",
        "ca-central-1",
        endpoint_url=url,
        aws_access_key_id=key,
        aws_secret_access_key=key,
        config=Config(retries={"total_max_attempts": 1}),
    )


def wise(_: ConverseRequest) -> Reply:
    return ScriptedText(text="because", calls=[("look", {"at": "it"})])


def test_a_reply_and_a_refusal_pass_through_as_they_are() -> None:
    scripts = {"wise": wise, "shy": lambda _: Refuses(status=403, code="AccessDeniedException", message="no")}
    with (
        BedrockSimulator(scripts=scripts) as real,
        BedrockRelay(scripts={}, client=client(real.url, "real")) as relay,
    ):
        asking = client(relay.url, "test")
        said = asking.converse(modelId="anthropic.claude-wise", messages=ASKED)
        assert said["output"]["message"]["content"][0] == {"text": "because"}
        assert said["output"]["message"]["content"][1]["toolUse"]["input"] == {"at": "it"}
        assert said["usage"]["totalTokens"] == 460
        with pytest.raises(ClientError) as caught:
            asking.converse(modelId="anthropic.claude-shy", messages=ASKED)
        assert caught.value.response["Error"]["Code"] == "AccessDeniedException"
        assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] == 403


def test_without_credentials_there_is_nothing_to_relay_with(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE", "AWS_BEARER_TOKEN_BEDROCK"):
        monkeypatch.delenv(name, raising=False)
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, "/dev/null")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    with pytest.raises(InputRefused, match="no AWS credentials"):
        relay_to_bedrock("ca-central-1")
