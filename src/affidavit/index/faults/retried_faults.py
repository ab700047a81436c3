"""Decides whether what failed was tried again and worked: the same pod, the same image, by name.

Like `episodes`, it takes times in microseconds and knows nothing of rules.
"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from affidavit.index.faults.episodes import Named, in_order
from affidavit.index.times.bundle_clock import UNKNOWN, Micros
from affidavit.index.times.timestamps import SECOND

# What worked so soon, after so few tries, was no outage.
SOON = 300
FEW = 5
# Two programs log the same event within so many seconds of each other.
TOGETHER = 15


@dataclass(frozen=True, kw_only=True)
class Retries:
    """Of things that all worked in the end: the longest time that one took, and the most tries."""

    seconds: float
    tries: int

    @property
    def were_soon_over(self) -> bool:
        return self.seconds <= SOON and self.tries <= FEW


def retried(hits: Sequence[Named], works: Sequence[Named]) -> Retries | None:
    """None unless every hit names something that worked after its last hit, or came together with one that does."""
    named = in_order(np.array([time for time, names in hits if names], dtype=np.int64))
    if not all_near(np.array([time for time, _ in hits], dtype=np.int64), named):
        return None
    worked = _by_name(works)
    longest, most = 0.0, 0
    for name, tries in _by_name(hits).items():
        times = worked.get(name, [])
        later = bisect_right(times, tries[-1] - SECOND)
        if later == len(times):
            return None
        longest = max(longest, (times[later] - tries[0]) / SECOND)
        most = max(most, len(tries))
    return Retries(seconds=longest, tries=most)


def _by_name(told: Sequence[Named]) -> Mapping[str, list[int]]:
    times: dict[str, list[int]] = {}
    for time, names in told:
        for name in names if time != UNKNOWN else ():
            times.setdefault(name, []).append(time)
    return {name: sorted(found) for name, found in times.items()}


def all_near(hits: Micros, others: Micros) -> bool:
    """Whether one of the others came together with each hit."""
    return bool(len(hits)) and bool(_near(hits, others).all())


def any_near(hits: Micros, others: Micros) -> bool:
    return bool(_near(hits, others).any())


def _near(hits: Micros, others: Micros) -> np.ndarray:
    """Others are in order."""
    known = hits != UNKNOWN
    if not len(others):
        return np.zeros(len(hits), dtype=bool)
    after = np.minimum(np.searchsorted(others, hits), len(others) - 1)
    before = np.maximum(after - 1, 0)
    distance = np.minimum(np.abs(others[after] - hits), np.abs(others[before] - hits))
    return known & (distance <= TOGETHER * SECOND)
