"""Asking the chat model for one turn. It runs in a thread of its own, so that nobody has to wait for a hung socket."""

import asyncio
from collections.abc import Sequence
from typing import Any

from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.runnables import Runnable

from affidavit.agent.chat.conversation import tidy
from affidavit.agent.chat.retries import in_thread
from affidavit.agent.error_categories import botocore_code
from affidavit.agent.errors import ChatModelFailed
from affidavit.agent.limits import Patience
from affidavit.agent.tools import SUBMIT
from affidavit.errors import AffidavitError

Bound = Runnable[LanguageModelInput, AIMessage]


class Replies:
    def __init__(self, chat: BaseChatModel, patience: Patience, tools: list[dict[str, Any]]) -> None:
        self._free = chat.bind_tools(tools)
        self._forced = _forced(chat, tools) or self._free
        self._patience = patience

    async def reply(self, messages: Sequence[BaseMessage], *, must_submit: bool) -> AIMessage:
        """Raises ChatModelFailed, also when no reply came in time."""
        if not must_submit or self._forced is self._free:
            return await self._of(self._free, messages)
        try:
            return await self._of(self._forced, messages)
        except ChatModelFailed as error:
            # Some refuse to be forced, for example while they think. The words of the prompt still ask.
            if error.code != "ValidationException":
                raise
            return await self._of(self._free, messages)

    async def _of(self, bound: Bound, messages: Sequence[BaseMessage]) -> AIMessage:
        try:
            async with asyncio.timeout(self._patience.reply):
                return tidy(await in_thread(lambda: bound.invoke(list(messages))))
        except TimeoutError as error:
            raise ChatModelFailed(
                f"the chat model did not reply within {self._patience.reply:g} s", code="NoReplyInTime"
            ) from error
        except Exception as error:
            raise _told_apart(error) from error


def _told_apart(error: Exception) -> Exception:
    """Whatever a provider's own client raised here, the chat model failed: by type alone it might be the MCP server."""
    if isinstance(error, AffidavitError):
        return error
    status = getattr(error, "status_code", None)
    code = "ConnectionError" if _is_about_the_line(error) else botocore_code(error) or type(error).__name__
    return ChatModelFailed(
        f"the chat model failed: {error}", code=code, status=status if isinstance(status, int) else None
    )


def _is_about_the_line(error: Exception) -> bool:
    """Providers name their own errors of timeouts and connections so, and derive them from nothing in common."""
    names = (kind.__name__ for kind in type(error).__mro__)
    return isinstance(error, OSError) or any("Timeout" in name or "Connection" in name for name in names)


def _forced(chat: BaseChatModel, tools: list[dict[str, Any]]) -> Bound | None:
    """None where the chat model cannot be forced at all."""
    try:
        return chat.bind_tools(tools, tool_choice=SUBMIT)
    except (ValueError, NotImplementedError):
        return None
