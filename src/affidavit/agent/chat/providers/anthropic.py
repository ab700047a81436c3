"""Claude at Anthropic's own API, or behind a gateway that speaks it (CHAT_BASE_URL)."""

from typing import TYPE_CHECKING

from affidavit.agent.chat.providers.failures import http_failure
from affidavit.agent.chat.providers.provider import MAX_OUTPUT_TOKENS, READ_SECONDS, ChatProvider, Provider
from affidavit.agent.chat.providers.required_settings import integration, key_of, sampling
from affidavit.settings import Settings

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

USUAL_PLACE = "https://api.anthropic.com"


def _make(settings: Settings) -> "BaseChatModel":
    library = integration("langchain_anthropic", ChatProvider.ANTHROPIC)
    return library.ChatAnthropic(
        model=settings.chat_model_id,
        api_key=key_of(settings, ChatProvider.ANTHROPIC, "ANTHROPIC_API_KEY"),
        max_tokens=MAX_OUTPUT_TOKENS,
        timeout=READ_SECONDS,
        max_retries=0,
        # Said even when it is the usual one: variables of the environment could name another place for prompts.
        base_url=settings.chat_base_url or USUAL_PLACE,
        disable_streaming=True,
        **sampling(settings),
    )


ANTHROPIC = Provider(name=ChatProvider.ANTHROPIC, make=_make, failure=http_failure(ChatProvider.ANTHROPIC))
