"""What a source says about one thing, read by the Critic on its own: events by exact name, states by exact place."""

import json
import re
from collections.abc import Mapping, Sequence
from urllib.parse import unquote

from affidavit.ports.argument_sources import SourceDocument, SourceKind
from affidavit.ports.json import Item, JsonValue

# Lambda's events carry the date of its API: PutFunctionConcurrency20171031, AddPermission20150331v2.
_API_DATE = re.compile(r"\d{8}(v\d+)?$")


def kept(said: SourceDocument, *path: str) -> JsonValue:
    """What a known-good state has at this place; None for any other source, or where nothing stands."""
    found: JsonValue = said.document if said.source.kind is SourceKind.BASELINE else None
    for name in path:
        found = mapping(found).get(name)
    return found


def keeps(said: SourceDocument, *path: str) -> bool:
    """Whether a known-good state tells this at all, be it a null."""
    return path[-1] in mapping(kept(said, *path[:-1]))


def asked(said: SourceDocument, *calls: str) -> Item:
    """The request of an event that is one of these calls, with first letters in lower case; else nothing."""
    name = _API_DATE.sub("", str(said.document.get("eventName", "")))
    if said.source.kind is not SourceKind.TRAIL_EVENT or name not in calls:
        return {}
    request = mapping(said.document.get("requestParameters"))
    return {key[:1].lower() + key[1:]: value for key, value in request.items()}


def is_call(said: SourceDocument, *calls: str) -> bool:
    name = _API_DATE.sub("", str(said.document.get("eventName", "")))
    return said.source.kind is SourceKind.TRAIL_EVENT and name in calls


def is_function(named: JsonValue, function: str) -> bool:
    """Whether a request names this function, by its name or its ARN."""
    return str(named) == function or str(named).endswith(f":function:{function}")


def policy(value: JsonValue) -> Item:
    """A policy document, which events keep as text; empty when it is none."""
    if isinstance(value, str):
        try:
            value = json.loads(unquote(value) if value.startswith("%7B") else value)
        except ValueError:
            return {}
    return mapping(value)


def mapping(value: JsonValue) -> Item:
    return value if isinstance(value, Mapping) else {}


def listed(value: JsonValue) -> list[Item]:
    """The objects of a list; EC2's events wrap theirs in `items`."""
    inner = mapping(value).get("items") if isinstance(value, Mapping) else value
    if not isinstance(inner, Sequence) or isinstance(inner, str):
        return []
    return [one for one in inner if isinstance(one, Mapping)]


def last(arn: str) -> str:
    """The name at the end of an ARN."""
    return re.split(r"[:/]", arn)[-1]
