"""OpenAI's chat completions, and whatever speaks them: vLLM, gateways, Azure (CHAT_BASE_URL)."""

from typing import TYPE_CHECKING

from affidavit.agent.chat.providers.failures import http_failure
from affidavit.agent.chat.providers.provider import READ_SECONDS, ChatProvider, Provider
from affidavit.agent.chat.providers.required_settings import integration, key_of, sampling
from affidavit.agent.errors import ChatKeyMissing
from affidavit.settings import Settings

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

# Servers of one's own often have no keys, and the client wants one.
_NO_KEY = "none"

USUAL_PLACE = "https://api.openai.com/v1"


def _make(settings: Settings) -> "BaseChatModel":
    library = integration("langchain_openai", ChatProvider.OPENAI)
    return library.ChatOpenAI(
        model=settings.chat_model_id,
        api_key=_key(settings),
        timeout=READ_SECONDS,
        max_retries=0,
        # Said even when it is the usual one: variables of the environment could name another place for prompts.
        base_url=settings.chat_base_url or USUAL_PLACE,
        disable_streaming=True,
        # What gateways and vLLM have in common; the newer interface is OpenAI's alone.
        use_responses_api=False,
        **sampling(settings),
    )


def _key(settings: Settings) -> str:
    try:
        return key_of(settings, ChatProvider.OPENAI, "OPENAI_API_KEY")
    except ChatKeyMissing:
        if not settings.chat_base_url:
            raise
        return _NO_KEY


OPENAI = Provider(name=ChatProvider.OPENAI, make=_make, failure=http_failure(ChatProvider.OPENAI))
