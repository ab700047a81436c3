"""Reads parameters out of CloudTrail events, whose first letters differ between services and copies."""

from collections.abc import Mapping, Sequence

from affidavit.ports.json import Item, JsonValue


def requested(event: Item, name: str) -> JsonValue:
    """A request parameter by its name in AWS's lower camel case; None when the call had none."""
    return field(event.get("requestParameters"), name)


def field(value: JsonValue, name: str) -> JsonValue:
    if not isinstance(value, Mapping):
        return None
    return value.get(name, value.get(name[0].upper() + name[1:]))


def items(value: JsonValue) -> list[Item]:
    """The entries of a list, which EC2's events wrap: `{"items": [...]}`."""
    listed = field(value, "items") if isinstance(value, Mapping) else value
    if not isinstance(listed, Sequence) or isinstance(listed, str):
        return []
    return [entry for entry in listed if isinstance(entry, Mapping)]


def is_call(event: Item, *names: str) -> bool:
    """Some services add the version of their API to the name."""
    return str(event.get("eventName", "")).startswith(names)
