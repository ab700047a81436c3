"""Local chat models through Ollama. It has no keys, and cannot be told which tool to call."""

from typing import TYPE_CHECKING

from affidavit.agent.chat.providers.failures import http_failure
from affidavit.agent.chat.providers.provider import READ_SECONDS, ChatProvider, Provider
from affidavit.agent.chat.providers.required_settings import integration, sampling
from affidavit.settings import Settings

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel


def _make(settings: Settings) -> "BaseChatModel":
    library = integration("langchain_ollama", ChatProvider.OLLAMA)
    return library.ChatOllama(
        model=settings.chat_model_id,
        base_url=settings.chat_base_url or None,
        client_kwargs={"timeout": READ_SECONDS},
        disable_streaming=True,
        **sampling(settings),
    )


OLLAMA = Provider(
    name=ChatProvider.OLLAMA,
    make=_make,
    failure=http_failure(ChatProvider.OLLAMA),
    can_force_tool=False,
    has_keys=False,
)
