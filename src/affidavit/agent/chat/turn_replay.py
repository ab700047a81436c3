"""A chat model that repeats recorded turns, to replay an investigation."""

from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, ToolCall

from affidavit.agent.chat.scripted_base import ScriptedChat
from affidavit.agent.errors import ChatModelFailed

OUT_OF_TURNS = "OutOfTurns"


class RecordedChat(ScriptedChat):
    """Which turn is next, the conversation says: as many as it holds were played. Raises ChatModelFailed at the end."""

    turns: tuple[Mapping[str, Any], ...]
    """Each as in a reasoning chain: `content`, `tool_calls`, and `usage` where it is known."""

    @property
    def _llm_type(self) -> str:
        return "affidavit-recorded"

    def reply(self, messages: Sequence[BaseMessage], *, must_submit: bool) -> AIMessage:
        played = sum(isinstance(message, AIMessage) for message in messages)
        if played >= len(self.turns):
            raise ChatModelFailed(
                f"the recording ends after {len(self.turns)} turns of the chat model", code=OUT_OF_TURNS
            )
        return _message(self.turns[played])


def _message(turn: Mapping[str, Any]) -> AIMessage:
    calls = [
        ToolCall(name=call["name"], args=call["args"], id=call["id"], type="tool_call")
        for call in turn.get("tool_calls", ())
    ]
    return AIMessage(content=turn["content"], tool_calls=calls, usage_metadata=turn.get("usage"))
