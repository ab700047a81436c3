"""Gemini at Google's API."""

from typing import TYPE_CHECKING, Any

from affidavit.agent.chat.providers.failures import http_failure
from affidavit.agent.chat.providers.provider import READ_SECONDS, ChatProvider, Provider
from affidavit.agent.chat.providers.required_settings import integration, key_of
from affidavit.settings import Settings

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel


def _make(settings: Settings) -> "BaseChatModel":
    key = key_of(settings, ChatProvider.GOOGLE, "GOOGLE_API_KEY", "GEMINI_API_KEY")
    library = integration("langchain_google_genai", ChatProvider.GOOGLE)
    place: dict[str, Any] = {"base_url": settings.chat_base_url} if settings.chat_base_url else {}
    return library.ChatGoogleGenerativeAI(
        model=settings.chat_model_id,
        google_api_key=key,
        timeout=READ_SECONDS,
        # Its retries count the first request, too.
        max_retries=1,
        disable_streaming=True,
        # Said even when there is none: its client has a temperature of its own.
        temperature=settings.chat_temperature,
        **place,
    )


GOOGLE = Provider(name=ChatProvider.GOOGLE, make=_make, failure=http_failure(ChatProvider.GOOGLE))
