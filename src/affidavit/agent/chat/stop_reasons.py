"""Reads why a chat model stopped, in any provider's words: it called, spoke, said nothing, was cut off, or refused."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, cast

from langchain_core.messages import AIMessage

_WORDS = ("stop_reason", "stopReason", "finish_reason", "done_reason")
_REFUSED = frozenset(
    {
        *("refusal", "content_filter", "content_filtered", "guardrail_intervened"),
        *("safety", "recitation", "blocklist", "prohibited_content", "spii", "image_safety"),
    }
)
_CUT = frozenset({"max_tokens", "length", "model_context_window_exceeded", "model_length"})


class ReplyEnding(StrEnum):
    CALLED = "called"
    SPOKE = "spoke"
    SILENT = "silent"
    UNREADABLE = "unreadable"
    """It called something, in a form that cannot be read."""
    CUT = "cut"
    REFUSED = "refused"


def ending_of(reply: AIMessage, text: str) -> ReplyEnding:
    """A refusal counts whatever else was said; a call that can be read counts though the reply was cut after it."""
    if _stop_word(reply) in _REFUSED or reply.additional_kwargs.get("refusal") or _is_blocked(reply):
        return ReplyEnding.REFUSED
    if reply.tool_calls:
        return ReplyEnding.CALLED
    if _stop_word(reply) in _CUT:
        return ReplyEnding.CUT
    if reply.invalid_tool_calls or _stop_word(reply) == "malformed_function_call":
        return ReplyEnding.UNREADABLE
    return ReplyEnding.SPOKE if text else ReplyEnding.SILENT


def _stop_word(reply: AIMessage) -> str:
    said = cast("Mapping[str, Any]", reply.response_metadata)
    return next((str(said[name]).lower() for name in _WORDS if said.get(name)), "")


def _is_blocked(reply: AIMessage) -> bool:
    """Gemini answers a blocked prompt without any candidate."""
    feedback = cast("Mapping[str, Any]", reply.response_metadata).get("prompt_feedback")
    if not isinstance(feedback, Mapping):
        return False
    reason = cast("Mapping[str, Any]", feedback).get("block_reason")
    return bool(reason) and str(reason) not in (
        "0",
        "BLOCKED_REASON_UNSPECIFIED",
        "BlockedReason.BLOCKED_REASON_UNSPECIFIED",
    )
