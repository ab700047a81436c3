"""Collects a state part by part, and lists the parts that could not be read: they are not absent."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import rfc8785

from affidavit.errors import AffidavitError, InvariantBroken
from affidavit.ports.json import Item, JsonValue

Section = dict[str, JsonValue]


@dataclass(kw_only=True)
class Sheet:
    """`not_read` has a JSON Pointer for each part that is missing from `document`, and why."""

    document: Section = field(default_factory=dict[str, JsonValue])
    not_read: dict[str, str] = field(default_factory=dict[str, str])

    def read(self, section: str, part: str, reader: Callable[[], JsonValue]) -> None:
        try:
            value = reader()
        except AffidavitError as error:
            self.not_read[pointer(section, part)] = str(error)
            return
        self.document[section] = {**mapping(self.document.get(section)), part: value}


def pointer(*names: str) -> str:
    """The JSON Pointer (RFC 6901) to these names."""
    return "".join(f"/{name.replace('~', '~0').replace('/', '~1')}" for name in names)


def mapping(value: JsonValue) -> Item:
    """The value, or nothing where it is no object."""
    return value if isinstance(value, Mapping) else {}


def chosen(item: Item, names: tuple[str, ...]) -> Section:
    """These fields of the item, without those that are empty or not there."""
    return {name: item[name] for name in names if item.get(name) not in (None, "", [], {})}


def canonical_bytes(value: JsonValue) -> bytes:
    """RFC 8785: one text for one value."""
    try:
        return rfc8785.dumps(value)  # pyright: ignore[reportArgumentType] - it asks for dict and list by name
    except rfc8785.CanonicalizationError as error:
        raise InvariantBroken(f"a state is no JSON: {error}") from error
