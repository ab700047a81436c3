"""JSON schemas of a tool: its request as flat arguments, its answer with what the server adds to every answer."""

from typing import Any, cast

from pydantic import BaseModel

from affidavit.entrypoints.mcp.tool import Tool, Toolset
from affidavit.entrypoints.mcp.truncation import SCHEMA as TRUNCATION

DEBUG = "debug"
_TEXT = {"type": "string"}
_ADDED: dict[str, Any] = {
    "success": {"const": True, "type": "boolean", "description": "true on every answer; an error has another shape."},
    "redacted": {
        "type": "object",
        "additionalProperties": {"type": "integer"},
        "description": "What was hidden in this answer, by type. `[REDACTED:type]` stands in its place; byte ranges "
        "and sha256 are those of the stored text.",
    },
    "redaction_gaps": {
        "type": "array",
        "items": _TEXT,
        "description": "Texts that were withheld because they could not be redacted. Nothing is known about them.",
    },
}
_DEBUG_ENVELOPE: dict[str, Any] = {
    "type": "object",
    "description": "Hashes over canonical JSON without volatile fields.",
    "properties": {
        "tool": _TEXT,
        "input_hash": _TEXT,
        "output_hash": _TEXT,
        "latency_ms": {"type": "number"},
        "schema_version": _TEXT,
        "deterministic": {"type": "boolean"},
    },
    "required": ["tool", "input_hash", "output_hash", "latency_ms", "schema_version", "deterministic"],
}


def input_schema(tool: Tool, *, has_debug: bool) -> dict[str, Any]:
    schema = tool.request.model_json_schema(by_alias=True, mode="validation")
    if has_debug:
        asked = {"type": "boolean", "default": False, "description": "Add `_debug` with hashes to the answer."}
        schema["properties"] = {**schema.get("properties", {}), DEBUG: asked}
    return {"type": "object", **_untitled(schema), "additionalProperties": False}


def output_schema(tool: Tool, *, has_debug: bool) -> dict[str, Any]:
    schema = tool.answer.model_json_schema(by_alias=True, mode="serialization")
    cut = {} if tool.toolset is Toolset.NODES else TRUNCATION
    added = {**_ADDED, **cut, **({"_debug": _DEBUG_ENVELOPE} if has_debug else {})}
    schema["properties"] = {**schema.get("properties", {}), **added}
    schema["required"] = sorted({*schema.get("required", []), "success", "truncated", "redacted"})
    return {"type": "object", **_untitled(schema)}


def arguments_of(request: BaseModel) -> dict[str, Any]:
    """As they stand on the wire, with defaults filled in."""
    return request.model_dump(mode="json", by_alias=True)


def _untitled(schema: dict[str, Any]) -> dict[str, Any]:
    """Titles repeat the names of fields and cost a chat model tokens."""
    return {key: _clean(value, key) for key, value in schema.items() if key != "title" or not isinstance(value, str)}


def _clean(value: Any, key: str) -> Any:
    if isinstance(value, dict):
        entries = cast("dict[str, Any]", value)  # JSON has no other keys
        if key in ("properties", "$defs"):
            return {name: _clean(each, "") for name, each in entries.items()}
        return _untitled(entries)
    if isinstance(value, list):
        return [_clean(each, "") for each in cast("list[Any]", value)]  # of whatever
    return value
