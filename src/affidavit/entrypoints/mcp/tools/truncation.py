"""Whether an answer is whole: every answer says so, also those whose own records have no word for it."""

from typing import Any, Final

from pydantic import BaseModel

from affidavit.collection.answers import BatchAnswer, HistoryAnswer
from affidavit.ports import JsonValue
from affidavit.workloads.records import LogsResponse

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
        },
        "required": ["original_count", "returned_count", "next_step"],
    },
}


def truncation_of(answer: BaseModel) -> dict[str, JsonValue]:
    """For an answer that carries no `truncation_info` of its own."""
    match answer:
        case HistoryAnswer(truncated=True):
            return _cut(None, len(answer.collections), "ask again with a larger limit, or with an instanceId")
        case BatchAnswer() if answer.passed_over_total > len(answer.passed_over):
            listed = len(answer.passed_over)
            return _cut(answer.passed_over_total, listed, "collect a node by its own id to learn why it is passed over")
        case LogsResponse(is_complete=False):
            return _cut(None, len(answer.events), "read the log group of this answer before its window")
        case LogsResponse() if any(event.omitted_characters for event in answer.events):
            shown = len(answer.events)
            return _cut(shown, shown, "omitted_characters says where a message was cut: read it in the log group")
        case _:
            return {"truncated": False}


def _cut(total: int | None, returned: int, next_step: str) -> dict[str, JsonValue]:
    info: dict[str, JsonValue] = {"original_count": total, "returned_count": returned, "next_step": next_step}
    return {"truncated": True, "truncation_info": info}
