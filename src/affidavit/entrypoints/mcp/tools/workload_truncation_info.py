"""Say of an answer about a Lambda function whether it is whole: its own records have no field for that."""

from typing import Any, Final

from pydantic import BaseModel

from affidavit.entrypoints.mcp.tools.workload_answer_size import shortened
from affidavit.ports.json import JsonValue
from affidavit.wire.byte_budget import MAX_BYTES, more_bytes
from affidavit.workloads.wire import Answer, ChangesResponse, LogsResponse, WorkloadArgs

SCHEMA: Final[dict[str, Any]] = {
    "truncated": {
        "type": "boolean",
        "description": "true when something was left out of this answer; see truncation_info.",
    },
    "truncation_info": {
        "type": "object",
        "description": "Only there when truncated is true.",
        "properties": {
            "original_count": {
                "type": ["integer", "null"],
                "description": "How many there are; null when nobody counted them.",
            },
            "returned_count": {"type": "integer", "description": "How many of them are in this answer."},
            "next_step": {"type": "string", "description": "What to do to get the others."},
            "next_call": {
                "type": "object",
                "description": "The call that returns more; not there when no call does.",
                "properties": {"tool": {"type": "string"}, "arguments": {"type": "object"}},
                "required": ["tool", "arguments"],
            },
        },
        "required": ["original_count", "returned_count", "next_step"],
    },
}


def fitted(answer: Answer, tool: str, request: WorkloadArgs, max_bytes: int) -> tuple[Answer, dict[str, JsonValue]]:
    """As much of the answer as fits, and the fields that say whether that is all of it."""
    short = shortened(answer, max_bytes)
    if not short.left_out:
        return answer, truncation_of(answer)
    whole = short.parts if getattr(answer, "is_complete", True) else None
    asked = request.model_dump(mode="json", exclude_defaults=True)
    more = {**asked, "max_bytes": more_bytes(asked.get("max_bytes", MAX_BYTES))}
    info = _cut(whole, short.parts - short.left_out, f"call {tool} with max_bytes={more['max_bytes']}")
    info["truncation_info"] = {**info["truncation_info"], "next_call": {"tool": tool, "arguments": more}}
    return short.answer, info


def truncation_of(answer: BaseModel) -> dict[str, JsonValue]:
    """For an answer that carries no `truncation_info` of its own."""
    match answer:
        case LogsResponse(is_complete=False):
            return _cut(None, len(answer.events), "read the log group of this answer before its window")
        case LogsResponse() if any(event.omitted_characters for event in answer.events):
            shown = len(answer.events)
            return _cut(shown, shown, "omitted_characters says where a message was cut: read it in the log group")
        case ChangesResponse(is_complete=False):
            return _cut(None, len(answer.changes), "ask for fewer hours, or look in CloudTrail itself")
        case _:
            return {"truncated": False}


def _cut(total: int | None, returned: int, next_step: str) -> dict[str, Any]:
    info = {"original_count": total, "returned_count": returned, "next_step": next_step}
    return {"truncated": True, "truncation_info": info}
