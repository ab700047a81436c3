"""A real Bedrock client against a simulator on this machine."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from affidavit.adapters.aws.bedrock_chat import BedrockChat, bedrock_chat
from affidavit.sandbox.chat_models.bedrock import PREFIX, BedrockSimulator, Script

MakeChat = Callable[..., BedrockChat]


@pytest.fixture
def aws_environment(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nonexistent")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent")
    return monkeypatch


@pytest.fixture
def serve(aws_environment: pytest.MonkeyPatch) -> Iterator[Callable[[Script], BedrockSimulator]]:
    """Start a simulator with one script, named `scripted`, and point the AWS client at it."""
    with ExitStack() as stack:

        def start(script: Script) -> BedrockSimulator:
            simulator = stack.enter_context(BedrockSimulator(scripts={"scripted": script}))
            aws_environment.setenv("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", simulator.url)
            return simulator

        yield start


@pytest.fixture
def chat() -> MakeChat:
    def make(name: str = "scripted", **seconds: float) -> BedrockChat:
        return bedrock_chat(PREFIX + name, region="ca-central-1", **seconds)

    return make
