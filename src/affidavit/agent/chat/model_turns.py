"""The turns of an investigation: kept so that Converse accepts them, also after a crash and a reload.

Converse refuses a turn that leaves a tool call unanswered or answers it with nothing, and a stored bad turn breaks the
conversation for good. So turns are checked before every call, not when the service complains.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    ToolCall,
    ToolMessage,
    messages_from_dict,
    messages_to_dict,
)

from affidavit.agent.chat.stop_reasons import ReplyEnding, ending_of
from affidavit.agent.tool_specifications import SUBMIT
from affidavit.errors import InvariantBroken
from affidavit.ports.json import JsonValue

LONGEST_TEXT = 20_000
LONGEST_ARGUMENTS = 60_000
_ROLES = {"system": "system", "human": "user", "ai": "assistant", "tool": "tool"}
_TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
UNREADABLE_NAME = "unreadable_name"
ENDING = "ending"
# Blocks and fields that Anthropic, Bedrock and Gemini want back as they were.
_REASONING = frozenset({"thinking", "redacted_thinking", "reasoning_content"})
_SIGNATURES = ("__gemini_function_call_thought_signatures__",)


def check_pairing(messages: Sequence[BaseMessage]) -> None:
    """Every tool call is answered exactly once, with something, before anybody speaks again."""
    waiting: set[str] = set()
    for message in messages:
        if isinstance(message, ToolMessage):
            if message.tool_call_id not in waiting or not message.content:
                raise InvariantBroken(f"tool call {message.tool_call_id} is answered twice, with nothing, or not asked")
            waiting.discard(message.tool_call_id)
        elif waiting:
            raise InvariantBroken(f"tool calls {sorted(waiting)} have no answer")
        elif isinstance(message, AIMessage):
            waiting = {str(call["id"]) for call in message.tool_calls}
    if waiting:
        raise InvariantBroken(f"tool calls {sorted(waiting)} have no answer")


def pending_calls(messages: Sequence[BaseMessage]) -> bool:
    """Whether the last turn asks for tools: where a reloaded run goes on."""
    return bool(messages) and isinstance(messages[-1], AIMessage) and bool(messages[-1].tool_calls)


def is_rejected(messages: Sequence[BaseMessage]) -> bool:
    """Whether the last word was that a submission does not hold."""
    last = messages[-1] if messages else None
    return isinstance(last, ToolMessage) and last.name == SUBMIT and last.status == "error"


def refusals(messages: Sequence[BaseMessage]) -> tuple[str, ...]:
    """What was said to each submission that did not hold."""
    refused = (one for one in messages if isinstance(one, ToolMessage) and one.name == SUBMIT and one.status == "error")
    return tuple(str(one.content) for one in refused)


def tidy(reply: AIMessage) -> AIMessage:
    """The reply as it may be kept: never empty, never endless, every call with an id of its own.

    Reasoning is kept as it came, because providers that sign it refuse the next turn without it.
    """
    text = text_of(reply).strip()
    ending = ending_of(reply, text)
    ids = _ids(reply)
    calls = [_bounded(call, name) for name, call in zip(ids, reply.tool_calls, strict=True)]
    if len(text) > LONGEST_TEXT:
        text = f"{text[:LONGEST_TEXT]} … ({len(text) - LONGEST_TEXT} characters left out)"
    text = text or ("" if calls else "(said nothing)")
    return AIMessage(
        content=_content(_reasoning(reply), text),
        tool_calls=calls,
        usage_metadata=reply.usage_metadata,
        additional_kwargs=_signatures(reply),
        response_metadata={ENDING: ending.value, **_model_provider(reply)},
        id=reply.id,
    )


def ending_kept(reply: AIMessage) -> ReplyEnding:
    """How a tidy reply ended."""
    return ReplyEnding(cast("dict[str, str]", reply.response_metadata).get(ENDING, ReplyEnding.SPOKE))


def _content(reasoning: list[dict[str, Any]], text: str) -> str | list[str | dict[str, Any]]:
    if not reasoning:
        return text
    return [*reasoning, *([{"type": "text", "text": text}] if text else [])]


def _reasoning(reply: AIMessage) -> list[dict[str, Any]]:
    if isinstance(reply.content, str):
        return []
    blocks = cast("list[str | dict[str, Any]]", reply.content)
    return [block for block in blocks if not isinstance(block, str) and block.get("type") in _REASONING]


def _signatures(reply: AIMessage) -> dict[str, Any]:
    given = cast("dict[str, Any]", reply.additional_kwargs)
    return {name: given[name] for name in _SIGNATURES if name in given}


def _model_provider(reply: AIMessage) -> dict[str, Any]:
    """LangChain reads blocks of reasoning in the way of whoever wrote them."""
    found = cast("dict[str, Any]", reply.response_metadata).get("model_provider")
    return {"model_provider": found} if found and _reasoning(reply) else {}


def text_of(reply: BaseMessage) -> str:
    """Text blocks only: tool calls stand in `tool_calls`, and reasoning is for its provider alone."""
    if isinstance(reply.content, str):
        return reply.content
    blocks = cast("list[str | dict[str, Any]]", reply.content)
    return "\n".join(
        block if isinstance(block, str) else str(block.get("text", ""))
        for block in blocks
        if isinstance(block, str) or block.get("type") == "text"
    )


def _ids(reply: AIMessage) -> list[str]:
    """Its own where each is different, else ours: an id given twice could never be answered."""
    own = [call["id"] or "" for call in reply.tool_calls]
    is_usable = len(set(own)) == len(own) and all(_TOOL_NAME.fullmatch(one) for one in own)
    return own if is_usable else [f"call_{number}" for number in range(len(own))]


def _bounded(call: Mapping[str, Any], call_id: str) -> ToolCall:
    length = len(json.dumps(call["args"], default=str))
    arguments = call["args"] if length <= LONGEST_ARGUMENTS else {"left_out": f"{length} characters"}
    name = call["name"] if _TOOL_NAME.fullmatch(call["name"]) else UNREADABLE_NAME
    return ToolCall(name=name, args=arguments, id=call_id, type="tool_call")


def as_saved(messages: Sequence[BaseMessage]) -> JsonValue:
    return cast("JsonValue", messages_to_dict(messages))


def from_saved(saved: JsonValue) -> list[BaseMessage]:
    return messages_from_dict(cast("list[dict[str, Any]]", saved))


def as_chain(messages: Sequence[BaseMessage]) -> tuple[Mapping[str, JsonValue], ...]:
    """The reasoning as people and stores read it."""
    return tuple(_link(message) for message in messages)


def _link(message: BaseMessage) -> Mapping[str, JsonValue]:
    link: dict[str, JsonValue] = {"role": _ROLES[message.type], "content": text_of(message)}
    if isinstance(message, ToolMessage):
        link["tool_call_id"] = message.tool_call_id
    if isinstance(message, AIMessage) and message.tool_calls:
        link["tool_calls"] = [
            {"id": call["id"], "name": call["name"], "args": cast("JsonValue", call["args"])}
            for call in message.tool_calls
        ]
    if isinstance(message, AIMessage) and message.usage_metadata is not None:
        said = message.usage_metadata
        link["usage"] = {name: said[name] for name in ("input_tokens", "output_tokens", "total_tokens")}
    return link
