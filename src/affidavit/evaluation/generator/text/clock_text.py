"""Times as the daemons print them, whatever the locale of this process is."""

from datetime import datetime

_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def stamp(at: datetime, pattern: str) -> str:
    """`strftime` with English names, `%e` (day padded with a blank) and `%L` (milliseconds)."""
    named = (
        pattern.replace("%a", _DAYS[at.weekday()])
        .replace("%b", _MONTHS[at.month - 1])
        .replace("%e", f"{at.day:2d}")
        .replace("%L", f"{at.microsecond // 1000:03d}")
    )
    if "%s" in named:
        named = named.replace("%s", str(int(at.timestamp())))
    return at.strftime(named) if "%" in named else named


def windows_stamp(at: datetime) -> str:
    """As PowerShell prints a time on a machine set to US English."""
    hour = at.hour % 12 or 12
    return f"{at.month}/{at.day}/{at.year} {hour}:{at:%M:%S} {'AM' if at.hour < 12 else 'PM'}"
