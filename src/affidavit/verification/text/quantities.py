"""Numbers with their units, as sentences and recorded answers write them."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum


class Dimension(StrEnum):
    TIME = "time"
    """In milliseconds."""
    SIZE = "size"
    """In bytes."""
    SHARE = "share"
    """In percent."""
    COUNT = "count"


@dataclass(frozen=True, kw_only=True, slots=True)
class Quantity:
    """`value` is in the base unit of its dimension, `step` is half of the last digit that was written."""

    text: str
    number: float
    """As written, without its unit."""
    value: float
    dimension: Dimension
    step: float
    start: int
    end: int


_TIME = {
    **dict.fromkeys(("ms", "msec", "millisecond", "milliseconds"), 1.0),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1_000.0),
    **dict.fromkeys(("min", "mins", "minute", "minutes"), 60_000.0),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), 3_600_000.0),
    **dict.fromkeys(("day", "days"), 86_400_000.0),
    **dict.fromkeys(("week", "weeks"), 604_800_000.0),
}
_SIZE = {
    **dict.fromkeys(("b", "byte", "bytes"), 1.0),
    **dict.fromkeys(("kb", "kib", "kilobyte", "kilobytes"), 1024.0),
    **dict.fromkeys(("mb", "mib", "megabyte", "megabytes"), 1024.0**2),
    **dict.fromkeys(("gb", "gib", "gigabyte", "gigabytes"), 1024.0**3),
    **dict.fromkeys(("tb", "tib", "terabyte", "terabytes"), 1024.0**4),
}
_SHARE = {"%": 1.0, "percent": 1.0, "per cent": 1.0}
UNITS = {
    **{unit: (Dimension.TIME, factor) for unit, factor in _TIME.items()},
    **{unit: (Dimension.SIZE, factor) for unit, factor in _SIZE.items()},
    **{unit: (Dimension.SHARE, factor) for unit, factor in _SHARE.items()},
}
_NUMBER = re.compile(
    r"(?<![\w.,:/$-])(?P<number>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)"
    r"(?:(?P<gap>[\s\u00a0-]?)(?P<unit>%|per cent\b|[A-Za-z]+\b))?(?![\d/]|[.:]\d|-\d)"
)
_ONES = ("none", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_SPELLED = re.compile(rf"(?i)\b(?P<ones>{'|'.join(_ONES[1:])}) (?P<tens>hundred|thousand)\b")
# `avail=371 MB`, `retry-after=120`: a key in front of the number.
KEYED = re.compile(r"(?P<key>[A-Za-z][\w-]*)\s*[=:]\s*(?=\d)")


def quantities(text: str) -> Iterator[Quantity]:
    """Every number that stands alone: not part of a name, a version, an address, a time or a date."""
    yield from _spelled(text)
    for found in _NUMBER.finditer(text):
        digits = found["number"].replace(",", "")
        unit = (found["unit"] or "").lower()
        dimension, factor = UNITS.get(unit, (Dimension.COUNT, 1.0))
        if unit and unit not in UNITS and found["gap"] == "":
            continue  # `14200x9600`, `3rd`: a name or a word
        yield Quantity(
            text=found.group() if unit in UNITS else found["number"],
            number=float(digits),
            value=float(digits) * factor,
            dimension=dimension,
            step=_half_of_last_digit(digits) * factor,
            start=found.start(),
            end=found.end() if unit in UNITS else found.end("number"),
        )


def _spelled(text: str) -> Iterator[Quantity]:
    """`two hundred`, `three thousand`."""
    for found in _SPELLED.finditer(text):
        number = _ONES.index(found["ones"].casefold()) * (100.0 if found["tens"].casefold() == "hundred" else 1_000.0)
        yield Quantity(
            text=found.group(),
            number=number,
            value=number,
            dimension=Dimension.COUNT,
            step=number / 20,
            start=found.start(),
            end=found.end(),
        )


def _half_of_last_digit(digits: str) -> float:
    _, _, decimals = digits.partition(".")
    return 0.5 * 10 ** -len(decimals)


def is_about(claimed: Quantity, recorded: float) -> bool:
    """Whether the recorded value rounds to the claimed one; sizes may count thousands or 1024s."""
    factors = (1.0, 1.024, 1.024**2, 1 / 1.024, 1 / 1.024**2) if claimed.dimension is Dimension.SIZE else (1.0,)
    room = max(claimed.step, abs(claimed.value) * 0.01)
    return any(abs(recorded * factor - claimed.value) <= room * 1.001 for factor in factors)
