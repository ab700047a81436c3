"""The table of providers, and the chat model that settings name. Nothing else asks which provider it is."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from affidavit.agent.chat.providers.anthropic import ANTHROPIC
from affidavit.agent.chat.providers.bedrock import BEDROCK
from affidavit.agent.chat.providers.failures import http_failure
from affidavit.agent.chat.providers.google import GOOGLE
from affidavit.agent.chat.providers.ollama import OLLAMA
from affidavit.agent.chat.providers.openai import OPENAI
from affidavit.agent.chat.providers.provider import ChatProvider, Provider
from affidavit.agent.chat.tracing_off import switch_off_tracing
from affidavit.agent.errors import ChatModelRefused
from affidavit.settings import Settings

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel


def _offline(_: Settings) -> "BaseChatModel":
    from affidavit.agent.chat.offline import OfflineChat

    return OfflineChat()


OFFLINE = Provider(
    name=ChatProvider.OFFLINE,
    make=_offline,
    failure=http_failure(ChatProvider.OFFLINE),
    needs_model_id=False,
    has_keys=False,
)
PROVIDERS: Mapping[ChatProvider, Provider] = {
    ChatProvider.BEDROCK: BEDROCK,
    ChatProvider.OFFLINE: OFFLINE,
    ChatProvider.ANTHROPIC: ANTHROPIC,
    ChatProvider.OPENAI: OPENAI,
    ChatProvider.GOOGLE: GOOGLE,
    ChatProvider.OLLAMA: OLLAMA,
}


def provider_of(settings: Settings) -> Provider:
    """Raises ChatModelRefused for a name that is none."""
    try:
        return PROVIDERS[ChatProvider(settings.chat_provider)]
    except ValueError as error:
        known = ", ".join(ChatProvider)
        raise ChatModelRefused(
            f"there is no provider {settings.chat_provider[:100]!r} of chat models",
            hint=f"set CHAT_PROVIDER to one of {known}; what speaks OpenAI's interface is openai with CHAT_BASE_URL",
        ) from error


def chat_model(settings: Settings) -> "BaseChatModel":
    """Touches no network but for one kind of Bedrock's names. Raises ChatModelRefused when a setting or a package is
    missing."""
    switch_off_tracing()
    provider = provider_of(settings)
    if provider.needs_model_id and not settings.chat_model_id:
        raise ChatModelRefused(
            f"no chat model is named for the provider {provider.name}",
            hint="set CHAT_MODEL_ID to a model id or inference profile, or CHAT_PROVIDER=offline to do without",
        )
    return provider.make(settings)
