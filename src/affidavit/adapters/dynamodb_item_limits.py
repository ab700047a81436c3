"""Checks DynamoDB's limits on items in every adapter, so that what works on a laptop also works in AWS."""

import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import TypeGuard

from affidavit.errors import InputRefused, InvariantBroken
from affidavit.ports.json import Item, JsonValue
from affidavit.ports.table import Key, Put, Table, Update, Write

MOST_PK_BYTES = 2048
MOST_SK_BYTES = 1024
MOST_ITEM_BYTES = 400 * 1024
MOST_WRITES = 100
MOST_DIGITS = 38
MOST_MAGNITUDE = 125


def key_of(write: Write) -> Key:
    if isinstance(write, Put):
        return Key(pk=str(write.item.get("pk", "")), sk=str(write.item.get("sk", "")))
    return write.key


def check_key(key: Key) -> None:
    for name, value, most in (("pk", key.pk, MOST_PK_BYTES), ("sk", key.sk, MOST_SK_BYTES)):
        if not 0 < len(_encoded(value)) <= most:
            raise InputRefused(
                f"{name} {value[:80]!a} must be 1 to {most} bytes long", hint="shorten what the key is made of"
            )


def check_write(write: Write) -> None:
    """Raises InputRefused for what no table can hold, InvariantBroken for a write that contradicts itself."""
    check_key(key_of(write))
    if isinstance(write, Put):
        check_item(write.item)
    elif isinstance(write, Update):
        _check_update(write)


def check_item(item: Item) -> None:
    if (size := sum(_size(name) + _size(value) for name, value in item.items())) > MOST_ITEM_BYTES:
        raise InputRefused(
            f"item {item.get('pk')} {item.get('sk')} has {size} bytes, more than {MOST_ITEM_BYTES}",
            hint="keep the long part in the object store and its key in the item",
        )
    for name in ("ttl", "due_at"):
        if name in item and not is_number(item[name]):
            raise InputRefused(f"{name} of {item.get('pk')} is no number", hint="give seconds since 1970")
    if "due" in item and not (isinstance(item["due"], str) and item["due"]):
        raise InputRefused(f"due of {item.get('pk')} is no text", hint="give the name of what is due")


def check_transaction(writes: Sequence[Write], default: Table) -> None:
    places = [((write.table or default).name, key_of(write)) for write in writes]
    if not 0 < len(writes) <= MOST_WRITES or len(set(places)) < len(places):
        raise InvariantBroken(f"a transaction has 1 to {MOST_WRITES} writes, each on another item; got {len(writes)}")
    for write in writes:
        check_write(write)


def normal(value: JsonValue) -> JsonValue:
    """The value as it is read back: lists for sequences, whole numbers as int."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, Mapping):
        return {name: normal(inner) for name, inner in value.items()}
    if is_list(value):
        return [normal(inner) for inner in value]
    return value


def is_number(value: JsonValue) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_list(value: JsonValue) -> TypeGuard[Sequence[JsonValue]]:
    return isinstance(value, Sequence) and not isinstance(value, str)


def is_expired(item: Item, now: float) -> bool:
    ttl = item.get("ttl")
    return is_number(ttl) and ttl <= now


def _check_update(update: Update) -> None:
    named = [*update.set, *update.add, *update.remove]
    if len(set(named)) < len(named) or {"pk", "sk"} & set(named):
        raise InvariantBroken(f"update of {update.key}: an attribute twice, or a key")
    check_item({**update.set, **update.add})


def _size(value: JsonValue) -> int:
    """Bytes as DynamoDB counts them, near enough; raises InputRefused for what it cannot hold."""
    if value is None or isinstance(value, bool):
        return 1
    if isinstance(value, str):
        return len(_encoded(value))
    if is_number(value):
        return _digits(value) // 2 + 2
    if isinstance(value, Mapping):
        return 3 + sum(1 + _size(name) + _size(inner) for name, inner in value.items())
    if is_list(value):
        return 3 + sum(1 + _size(inner) for inner in value)
    raise InvariantBroken(f"{type(value).__name__} cannot be kept in a table")


def _digits(value: int | float) -> int:
    if isinstance(value, float) and not math.isfinite(value):
        raise InputRefused(f"{value} cannot be kept in a table", hint="leave the attribute out")
    number = Decimal(repr(value)).normalize() if isinstance(value, float) else Decimal(value)
    digits = len(str(abs(value)).rstrip("0")) if isinstance(value, int) else len(number.as_tuple().digits)
    if digits > MOST_DIGITS or (number and not -130 <= number.adjusted() <= MOST_MAGNITUDE):
        raise InputRefused(f"a number of {digits} digits cannot be kept in a table", hint="keep it as text")
    return digits


def _encoded(value: str) -> bytes:
    try:
        return value.encode()
    except UnicodeEncodeError:
        raise InputRefused(f"{value[:80]!a} is not Unicode text", hint="replace the broken characters first") from None
