"""The honest chat model for the Bedrock simulator: it asks and submits what the rules prove."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from affidavit.agent.chat.offline import Answered, next_move
from affidavit.agent.tool_specifications import SUBMIT
from affidavit.sandbox.chat_models.bedrock import ConverseRequest, Reply, ScriptedText


def good(request: ConverseRequest) -> Reply:
    """Asks and submits what the rules prove: an honest chat model over real HTTP."""
    move = next_move(alert_in(request), answered_in(request), must_submit=request.forced_tool == SUBMIT)
    return ScriptedText(text=move.text, calls=[(tool, dict(arguments)) for tool, arguments in move.calls])


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
