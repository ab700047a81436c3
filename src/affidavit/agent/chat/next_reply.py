"""Asks the chat model for its next turn, in a thread with a time limit: nobody waits for a hung socket."""

import asyncio
from collections.abc import Sequence
from typing import Any

from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.runnables import Runnable

from affidavit.agent.chat.model_turns import tidy
from affidavit.agent.chat.providers.bedrock import BEDROCK
from affidavit.agent.chat.providers.provider import Provider
from affidavit.agent.chat.retries import in_thread
from affidavit.agent.errors import ChatModelFailed
from affidavit.agent.limits import Patience
from affidavit.agent.tool_specifications import SUBMIT
from affidavit.errors import AffidavitError

# An invalid request: the same one without force shows whether force was the reason.
_REFUSES_TO_BE_FORCED = (400, 422)
Bound = Runnable[LanguageModelInput, AIMessage]


class Replies:
    def __init__(
        self, chat: BaseChatModel, patience: Patience, tools: list[dict[str, Any]], provider: Provider = BEDROCK
    ) -> None:
        self._free = chat.bind_tools(tools)
        self._forced = (_forced(chat, tools) if provider.can_force_tool else None) or self._free
        self._patience, self._provider = patience, provider

    async def reply(self, messages: Sequence[BaseMessage], *, must_submit: bool) -> AIMessage:
        """Raises ChatModelFailed, also when no reply came in time."""
        if not must_submit or self._forced is self._free:
            return await self._of(self._free, messages)
        try:
            return await self._of(self._forced, messages)
        except ChatModelFailed as error:
            # Some refuse to be forced, for example while they think. The words of the prompt still ask.
            if error.status not in _REFUSES_TO_BE_FORCED and error.code != "ValidationException":
                raise
            reply = await self._of(self._free, messages)
            self._forced = self._free
            return reply

    async def _of(self, bound: Bound, messages: Sequence[BaseMessage]) -> AIMessage:
        try:
            async with asyncio.timeout(self._patience.reply):
                return tidy(await in_thread(lambda: bound.invoke(list(messages))))
        except TimeoutError as error:
            raise ChatModelFailed(
                f"the chat model did not reply within {self._patience.reply:g} s",
                code="NoReplyInTime",
                provider=self._provider.name,
            ) from error
        except AffidavitError:
            raise
        except Exception as error:
            # Whatever a client raised here, the chat model failed: by type alone it might be the MCP server.
            raise self._provider.failure(error) from error


def _forced(chat: BaseChatModel, tools: list[dict[str, Any]]) -> Bound | None:
    """None where the chat model cannot be forced at all."""
    try:
        return chat.bind_tools(tools, tool_choice=SUBMIT)
    except (ValueError, NotImplementedError):
        return None
