"""Bedrock's Converse as a chat model. One request per call: trying again is the agent's decision, under its budget."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, NoReturn

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from langchain_aws import ChatBedrockConverse
from langchain_aws.utils import parse_model_provider
from langchain_core.messages import BaseMessage
from langchain_core.outputs import ChatResult
from pydantic import PrivateAttr

from affidavit.adapters.aws.sessions.service_models import quick_session
from affidavit.agent.chat.providers.provider import CONNECT_SECONDS, MAX_OUTPUT_TOKENS, READ_SECONDS, ChatProvider
from affidavit.agent.errors import ChatModelFailed, ChatModelRefused

CACHING_FAMILIES = ("anthropic.claude", "amazon.nova")


class BedrockChat(ChatBedrockConverse):
    """ChatBedrockConverse whose failures say that it was the chat model that failed.

    The prompt, the tools and the turns so far are the same in every call of an investigation. Where the model can keep
    them, cache points say so: they are read at a tenth of the price. Messages themselves know nothing of it.
    """

    _caching: dict[str, Any] = PrivateAttr(default_factory=dict[str, Any])

    def model_post_init(self, context: Any, /) -> None:
        super().model_post_init(context)
        known = f"{self.model_id} {self.base_model_id or ''}"
        if any(family in known for family in CACHING_FAMILIES):
            self._caching = {"cache_control": {"type": "default"}}

    def _generate(self, messages: list[BaseMessage], *asked: Any, **how: Any) -> ChatResult:
        try:
            return super()._generate(messages, *asked, **self._caching, **how)
        except ClientError as error:
            if self._caching and _is_about_caching(error):
                self._caching = {}  # an older model of the family, or a region without it
                return self._generate(messages, *asked, **how)
            _raise_for_answer(error)
        except BotoCoreError as error:
            raise _unreachable(error) from error
        except ValueError as error:
            _raise_for_reading(error)


def bedrock_chat(
    model_id: str,
    *,
    region: str,
    temperature: float | None = None,
    connect_seconds: float = CONNECT_SECONDS,
    read_seconds: float = READ_SECONDS,
) -> BedrockChat:
    """The endpoint is AWS's, or where AWS_ENDPOINT_URL_BEDROCK_RUNTIME points.

    Touches the network only for an application inference profile, whose name does not say what is behind it.
    Raises ChatModelRefused for an id that cannot be one, ChatModelFailed when Bedrock was asked and failed.
    """
    # retries max_attempts=1 would mean two requests; total_max_attempts counts the first one too.
    config = Config(
        retries={"total_max_attempts": 1, "mode": "standard"},
        connect_timeout=connect_seconds,
        read_timeout=read_seconds,
    )
    session = boto3.Session(region_name=region, botocore_session=quick_session())
    with _refusals(model_id):
        return _made(model_id, region, session, config, temperature)


def _made(model_id: str, region: str, session: boto3.Session, config: Config, temperature: float | None) -> BedrockChat:
    return BedrockChat(
        model=model_id,
        provider=_provider(model_id),
        client=session.client("bedrock-runtime", config=config),
        bedrock_client=session.client("bedrock", config=config),
        region_name=region,
        temperature=temperature,
        max_tokens=MAX_OUTPUT_TOKENS,
        disable_streaming=True,
    )


def _provider(model_id: str) -> str:
    """LangChain reads the provider off an id, and has to be told it with an ARN: `…/us.anthropic.claude…`."""
    if not model_id.startswith("arn:"):
        return ""
    name = model_id.rpartition("/")[2]
    return parse_model_provider(name) if "." in name else "unknown"


@contextmanager
def _refusals(model_id: str) -> Generator[None]:
    try:
        yield
    except ClientError as error:
        _raise_for_answer(error)
    except BotoCoreError as error:
        raise _unreachable(error) from error
    except ValueError as error:
        raise ChatModelRefused(
            f"{model_id[:200]!r} cannot be a chat model of Bedrock",
            hint="set CHAT_MODEL_ID to a model id, or to the id or ARN of an inference profile",
        ) from error


def _is_about_caching(error: ClientError) -> bool:
    said = error.response.get("Error", {})
    return said.get("Code") == "ValidationException" and "cach" in str(said.get("Message", "")).lower()


def _unreachable(error: BotoCoreError) -> ChatModelFailed:
    return ChatModelFailed(
        f"Bedrock could not be asked: {error}", code=type(error).__name__, provider=ChatProvider.BEDROCK
    )


def _raise_for_answer(error: ClientError) -> NoReturn:
    code = error.response.get("Error", {}).get("Code", "Unknown")
    status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode")
    raise ChatModelFailed(
        f"Bedrock refused: {error}", code=code, status=status, provider=ChatProvider.BEDROCK
    ) from error


def _raise_for_reading(error: ValueError) -> NoReturn:
    """LangChain reports a reply it cannot read, and some refusals, as ValueError."""
    if isinstance(error.__cause__, ClientError):
        _raise_for_answer(error.__cause__)
    raise ChatModelFailed(
        f"Bedrock's reply cannot be read: {error}", code="UnusableReply", provider=ChatProvider.BEDROCK
    ) from error
