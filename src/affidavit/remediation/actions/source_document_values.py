"""Reads values out of source documents."""

from collections.abc import Mapping

from affidavit.ports.json import Item, JsonValue


def at_path(document: JsonValue, *path: str) -> JsonValue:
    """What stands there; None when nothing does, or a null: `has_path` tells them apart."""
    found: JsonValue = document
    for name in path:
        found = found.get(name) if isinstance(found, Mapping) else None
    return found


def has_path(document: JsonValue, *path: str) -> bool:
    holder = at_path(document, *path[:-1])
    return isinstance(holder, Mapping) and path[-1] in holder


def is_about_function(event: Item, function: str) -> bool:
    """Whether a CloudTrail event names this function, by its name or its ARN."""
    named = str(at_path(event, "requestParameters", "functionName") or "")
    return named == function or named.endswith(f":function:{function}")
