"""Amazon Bedrock, by the role or credentials that are in force."""

from typing import TYPE_CHECKING

from affidavit.agent.chat.providers.failures import failure_of
from affidavit.agent.chat.providers.provider import ChatProvider, Provider
from affidavit.agent.chat.providers.required_settings import integration
from affidavit.agent.error_categories import botocore_code
from affidavit.agent.errors import ChatModelFailed
from affidavit.settings import Settings

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel


def _make(settings: Settings) -> "BaseChatModel":
    integration("langchain_aws", ChatProvider.BEDROCK)
    from affidavit.adapters.aws.bedrock_chat import bedrock_chat

    return bedrock_chat(settings.chat_model_id, region=settings.region, temperature=settings.chat_temperature)


def _failure(error: Exception) -> ChatModelFailed:
    """The adapter translates; what it did not know says its code itself."""
    failed = failure_of(ChatProvider.BEDROCK, error)
    code = botocore_code(error)
    return failed if code is None else ChatModelFailed(str(failed), code=code, status=failed.status, provider="bedrock")


BEDROCK = Provider(name=ChatProvider.BEDROCK, make=_make, failure=_failure)
