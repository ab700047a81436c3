"""The wire formats of chat-model providers, as a server on this machine speaks them.

`read` takes a request apart, `turn` writes a reply, `error` a refusal. Like the services, a wire refuses a conversation
that leaves a call unanswered, or that dropped the reasoning which it signed.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from affidavit.agent.chat.offline import Answered, next_move
from affidavit.agent.tool_specifications import SUBMIT
from tests.support.peers.http_peer import Answer, Sent

SIGNATURE = "c2lnbmVkLWJ5LXRoZS1zZXJ2aWNl"


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What a request holds: the first words of the user, what tools answered, which tool is forced, what is missing."""

    alert: str
    answered: tuple[Answered, ...]
    forced: str | None
    turns: int
    trouble: str = ""


@dataclass(frozen=True, kw_only=True)
class Turn:
    text: str = ""
    calls: Sequence[tuple[str, Any]] = ()
    stop: str = ""
    """The provider's own word; by default that of an ordinary end."""
    thinks: bool = False
    raw_arguments: str | None = None
    """Written instead of each call's arguments, where a wire sends them as text."""


class Wire:
    name: str
    refusal: str
    cut: str

    def read(self, body: dict[str, Any]) -> Asked:
        raise NotImplementedError

    def turn(self, said: Turn, number: int) -> dict[str, Any]:
        raise NotImplementedError

    def error(self, status: int, message: str) -> dict[str, Any]:
        return {"error": {"message": message, "type": "error", "code": status, "status": "ERROR"}}

    def answer(self, said: Turn, number: int) -> Answer:
        return Answer(body=self.turn(said, number))

    def refuses(self, status: int, message: str = "refused by script", **headers: str) -> Answer:
        return Answer(status=status, body=self.error(status, message), headers=headers)


class AnthropicWire(Wire):
    name, refusal, cut = "anthropic", "refusal", "max_tokens"

    def read(self, body: dict[str, Any]) -> Asked:
        calls: dict[str, tuple[str, Any]] = {}
        answered: list[Answered] = []
        trouble = ""
        for message in body["messages"]:
            blocks = message["content"] if isinstance(message["content"], list) else []
            uses = [one for one in blocks if one["type"] == "tool_use"]
            calls |= {one["id"]: (one["name"], one["input"]) for one in uses}
            if uses and body.get("metadata_thinks") and not any(one["type"] == "thinking" for one in blocks):
                trouble = "expected thinking"
            signatures = [one.get("signature") for one in blocks if one["type"] == "thinking"]
            trouble = trouble or ("" if set(signatures) <= {SIGNATURE} else "invalid signature in thinking block")
            for one in (block for block in blocks if block["type"] == "tool_result"):
                tool, arguments = calls.pop(one["tool_use_id"])
                answered.append(Answered(tool=tool, arguments=arguments, text=_text(one["content"])))
        choice = body.get("tool_choice") or {}
        return Asked(
            alert=_text(body["messages"][0]["content"]),
            answered=tuple(answered),
            forced=choice.get("name"),
            turns=sum(one["role"] == "assistant" for one in body["messages"]),
            trouble=trouble or ("tool_use ids without tool_result" if calls else ""),
        )

    def turn(self, said: Turn, number: int) -> dict[str, Any]:
        thinking = [{"type": "thinking", "thinking": "hm", "signature": SIGNATURE}] if said.thinks else []
        text = [{"type": "text", "text": said.text}] if said.text else []
        calls = [
            {"type": "tool_use", "id": f"toolu_{number}_{place}", "name": name, "input": given}
            for place, (name, given) in enumerate(said.calls)
        ]
        return {
            "id": f"msg_{number}",
            "type": "message",
            "role": "assistant",
            "model": "claude-x",
            "content": [*thinking, *text, *calls],
            "stop_reason": said.stop or ("tool_use" if calls else "end_turn"),
            "stop_sequence": None,
            "usage": {"input_tokens": 400, "output_tokens": 60},
        }

    def error(self, status: int, message: str) -> dict[str, Any]:
        return {"type": "error", "error": {"type": "error", "message": message}}


class OpenAiWire(Wire):
    name, refusal, cut = "openai", "content_filter", "length"

    def read(self, body: dict[str, Any]) -> Asked:
        calls: dict[str, tuple[str, Any]] = {}
        answered: list[Answered] = []
        for message in body["messages"]:
            for one in message.get("tool_calls") or ():
                calls[one["id"]] = (one["function"]["name"], json.loads(one["function"]["arguments"]))
            if message["role"] == "tool":
                tool, arguments = calls.pop(message["tool_call_id"])
                answered.append(Answered(tool=tool, arguments=arguments, text=_text(message["content"])))
        choice = body.get("tool_choice")
        users = [one for one in body["messages"] if one["role"] == "user"]
        return Asked(
            alert=_text(users[0]["content"]),
            answered=tuple(answered),
            forced=choice["function"]["name"] if isinstance(choice, dict) else None,
            turns=sum(one["role"] == "assistant" for one in body["messages"]),
            trouble="tool_calls must be followed by tool messages" if calls else "",
        )

    def turn(self, said: Turn, number: int) -> dict[str, Any]:
        calls = [
            {
                "id": f"call_{number}_{place}",
                "type": "function",
                "function": {"name": name, "arguments": said.raw_arguments or json.dumps(given)},
            }
            for place, (name, given) in enumerate(said.calls)
        ]
        message = {"role": "assistant", "content": said.text or None, **({"tool_calls": calls} if calls else {})}
        return {
            "id": f"chatcmpl-{number}",
            "object": "chat.completion",
            "created": 1768471200,
            "model": "gpt-x",
            "choices": [
                {"index": 0, "message": message, "finish_reason": said.stop or ("tool_calls" if calls else "stop")}
            ],
            "usage": {"prompt_tokens": 400, "completion_tokens": 60, "total_tokens": 460},
        }


class GoogleWire(Wire):
    name, refusal, cut = "google", "SAFETY", "MAX_TOKENS"

    def read(self, body: dict[str, Any]) -> Asked:
        waiting: list[tuple[str, Any]] = []
        answered: list[Answered] = []
        trouble = ""
        for content in body["contents"]:
            calls = [one for one in content["parts"] if "functionCall" in one]
            if calls and not calls[0].get("thoughtSignature"):
                trouble = "function call is missing a thought_signature"
            waiting += [(one["functionCall"]["name"], one["functionCall"].get("args") or {}) for one in calls]
            for one in (part["functionResponse"] for part in content["parts"] if "functionResponse" in part):
                tool, arguments = waiting.pop(next(i for i, each in enumerate(waiting) if each[0] == one["name"]))
                said = one["response"]
                text = said.get("output", said.get("result", said)) if isinstance(said, dict) else said
                answered.append(
                    Answered(tool=tool, arguments=arguments, text=text if isinstance(text, str) else json.dumps(text))
                )
        calling = (body.get("toolConfig") or {}).get("functionCallingConfig") or {}
        return Asked(
            alert=next(part["text"] for part in body["contents"][0]["parts"] if "text" in part),
            answered=tuple(answered),
            forced=next(iter(calling.get("allowedFunctionNames") or ()), None),
            turns=sum(one.get("role") == "model" for one in body["contents"]),
            trouble=trouble or ("function calls without responses" if waiting else ""),
        )

    def turn(self, said: Turn, number: int) -> dict[str, Any]:
        text = [{"text": said.text}] if said.text else []
        calls = [
            {
                "functionCall": {"name": name, "args": given},
                **({"thoughtSignature": SIGNATURE} if place == 0 else {}),
            }
            for place, (name, given) in enumerate(said.calls)
        ]
        candidate = {
            "content": {"role": "model", "parts": [*text, *calls]},
            "finishReason": said.stop or "STOP",
            "index": 0,
        }
        return {
            "candidates": [candidate],
            "usageMetadata": {"promptTokenCount": 400, "candidatesTokenCount": 60, "totalTokenCount": 460},
            "modelVersion": "gemini-x",
        }


class OllamaWire(Wire):
    name, refusal, cut = "ollama", "", "length"

    def read(self, body: dict[str, Any]) -> Asked:
        waiting: list[tuple[str, Any]] = []
        answered: list[Answered] = []
        for message in body["messages"]:
            waiting += [
                (one["function"]["name"], one["function"]["arguments"]) for one in message.get("tool_calls") or ()
            ]
            if message["role"] == "tool":
                tool, arguments = waiting.pop(0)
                answered.append(Answered(tool=tool, arguments=arguments, text=message["content"]))
        users = [one for one in body["messages"] if one["role"] == "user"]
        return Asked(
            alert=users[0]["content"],
            answered=tuple(answered),
            forced=None,
            turns=sum(one["role"] == "assistant" for one in body["messages"]),
            trouble="tool calls without answers" if waiting else "",
        )

    def turn(self, said: Turn, number: int) -> dict[str, Any]:
        calls = [{"function": {"name": name, "arguments": given}} for name, given in said.calls]
        return {
            "model": "llama-x",
            "created_at": "2026-01-15T10:00:00Z",
            "message": {"role": "assistant", "content": said.text, **({"tool_calls": calls} if calls else {})},
            "done": True,
            "done_reason": said.stop or "stop",
            "prompt_eval_count": 400,
            "eval_count": 60,
        }

    def error(self, status: int, message: str) -> dict[str, Any]:
        return {"error": message}


WIRES: Mapping[str, Wire] = {wire.name: wire for wire in (AnthropicWire(), OpenAiWire(), GoogleWire(), OllamaWire())}
Script = Callable[[Asked], Turn | Answer]


@dataclass
class ScriptedService:
    """Answers by a script, in the words of a wire."""

    wire: Wire
    script: Script
    asked: list[Asked] = field(default_factory=list)
    bodies: list[dict[str, Any]] = field(default_factory=list)

    def __call__(self, sent: Sent) -> Answer:
        body = sent.json
        self.bodies.append(body)
        asked = self.wire.read(body)
        self.asked.append(asked)
        if asked.trouble:
            return self.wire.refuses(400, asked.trouble)
        said = self.script(asked)
        return said if isinstance(said, Answer) else self.wire.answer(said, len(self.asked))


def good(asked: Asked) -> Turn:
    """Asks several tools at once with words beside, thinks, and submits what the rules prove."""
    move = next_move(asked.alert, asked.answered, must_submit=asked.forced == SUBMIT)
    return Turn(text=move.text, calls=move.calls, thinks=True)


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "".join(str(block.get("text", "")) for block in content)
