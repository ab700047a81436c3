"""The chat model that a setting names: Bedrock, our own `offline`, or whatever LangChain knows under that name."""

from importlib import import_module
from importlib.util import find_spec
from typing import cast

from langchain_core.language_models import BaseChatModel

from affidavit.agent.errors import ChatModelRefused
from affidavit.settings import Settings

OFFLINE = "offline"
BEDROCK = "bedrock"


def chat_model(settings: Settings) -> BaseChatModel:
    """Touches no network. Raises ChatModelRefused when a setting or a package is missing."""
    if settings.chat_provider == OFFLINE:
        from affidavit.agent.chat.offline import OfflineChat

        return OfflineChat()
    if not settings.chat_model_id:
        raise ChatModelRefused(
            f"no chat model is named for the provider {settings.chat_provider!r}",
            hint="set CHAT_MODEL_ID to a model id or inference profile, or CHAT_PROVIDER=offline to do without",
        )
    if settings.chat_provider == BEDROCK:
        from affidavit.adapters.aws.chat import bedrock_chat

        return bedrock_chat(settings.chat_model_id, region=settings.region)
    return _from_langchain(settings)


def _from_langchain(settings: Settings) -> BaseChatModel:
    provider = settings.chat_provider
    if find_spec("langchain") is None:
        raise _missing("langchain", provider)
    try:
        made = import_module("langchain.chat_models").init_chat_model(
            settings.chat_model_id, model_provider=provider, temperature=0, max_retries=0
        )
    except ImportError as error:
        raise _missing(error.name or f"langchain-{provider}", provider) from error
    except ValueError as error:
        raise ChatModelRefused(
            f"LangChain knows no provider {provider!r}: {error}",
            hint="set CHAT_PROVIDER to bedrock, offline or a provider of LangChain's init_chat_model",
        ) from error
    return cast("BaseChatModel", made)


def _missing(package: str, provider: str) -> ChatModelRefused:
    return ChatModelRefused(
        f"the provider {provider!r} needs the Python package {package!r}, which is not installed",
        hint=f"install langchain and langchain-{provider}, or set CHAT_PROVIDER to bedrock or offline",
    )
