"""Chat models for the Bedrock simulator: one that works, and those that fail the ways services fail."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from affidavit.agent.chat.offline import Answered, next_move
from affidavit.agent.tool_specifications import SUBMIT
from affidavit.sandbox.chat_models.bedrock import ConverseRequest, Hangs, Refuses, Reply, Script, ScriptedText


def good(request: ConverseRequest) -> Reply:
    """Asks and submits what the rules prove: an honest chat model over real HTTP."""
    move = next_move(alert_in(request), answered_in(request), must_submit=request.forced_tool == SUBMIT)
    return ScriptedText(text=move.text, calls=[(tool, dict(arguments)) for tool, arguments in move.calls])


def slow(seconds: float, then: Script = good) -> Script:
    def script(request: ConverseRequest) -> Reply:
        reply = then(request)
        return (
            ScriptedText(text=reply.text, calls=reply.calls, after_seconds=seconds)
            if isinstance(reply, ScriptedText)
            else reply
        )

    return script


def failing(times: int, refusal: Refuses, then: Script = good) -> Script:
    """Refuses the first `times` requests."""
    return lambda request: refusal if request.number <= times else then(request)


def throttled(_: ConverseRequest) -> Reply:
    return Refuses(
        status=429, code="ThrottlingException", message="Too many requests, please wait before trying again."
    )


def denied(_: ConverseRequest) -> Reply:
    return Refuses(status=403, code="AccessDeniedException", message="not authorized to perform: bedrock:InvokeModel")


def missing(_: ConverseRequest) -> Reply:
    return Refuses(status=404, code="ResourceNotFoundException", message="Could not resolve the foundation model")


def hung(_: ConverseRequest) -> Reply:
    return Hangs()


def unforced(request: ConverseRequest) -> Reply:
    """Refuses to be forced to a tool, as chat models do while they think."""
    if request.forced_tool is not None:
        return Refuses(
            status=400,
            code="ValidationException",
            message="Thinking may not be enabled when tool_choice forces tool use.",
        )
    return good(request)


FAILING: Mapping[str, Script] = {
    "good": good,
    "throttled": throttled,
    "denied": denied,
    "missing": missing,
    "hung": hung,
    "unforced": unforced,
    "stutters": failing(1, Refuses(status=503, code="ServiceUnavailableException")),
}


def alert_in(request: ConverseRequest) -> str:
    return "\n".join(str(block.get("text", "")) for block in request.messages[0]["content"])


def answered_in(request: ConverseRequest) -> list[Answered]:
    """Questions with their answers, as they stand in the conversation."""
    blocks: list[dict[str, Any]] = [block for message in request.messages for block in message["content"]]
    asked = {block["toolUse"]["toolUseId"]: block["toolUse"] for block in blocks if "toolUse" in block}
    results = [block["toolResult"] for block in blocks if "toolResult" in block]
    return [
        Answered(tool=asked[one["toolUseId"]]["name"], arguments=asked[one["toolUseId"]]["input"], text=_text(one))
        for one in results
        if asked[one["toolUseId"]]["name"] != SUBMIT
    ]


def _text(result: Mapping[str, Any]) -> str:
    parts: Sequence[Mapping[str, Any]] = result["content"]
    return "\n".join(str(part["text"]) if "text" in part else json.dumps(part.get("json")) for part in parts)
