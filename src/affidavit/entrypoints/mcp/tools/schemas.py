"""JSON schemas of a tool: its request as flat arguments, its answer with what the server adds to every answer."""

from copy import deepcopy
from functools import cache
from typing import Any, Literal, cast

from pydantic import BaseModel

from affidavit.entrypoints.mcp.tools.tool import Tool, Toolset
from affidavit.entrypoints.mcp.tools.workload_truncation_info import SCHEMA as TRUNCATION

DEBUG = "debug"
# Bounds that no sensible call meets. They are checked all the same, and an error names them.
_UNTOLD = frozenset({"minLength", "maxLength", "maxItems", "minimum", "exclusiveMinimum", "additionalProperties"})
_LONGEST_PATTERN = 24
_LARGEST_BOUND = 1000
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
    schema = _compact(_schema_of(tool.request, "validation"))
    if has_debug:
        asked = {"type": "boolean", "default": False, "description": "Add `_debug` with hashes to the answer."}
        schema["properties"] = {**schema.get("properties", {}), DEBUG: asked}
    schema.pop("additionalProperties", None)  # unknown arguments are refused by words that say which there are
    return {"type": "object", **_untitled(schema)}


def output_schema(tool: Tool, *, has_debug: bool) -> dict[str, Any]:
    schema = _schema_of(tool.answer, "serialization")
    cut = TRUNCATION if tool.toolset is Toolset.LAMBDA else {}
    added = {**_ADDED, **cut, **({"_debug": _DEBUG_ENVELOPE} if has_debug else {})}
    schema["properties"] = {**schema.get("properties", {}), **added}
    schema["required"] = sorted({*schema.get("required", []), "success", "truncated", "redacted"})
    return {"type": "object", **_untitled(schema)}


def _schema_of(model: type[BaseModel], mode: Literal["validation", "serialization"]) -> dict[str, Any]:
    """A copy for whoever asks: they add to it."""
    return deepcopy(_generated(model, mode))


@cache
def _generated(model: type[BaseModel], mode: Literal["validation", "serialization"]) -> dict[str, Any]:
    """Once for each process: it takes pydantic half a second for all tools, and each door makes a server."""
    return model.model_json_schema(by_alias=True, mode=mode)


def _compact(schema: dict[str, Any]) -> dict[str, Any]:
    """Definitions where they are used, and no null: a chat model reads every byte of it.

    Null is taken for the default all the same.
    """
    definitions = schema.pop("$defs", {})
    return cast("dict[str, Any]", _inlined(schema, definitions))  # what goes in as an object comes out as one


def _inlined(value: Any, definitions: dict[str, Any]) -> Any:
    if isinstance(value, list):
        return [_inlined(each, definitions) for each in cast("list[Any]", value)]  # of whatever
    if not isinstance(value, dict):
        return value
    entries = dict(cast("dict[str, Any]", value))  # JSON has no other keys
    if "$ref" in entries:
        named = definitions[str(entries.pop("$ref")).rpartition("/")[2]]
        return _inlined({**{key: each for key, each in named.items() if key != "description"}, **entries}, definitions)
    choices = [each for each in entries.get("anyOf", ()) if each.get("type") != "null"]
    if len(choices) == 1:
        del entries["anyOf"]
        entries = {**choices[0], **entries}
    told = {key: each for key, each in entries.items() if _is_worth_telling(key, each)}
    return {key: _inlined(each, definitions) for key, each in told.items()}


def _is_worth_telling(key: str, value: Any) -> bool:
    match key:
        case "pattern":
            return not isinstance(value, str) or len(value) <= _LONGEST_PATTERN
        case "maximum":
            return not isinstance(value, int) or value <= _LARGEST_BOUND
        case "default":
            return value is not None
        case _:
            # A property may be called like one of these words, and then it is an object.
            return key not in _UNTOLD or isinstance(value, dict)


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
