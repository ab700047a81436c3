"""Whether a condition holds on an item, as DynamoDB would decide it."""

from collections.abc import Mapping
from typing import assert_never

from affidavit.adapters.dynamodb_item_limits import is_list, is_number
from affidavit.ports.json import Item, JsonValue
from affidavit.ports.table import Absent, AllOf, AnyOf, AtMost, Condition, Equals, Lacks, Present


def holds(condition: Condition | None, item: Item | None) -> bool:
    """`item` is None when there is none, or when it has expired."""
    match condition:
        case None:
            return True
        case Absent():
            return item is None
        case Present():
            return item is not None
        case AllOf(conditions=parts):
            return all(holds(part, item) for part in parts)
        case AnyOf(conditions=parts):
            return any(holds(part, item) for part in parts)
        case _:
            return item is not None and _holds_on(condition, item)


def _holds_on(condition: Equals | AtMost | Lacks, item: Item) -> bool:
    match condition:
        case Equals(attribute=name, value=wanted):
            return name in item and is_same(item[name], wanted)
        case AtMost(attribute=name, value=most):
            value = item.get(name)
            return is_number(value) and value <= most
        case Lacks(attribute=name):
            return name not in item
        case _:
            assert_never(condition)


def is_same(one: JsonValue, other: JsonValue) -> bool:
    """Equal and of one kind: to Python, but to no table, True is 1."""
    if is_number(one) and is_number(other):
        return one == other
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(is_same(value, other[name]) for name, value in one.items())
    if is_list(one) and is_list(other):
        return len(one) == len(other) and all(is_same(*pair) for pair in zip(one, other, strict=True))
    return type(one) is type(other) and one == other
