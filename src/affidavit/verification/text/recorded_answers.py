"""What the recorded answers of an incident say: their texts, numbers and times, ready to be looked up."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property, lru_cache

from affidavit.ports.json import JsonValue
from affidavit.verification.ledger_entry import Entry
from affidavit.verification.text.allowed_words import is_our_word
from affidavit.verification.text.disguised_names import cores_of, squeezed
from affidavit.verification.text.prompt_injection import gives_orders
from affidavit.verification.text.quantities import KEYED, UNITS, Dimension, quantities

_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?")
# Units that a field's name gives to its bare number.
_KEY_UNITS = (
    (re.compile(r"(?i)(_ms|milliseconds|duration|latency)$"), "ms"),
    (re.compile(r"(?i)(timeout|retry.?after|seconds|_s|_sec|ttl|interval|delay)$"), "s"),
    (re.compile(r"(?i)(memory(size)?|_mb|ephemeralstorage)$"), "mb"),
    (re.compile(r"(?i)(bytes|codesize)$"), "b"),
)


@dataclass(frozen=True, kw_only=True)
class Text:
    """One text of an answer. `gives_orders`: it addresses whoever reads it, so its names are not to be trusted."""

    tool: str
    key: str
    value: str
    gives_orders: bool


@dataclass(frozen=True, kw_only=True)
class Number:
    key: str
    number: float
    value: float
    dimension: Dimension


@dataclass(frozen=True, kw_only=True)
class Answers:
    texts: tuple[Text, ...]
    numbers: tuple[Number, ...]
    moments: tuple[datetime, ...]

    @cached_property
    def corpus(self) -> str:
        """Every trusted text in lower case, one a line."""
        return "\n".join(text.value for text in self.texts if not text.gives_orders).casefold()

    @cached_property
    def orders(self) -> str:
        """Every text that gives orders."""
        return "\n".join(text.value for text in self.texts if text.gives_orders)

    @cached_property
    def squeezed(self) -> str:
        """Every trusted text as letters and digits alone."""
        return squeezed(self.corpus)

    @cached_property
    def names_ordered(self) -> Mapping[str, str]:
        """Names that stand only in text which gives orders, by their letters and digits."""
        # A name that a trusted text holds as well is anybody's to use.
        cores = cores_of(self.orders, lambda name: self.holds(name) or is_our_word(name))
        return {core: name for core, name in cores.items() if core not in self.squeezed}

    @cached_property
    def clock_times(self) -> frozenset[str]:
        """Every recorded time as HH:MM, also one minute later: a report may round up."""
        return frozenset(f"{moment:%H:%M}" for moment in self.moments)

    def holds(self, name: str) -> bool:
        """Whether the name stands in a trusted text: as it is, between characters that end a name."""
        return re.search(rf"(?<![a-z0-9]){re.escape(name.casefold())}(?![a-z0-9])", self.corpus) is not None


def read_answers(entries: Sequence[Entry], extra: Sequence[str] = ()) -> Answers:
    """`extra` is what the incident itself says: names of what it is about, the text of its alert."""
    return _read(_Shared(tuple(entries)), tuple(extra))


class _Shared:
    """Entries under their digests, so that one incident's answers are read once."""

    def __init__(self, entries: tuple[Entry, ...]) -> None:
        self.entries = entries
        self._key = tuple(entry.sha256 for entry in entries)

    def __hash__(self) -> int:
        return hash(self._key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Shared) and other._key == self._key


@lru_cache(maxsize=8)
def _read(shared: _Shared, extra: tuple[str, ...]) -> Answers:
    texts = [text for entry in shared.entries for text in _texts(entry.tool, "", entry.answer)]
    texts += [Text(tool=entry.tool, key="", value=entry.tool, gives_orders=False) for entry in shared.entries]
    texts += [Text(tool="", key="", value=one, gives_orders=gives_orders(one)) for one in extra]
    numbers = [number for entry in shared.entries for number in _numbers("", entry.answer)]
    spoken = [text for text in texts if not text.gives_orders]
    return Answers(
        texts=tuple(texts),
        numbers=(*numbers, *(number for text in spoken for number in _in_text(text.value))),
        moments=tuple(moment for text in spoken for moment in _moments(text.value)),
    )


def _texts(tool: str, key: str, value: JsonValue) -> Iterator[Text]:
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield Text(tool=tool, key=key, value=name, gives_orders=False)
            yield from _texts(tool, name, inner)
    elif isinstance(value, str):
        for line in value.splitlines():
            yield Text(tool=tool, key=key, value=line, gives_orders=gives_orders(line))
    elif isinstance(value, Sequence):
        for inner in value:
            yield from _texts(tool, key, inner)


def _numbers(key: str, value: JsonValue) -> Iterator[Number]:
    if isinstance(value, bool):
        return
    if isinstance(value, int | float):
        yield _number(key, float(value))
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            whole = f"{key}{name}" if name.lower() == "size" else name
            yield from _numbers(whole, inner)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        yield Number(key=f"length of {key}", number=len(value), value=len(value), dimension=Dimension.COUNT)
        for inner in value:
            yield from _numbers(key, inner)


def _number(key: str, number: float) -> Number:
    unit = next((unit for pattern, unit in _KEY_UNITS if pattern.search(key)), None)
    dimension, factor = UNITS[unit] if unit else (Dimension.COUNT, 1.0)
    return Number(key=key, number=number, value=number * factor, dimension=dimension)


def _in_text(text: str) -> Iterator[Number]:
    keys = {found.end(): found["key"] for found in KEYED.finditer(text)}
    spaced = KEYED.sub(lambda found: f"{'_' * (len(found.group()) - 1)} ", text)
    for one in quantities(spaced):
        key = keys.get(one.start, "")
        if one.dimension is Dimension.COUNT and key:
            yield _number(key, one.number)
        yield Number(key=key, number=one.number, value=one.value, dimension=one.dimension)


def _moments(text: str) -> Iterator[datetime]:
    for found in _MOMENT.finditer(text):
        try:
            moment = datetime.fromisoformat(found.group().replace("Z", "+00:00"))
        except ValueError:
            continue
        yield moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
