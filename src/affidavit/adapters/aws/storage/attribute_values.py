"""Values as DynamoDB writes them."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from affidavit.adapters.dynamodb_item_limits import is_list, is_number
from affidavit.errors import InvariantBroken
from affidavit.ports.json import Item, JsonValue
from affidavit.ports.table import Key

Attribute = dict[str, Any]


def to_attribute(value: JsonValue) -> Attribute:
    if value is None:
        return {"NULL": True}
    if isinstance(value, bool):
        return {"BOOL": value}
    if isinstance(value, str):
        return {"S": value}
    if is_number(value):
        return {"N": str(Decimal(repr(value)))}
    if isinstance(value, Mapping):
        return {"M": to_attributes(value)}
    if is_list(value):
        return {"L": [to_attribute(inner) for inner in value]}
    raise InvariantBroken(f"{type(value).__name__} cannot be kept in a table")


def to_attributes(item: Item) -> dict[str, Attribute]:
    return {name: to_attribute(value) for name, value in item.items()}


def to_key(key: Key) -> dict[str, Attribute]:
    return {"pk": {"S": key.pk}, "sk": {"S": key.sk}}


def from_attribute(attribute: Attribute) -> JsonValue:
    ((kind, value),) = attribute.items()
    match kind:
        case "S" | "BOOL":
            return value
        case "NULL":
            return None
        case "N":
            return _number(value)
        case "M":
            return from_attributes(value)
        case "L":
            return [from_attribute(inner) for inner in value]
        case _:
            raise InvariantBroken(f"an attribute of kind {kind} was written by somebody else")


def from_attributes(attributes: dict[str, Attribute]) -> dict[str, JsonValue]:
    return {name: from_attribute(attribute) for name, attribute in attributes.items()}


def _number(text: str) -> int | float:
    number = Decimal(text)
    return int(number) if number == number.to_integral_value() else float(number)
