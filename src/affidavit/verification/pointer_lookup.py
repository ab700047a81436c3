"""Finding what a pointer's `field` names: a JSON Pointer (RFC 6901), or a dotted path that can mean one thing only."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from affidavit.ports.json import JsonValue

_DIGITS = frozenset("0123456789")
# A path of many dots over keys with dots could be read in very many ways; nobody writes one honestly.
_DOTTED_PARTS = 24


@dataclass(frozen=True, kw_only=True, slots=True)
class Located:
    """`path` holds every value from the whole answer (first) down to the one named (last)."""

    path: tuple[JsonValue, ...]

    @property
    def value(self) -> JsonValue:
        return self.path[-1]


@dataclass(frozen=True, slots=True)
class NotLocated:
    reason: str


def locate(field: str, answer: JsonValue) -> Located | NotLocated:
    return _by_pointer(field, answer) if field == "" or field.startswith("/") else _by_dots(field, answer)


def _by_pointer(field: str, answer: JsonValue) -> Located | NotLocated:
    path = [answer]
    for token in field.split("/")[1:]:
        if "~" in token.replace("~0", "").replace("~1", ""):
            return NotLocated(f"{field} is not a JSON Pointer: ~ stands alone in {token!r}")
        step = _step(path[-1], token.replace("~1", "/").replace("~0", "~"))
        if step is None:
            return NotLocated(f"the answer has nothing at {field}: {token!r} is not there")
        path.append(step.value)
    return Located(path=tuple(path))


def _by_dots(field: str, answer: JsonValue) -> Located | NotLocated:
    parts = tuple(field.removeprefix("$.").replace("[", ".").replace("]", "").split("."))
    if len(parts) > _DOTTED_PARTS:
        return NotLocated(f"the path {field[:80]!r} has too many dots: use a JSON Pointer such as /events/0/message")
    readings = list(_readings((answer,), parts))
    if not readings:
        return NotLocated(f"the answer has nothing at {field}")
    if len(readings) > 1:
        return NotLocated(f"{field} can be read in {len(readings)} ways: use a JSON Pointer such as /events/0/message")
    return Located(path=readings[0])


def _readings(path: tuple[JsonValue, ...], parts: tuple[str, ...]) -> Iterator[tuple[JsonValue, ...]]:
    """Every way to walk `parts`; a key may itself contain dots, so several parts can be one key."""
    if not parts:
        yield path
        return
    for taken in range(1, len(parts) + 1 if isinstance(path[-1], Mapping) else 2):
        step = _step(path[-1], ".".join(parts[:taken]))
        if step is not None:
            yield from _readings((*path, step.value), parts[taken:])


@dataclass(frozen=True, slots=True)
class _Step:
    value: JsonValue


def _step(inside: JsonValue, token: str) -> _Step | None:
    if isinstance(inside, Mapping):
        return _Step(inside[token]) if token in inside else None
    if isinstance(inside, Sequence) and not isinstance(inside, str) and _is_index(token, len(inside)):
        return _Step(inside[int(token)])
    return None


def _is_index(token: str, length: int) -> bool:
    """RFC 6901: digits without a leading zero. `-` names the place after the last, where nothing is."""
    is_number = 0 < len(token) <= 9 and set(token) <= _DIGITS and (token == "0" or token[0] != "0")
    return is_number and int(token) < length
