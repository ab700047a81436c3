"""Reads numbers in command output strictly: other text, non-ASCII digits and absurd lengths are no number."""

import re

_DECIMAL = re.compile(r"[+-]?\d{1,20}(?:\.\d{1,20})?(?:[eE][+-]?\d{1,2})?", re.ASCII)
# Days before the month, in a year without leap day.
_MONTHS: dict[str, int] = dict(
    zip(
        ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"),
        (0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334),
        strict=True,
    )
)
_CLOCK = re.compile(r"(\d\d):(\d\d)(?::(\d\d))?", re.ASCII)


def whole(text: str) -> int | None:
    """A whole number of at most 20 digits: the kernel's largest has 20."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 20 else None


def decimal(text: str) -> float | None:
    return float(text) if _DECIMAL.fullmatch(text) else None


def seconds_of_year(month: str, day: str, clock: str) -> int | None:
    """`Jan`, `15`, `10:25:03` as seconds since New Year of a year without leap day; None for anything else."""
    days, number, time = _MONTHS.get(month), whole(day), _CLOCK.fullmatch(clock)
    if days is None or number is None or not 1 <= number <= 31 or time is None:
        return None
    return (days + number - 1) * 86400 + int(time[1]) * 3600 + int(time[2]) * 60 + int(time[3] or 0)
