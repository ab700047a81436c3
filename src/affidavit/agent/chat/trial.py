"""Tries the chat model that settings name with one tool call, and says in words what is wrong with it."""

import asyncio
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import AIMessage, HumanMessage

from affidavit.agent.chat.model_turns import ending_kept
from affidavit.agent.chat.next_reply import Replies
from affidavit.agent.chat.providers.failures import NO_CONNECTION, NO_TLS, UNUSABLE
from affidavit.agent.chat.providers.model_choice import chat_model, provider_of
from affidavit.agent.chat.providers.provider import Provider
from affidavit.agent.chat.stop_reasons import ReplyEnding
from affidavit.agent.error_categories import classify_error
from affidavit.agent.errors import ChatModelFailed
from affidavit.agent.limits import Patience
from affidavit.agent.tool_specifications import SUBMIT
from affidavit.incidents.attempt.diagnostician_port import ErrorCategory
from affidavit.settings import Settings

_WORD = "affidavit"
_QUESTION = f"This is a test of tool calls. Call {SUBMIT} once, with the word {_WORD!r}, and say nothing else."
_TOOL: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": SUBMIT,
        "description": "Ends the test.",
        "parameters": {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]},
    },
}
_ADVICE_BY_STATUS = {
    400: "the model may not support tools, or belong to another provider: check CHAT_MODEL_ID and CHAT_PROVIDER",
    401: "make a new key and set it; a key of another provider looks alike",
    402: "the account has no credit left",
    403: "the key is known but may not use this model: allow it, or set another CHAT_MODEL_ID",
    404: "there is no such model or address: check CHAT_MODEL_ID, and that CHAT_BASE_URL is the whole address of the "
    "interface (OpenAI's ends with /v1)",
    413: "the provider or a proxy takes only smaller requests; an investigation is larger than this test",
    429: "too many requests or no quota: wait, or raise the account's limit",
}
_ADVICE_BY_CODE = {
    NO_CONNECTION: "nobody answers there: check CHAT_BASE_URL, that the server runs, and the way to it",
    NO_TLS: "the certificate cannot be trusted: check the address; a private authority is named by SSL_CERT_FILE",
    UNUSABLE: "what answers does not speak this provider's language: check CHAT_BASE_URL and CHAT_PROVIDER",
    "NoReplyInTime": "it did not answer in time: it may still load the model, or be overloaded",
}
_ADVICE_BY_CATEGORY = {
    ErrorCategory.BEDROCK_AUTH: "check the credentials in force, and that they may invoke this model",
    ErrorCategory.BEDROCK_TRANSIENT: "the provider has trouble of its own: try again later",
    ErrorCategory.BEDROCK_CONFIG: "check CHAT_MODEL_ID, AWS_REGION, and that the account has access to the model",
}
_SAID = {
    ReplyEnding.SPOKE: "it answered in words and called no tool",
    ReplyEnding.SILENT: "it answered with nothing",
    ReplyEnding.REFUSED: "it refused to answer, or a filter stopped it",
    ReplyEnding.CUT: "its answer was cut off before the call was whole",
    ReplyEnding.UNREADABLE: "it called a tool in a form that cannot be read",
}
_NEEDS_TOOLS = "an investigation needs a chat model that calls tools: set another CHAT_MODEL_ID"


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelTrial:
    is_good: bool
    said: str
    advice: str = ""


def try_chat_model(settings: Settings, patience: Patience | None = None) -> ModelTrial:
    """Raises ChatModelRefused when a setting, key or package is missing: then nobody was asked."""
    provider, chat = provider_of(settings), chat_model(settings)
    if not provider.needs_model_id:
        return ModelTrial(is_good=True, said="no chat model is asked: rules alone conclude (CHAT_PROVIDER=offline)")
    replies = Replies(chat, patience or Patience(), [_TOOL], provider)
    name = f"{provider.name} {settings.chat_model_id}"
    try:
        reply = asyncio.run(replies.reply([HumanMessage(_QUESTION)], must_submit=True))
    except ChatModelFailed as error:
        return ModelTrial(is_good=False, said=f"{name}: {error}", advice=_advice(error, provider))
    return _judged(name, reply)


def _judged(name: str, reply: AIMessage) -> ModelTrial:
    if any(call["name"] == SUBMIT for call in reply.tool_calls):
        used = reply.usage_metadata
        cost = f"{used['total_tokens']} tokens" if used is not None else "it does not say how many tokens it used"
        return ModelTrial(is_good=True, said=f"{name} called the tool ({cost})")
    if reply.tool_calls:
        return ModelTrial(is_good=False, said=f"{name}: it called a tool that does not exist", advice=_NEEDS_TOOLS)
    return ModelTrial(is_good=False, said=f"{name}: {_SAID[ending_kept(reply)]}", advice=_NEEDS_TOOLS)


def _advice(error: ChatModelFailed, provider: Provider) -> str:
    if error.status in (401, 403) and not provider.has_keys:
        return "something in between asks for a key: check CHAT_BASE_URL"
    by_category = _ADVICE_BY_CATEGORY.get(classify_error(error).category, "see the provider's documentation")
    by_status = _ADVICE_BY_STATUS.get(error.status or 0)
    return _ADVICE_BY_CODE.get(error.code) or by_status or by_category
