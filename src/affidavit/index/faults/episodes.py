"""Computes when a fault was active: spans until a clearing line, start-ups, planned stops, bursts.

All functions take times in microseconds and know nothing of rules. Those of hits are in line order, and UNKNOWN ones
decide nothing; what hits are compared with is `in_order`: one fault may have many outbreaks, and nobody sorts for each.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from affidavit.index.times.bundle_clock import UNKNOWN, Micros
from affidavit.index.times.timestamps import SECOND

MOST_STARTS = 3
TOGETHER = 120
QUIET_BEFORE_COLLECTION = 60
# What was seen so shortly before the collection still holds.
STILL_THERE = 30 * 60
# After so long without it, in a log that goes on, a short outage counts as passed.
PASSED = 10 * 60
# An API server of several instances is replaced one by one. More short outages are a fault that comes and goes.
MOST_OUTAGES = 3
# From so many hits on their rhythm tells whether they go on; so many times the usual pause is a stop.
REPEATED = 3
PAUSES = 4
# What was not seen for so long is over; in between nobody knows.
LONG_AGO = 3 * 3600

Mask = NDArray[np.bool_]
# When a line came, and the names in it.
Named = tuple[int, frozenset[str]]


@dataclass(frozen=True, kw_only=True)
class FaultSpan:
    """`cleared` is when a line said it was over; UNKNOWN while none did."""

    start: int
    end: int
    count: int
    cleared: int


def in_order(times: Micros) -> Micros:
    """The known ones, sorted."""
    return np.sort(times[times != UNKNOWN])


def spans(hits: Micros, clears: Micros) -> list[FaultSpan]:
    """Hits between two clears are one span; it ends with the first clear behind it."""
    hits = in_order(hits)
    # How many clears came before each hit names its span; a clear at the very same time comes after it.
    numbers = np.searchsorted(clears, hits, side="left")
    if not len(hits):
        return []
    first = np.flatnonzero(np.diff(numbers, prepend=-1))
    last = np.append(first[1:], len(hits)) - 1
    over = numbers[first]
    cleared = np.full(len(first), UNKNOWN)
    cleared[over < len(clears)] = clears[over[over < len(clears)]]
    columns = hits[first], hits[last], last - first + 1, cleared
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return [FaultSpan(start=start, end=end, count=count, cleared=clear) for start, end, count, clear in rows]


def is_startup(hits: Micros, starts: Micros, seconds: int, *, collected: int) -> bool:
    """Whether all hits came within `seconds` of a start and had stopped well before the collection.

    A daemon that starts over and over is no start-up: more than MOST_STARTS of them with hits are an outage.
    `starts` are `merged`.
    """
    if collected == UNKNOWN or not soon_after(hits, starts, seconds).all():
        return False
    with_hits = np.unique(np.searchsorted(starts, hits, side="right"))
    return len(with_hits) <= MOST_STARTS and int(hits.max()) <= collected - QUIET_BEFORE_COLLECTION * SECOND


def was_brief(hits: Micros, seconds: int, *, logged_until: int, at_least: int = REPEATED) -> bool:
    """Whether the hits came in a few outages no longer than `seconds`, and the log went on for long without another.

    A single hit may be of somebody who tried once and gave up, so `at_least` so many make an outage that is told.
    """
    if not len(hits) or not has_passed(hits, logged_until=logged_until):
        return False
    outages = [hits[positions] for positions in outbreaks(hits, PASSED)]
    return len(outages) <= MOST_OUTAGES and all(
        len(outage) >= at_least and int(outage.max()) - int(outage.min()) <= seconds * SECOND for outage in outages
    )


def has_passed(hits: Micros, *, logged_until: int) -> bool:
    """Whether the log went on for long after the last hit. Nobody knows where a time is not known."""
    if (hits == UNKNOWN).any() or logged_until == UNKNOWN:
        return False
    return logged_until - int(hits.max()) >= PASSED * SECOND


def merged(starts: Micros) -> Micros:
    """One start for all that begins together: runtime, kubelet and network plugin come up within two minutes."""
    kept: list[int] = []
    for start in in_order(starts).tolist():
        if not kept or start - kept[-1] > TOGETHER * SECOND:
            kept.append(start)
    return np.array(kept, dtype=np.int64)


def soon_after(hits: Micros, starts: Micros, seconds: int) -> Mask:
    """Which hits come within `seconds` after one of the starts."""
    if not len(starts):
        return np.zeros(len(hits), dtype=bool)
    latest = np.searchsorted(starts, hits, side="right") - 1
    since = hits - starts[np.maximum(latest, 0)]
    return (hits != UNKNOWN) & (latest >= 0) & (since <= seconds * SECOND)


def each_was_announced(hits: Sequence[Named], plans: Sequence[Named], seconds: int) -> bool:
    """Whether each hit comes within `seconds` after a line that announces just what the hit names."""
    told: dict[str, list[int]] = {}
    for time, names in plans:
        for name in names if time != UNKNOWN else ():
            told.setdefault(name, []).append(time)
    return all(
        time != UNKNOWN
        and any(0 <= time - start + SECOND <= seconds * SECOND for name in names for start in told.get(name, ()))
        for time, names in hits
    )


def goes_on(hits: Micros, collected: int) -> bool | None:
    """Whether hits still came when the bundle was made, judged by how often they came; None where it cannot be told.

    What comes every ten minutes is not over after five. Lines of one moment count as one.
    """
    known = merged(hits)
    quiet = collected - int(in_order(hits)[-1])
    if quiet <= STILL_THERE * SECOND:
        return True
    usual = (int(known[-1]) - int(known[0])) // max(1, len(known) - 1)
    if len(known) >= REPEATED and quiet <= PAUSES * usual:
        return True
    return False if quiet > LONG_AGO * SECOND and quiet > PAUSES * usual else None


def last_outbreak(hits: Micros, pause_seconds: int) -> int:
    """When the last stretch without a longer pause began."""
    known = in_order(hits)
    breaks = np.flatnonzero(np.diff(known) > pause_seconds * SECOND)
    return int(known[breaks[-1] + 1]) if len(breaks) else int(known[0])


def outbreaks(hits: Micros, pause_seconds: int) -> list[NDArray[np.int64]]:
    """Positions of hits, put together where no pause between two is longer; in order of time."""
    order = np.argsort(hits, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(hits[order]) > pause_seconds * SECOND) + 1)


def most_within(hits: Micros, seconds: int) -> int:
    """The most hits that any stretch of `seconds` holds; hits without a time count as one stretch of their own."""
    known = np.sort(hits[hits != UNKNOWN])
    first_in_reach = np.searchsorted(known, known - seconds * SECOND, side="left")
    densest = int((np.arange(len(known)) - first_in_reach + 1).max(initial=0))
    return max(densest, len(hits) - len(known))
