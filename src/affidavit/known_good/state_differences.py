"""Compares two states and says what was added, removed or changed, each with its place."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from affidavit.known_good.state_assembly import canonical_bytes, mapping, pointer
from affidavit.ports.json import Item, JsonValue

# About the reading, not about the function.
_OF_THE_READING = frozenset({"format", "not_read"})


class DifferenceKind(StrEnum):
    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"


@dataclass(frozen=True, kw_only=True, slots=True)
class StateChange:
    """`path` is a JSON Pointer into the state. Entries of a list differ at the path of the list."""

    path: str
    kind: DifferenceKind
    was: JsonValue = None
    now: JsonValue = None


@dataclass(frozen=True, kw_only=True, slots=True)
class StateComparison:
    """`not_compared` are places that one of the two states could not read: nothing is known about them."""

    differences: tuple[StateChange, ...]
    not_compared: tuple[str, ...]


def compare(was: Item, now: Item) -> StateComparison:
    unread = sorted({*unread_places(was), *unread_places(now)})
    found = _of_mappings(_compared(was), _compared(now), ())
    return StateComparison(
        differences=tuple(one for one in found if not any(_is_inside(one.path, place) for place in unread)),
        not_compared=tuple(unread),
    )


def unread_places(state: Item) -> list[str]:
    places = state.get("not_read")
    return [str(place) for place in places] if isinstance(places, Sequence) else []


def _compared(state: Item) -> Item:
    return {key: value for key, value in state.items() if key not in _OF_THE_READING}


def _is_inside(path: str, place: str) -> bool:
    """Also when the whole section is missing on one side because nothing of it could be read."""
    return f"{path}/".startswith(f"{place}/")


def _of_mappings(was: Item, now: Item, names: tuple[str, ...]) -> Iterator[StateChange]:
    for key in sorted({*was, *now}):
        yield from _of(was.get(key), now.get(key), (*names, key), is_old=key in was, is_new=key in now)


def _of(was: JsonValue, now: JsonValue, names: tuple[str, ...], *, is_old: bool, is_new: bool) -> Iterator[StateChange]:
    path = pointer(*names)
    if isinstance(was, Mapping) and isinstance(now, Mapping):
        yield from _of_mappings(was, now, names)
    elif len(names) == 1:
        # A section that one side lacks: its parts are compared, because each may be unread for a reason of its own.
        yield from _of_mappings(mapping(was), mapping(now), names)
    elif not is_old:
        yield StateChange(path=path, kind=DifferenceKind.ADDED, now=now)
    elif not is_new:
        yield StateChange(path=path, kind=DifferenceKind.REMOVED, was=was)
    elif isinstance(was, list) and isinstance(now, list):
        yield from _of_lists(was, now, path)
    elif canonical_bytes(was) != canonical_bytes(now):
        yield StateChange(path=path, kind=DifferenceKind.CHANGED, was=was, now=now)


def _of_lists(was: Sequence[JsonValue], now: Sequence[JsonValue], path: str) -> Iterator[StateChange]:
    """Rules, entries, routes and statements: what matters is which there are."""
    old, new = {canonical_bytes(one): one for one in was}, {canonical_bytes(one): one for one in now}
    yield from (StateChange(path=path, kind=DifferenceKind.REMOVED, was=old[one]) for one in old if one not in new)
    yield from (StateChange(path=path, kind=DifferenceKind.ADDED, now=new[one]) for one in new if one not in old)
    if old.keys() == new.keys() and len(was) == len(now) and list(was) != list(now):
        yield StateChange(path=path, kind=DifferenceKind.CHANGED, was=was, now=now)
