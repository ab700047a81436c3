"""Derives the id of an incident from its alert: the same alert has the same id, however often and late it comes."""

import hashlib
import re
from datetime import UTC, datetime, timedelta

from affidavit.incidents.incident import IncidentId

WINDOW = timedelta(minutes=5)
_USABLE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,127}")


def named_identity(name: str) -> IncidentId:
    """An id the sender chose. One that could not stand in a key or a file name is replaced by its hash."""
    return IncidentId(name if _USABLE.fullmatch(name) else _hashed("named", name))


def derived_identity(
    *, account: str, region: str, function: str, signal: str, at: datetime, window: timedelta = WINDOW
) -> IncidentId:
    number = int(at.timestamp() // window.total_seconds())
    return IncidentId(_hashed(account, region, function, signal, str(number)))


def earlier_identity(*, account: str, region: str, function: str, signal: str, at: datetime) -> IncidentId:
    """The incident of the window before: a retry just past the border belongs to it when that one began shortly ago."""
    return derived_identity(account=account, region=region, function=function, signal=signal, at=at - WINDOW)


def parse_time(text: str) -> datetime | None:
    """Aware UTC; a time without a zone is UTC. None when it is no ISO 8601 time, or none of this age."""
    try:
        moment = datetime.fromisoformat(text)
        moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    # Nothing can be counted back from the first day there is.
    return moment if 1970 < moment.year < 9999 else None


def _hashed(*parts: str) -> str:
    return "inc-" + hashlib.sha256("\0".join(parts).encode()).hexdigest()[:24]
