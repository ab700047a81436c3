"""A chat model that says again what one said before, turn by turn: for playing a recorded investigation back."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, BaseMessage, ToolCall
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool

from affidavit.agent.failures import ChatModelFailed

OUT_OF_TURNS = "OutOfTurns"


class RecordedChat(BaseChatModel):
    """Which turn is next, the conversation says: as many as it holds were played. Raises ChatModelFailed at the end."""

    turns: tuple[Mapping[str, Any], ...]
    """Each as in a reasoning chain: `content`, `tool_calls`, and `usage` where it is known."""

    @property
    def _llm_type(self) -> str:
        return "affidavit-recorded"

    def bind_tools(
        self,
        tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool],
        *,
        tool_choice: str | None = None,
        **kwargs: Any,
    ) -> Runnable[LanguageModelInput, AIMessage]:
        return cast("Runnable[LanguageModelInput, AIMessage]", self)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        played = sum(isinstance(message, AIMessage) for message in messages)
        if played >= len(self.turns):
            raise ChatModelFailed(
                f"the recording ends after {len(self.turns)} turns of the chat model", code=OUT_OF_TURNS
            )
        return ChatResult(generations=[ChatGeneration(message=_message(self.turns[played]))])


def _message(turn: Mapping[str, Any]) -> AIMessage:
    calls = [
        ToolCall(name=call["name"], args=call["args"], id=call["id"], type="tool_call")
        for call in turn.get("tool_calls", ())
    ]
    return AIMessage(content=turn["content"], tool_calls=calls, usage_metadata=turn.get("usage"))
