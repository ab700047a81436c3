"""The base of chat models that need no network: a program decides each turn."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, cast

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool

from affidavit.agent.tool_specifications import SUBMIT


class ScriptedChat(BaseChatModel):
    """A subclass writes `reply`; binding tools only remembers whether a diagnosis must be submitted now."""

    @abstractmethod
    def reply(self, messages: Sequence[BaseMessage], *, must_submit: bool) -> AIMessage:
        """The next turn of this conversation."""

    def bind_tools(
        self,
        tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool],
        *,
        tool_choice: str | None = None,
        **kwargs: Any,
    ) -> Runnable[LanguageModelInput, AIMessage]:
        return cast("Runnable[LanguageModelInput, AIMessage]", self.bind(must_submit=tool_choice == SUBMIT))

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        reply = self.reply(messages, must_submit=bool(kwargs.get("must_submit")))
        return ChatResult(generations=[ChatGeneration(message=reply)])
