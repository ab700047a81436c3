"""Finds out when a bundle was collected (gives the year) and when its node booted (anchors dmesg).

When the bundle does not show it, times stay unknown and a gap names what is missing.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import chain
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from affidavit.bundle.byte_range_reader import head_of, tail_of
from affidavit.index.times.timestamps import DAY, PREFIX, SECOND, StampKind, stamp_of

UNKNOWN = np.iinfo(np.int64).min
Micros = NDArray[np.int64]

_TAIL = 64 * 1024
_DATED_LINES = 8
_CSV_HEAD = 4096
_HEAD = 256 * 1024
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# A date before the first collector was written, or far off, says nothing about the collection or the boot.
_PLAUSIBLE = tuple(datetime(year, 1, 1, tzinfo=UTC) for year in (2015, 2100))
_EARLIEST, _LATEST = (int(moment.timestamp()) * SECOND for moment in _PLAUSIBLE)
# The times that a datetime can hold; a line may claim any.
_FIRST, _LAST = (
    (moment.replace(tzinfo=UTC) - _EPOCH) // timedelta(microseconds=1) for moment in (datetime.min, datetime.max)
)
_STALE = timedelta(days=31)
_AHEAD = timedelta(hours=1)
_COPIED = timedelta(hours=6)
MODIFIED = "file modification times"
_NAME_STAMP = re.compile(r"(\d{4})-(\d\d)-(\d\d)[_T](\d\d):?(\d\d)-?(?:UTC)?")
_BOOT_LINE = re.compile(rb"^btime (\d{9,11})$", re.MULTILINE)
_JOURNAL_BOOT = re.compile(rb"^ *0 [0-9a-f]{32} [A-Z][a-z]{2} (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) UTC", re.MULTILINE)
_LAST_REBOOT = re.compile(
    rb"^(?:reboot +system boot +\S+ +| *system boot +)(?:[A-Z][a-z]{2} )?([A-Z][a-z]{2} [ \d]\d \d\d:\d\d)",
    re.M,
)


@dataclass(frozen=True, kw_only=True)
class BundleClock:
    """`…_from` says which part of the bundle the time was taken from."""

    collected_at: datetime | None
    collected_from: str
    booted_at: datetime | None
    booted_from: str
    gaps: tuple[str, ...]

    def resolve(self, clocks: NDArray[np.int8], values: Micros) -> Micros:
        """Microseconds since 1970 for each stamp, UNKNOWN where the bundle cannot tell."""
        times = np.full(len(values), UNKNOWN, dtype=np.int64)
        absolute = clocks == StampKind.ABSOLUTE
        times[absolute] = values[absolute]
        since_boot = clocks == StampKind.SINCE_BOOT
        if self.booted_at is not None:
            times[since_boot] = values[since_boot] + micros_of(self.booted_at)
        yearless = clocks == StampKind.YEARLESS
        if self.collected_at is not None and yearless.any():
            times[yearless] = _with_year(values[yearless], self.collected_at)
        times[(times < _FIRST) | (times > _LAST)] = UNKNOWN
        return times


def time_of(micros: int) -> datetime | None:
    """None for what is unknown or beyond the years that can be told."""
    if not _FIRST <= micros <= _LAST:
        return None
    return _EPOCH + timedelta(microseconds=int(micros))


def times_of(micros: Micros) -> list[datetime | None]:
    """`time_of` of each resolved time, in a fraction of the time."""
    moments: list[datetime | None] = micros.astype("M8[us]").tolist()
    return [None if moment is None else moment.replace(tzinfo=UTC) for moment in moments]


def micros_of(moment: datetime) -> int:
    return (moment - _EPOCH) // timedelta(microseconds=1)


def _with_year(packed: Micros, collected_at: datetime) -> Micros:
    """The latest year that puts the line no later than a day after the collection."""
    month, rest = packed // DAY // 32, packed % DAY
    day = packed // DAY % 32
    latest = micros_of(collected_at) + DAY
    times = np.full(len(packed), UNKNOWN, dtype=np.int64)
    # 29 February can be up to eight years back (1900-style centuries aside); everything else one.
    for year in range((collected_at + timedelta(days=1)).year, collected_at.year - 9, -1):
        starts = _month_starts(year)
        days_in_month = np.diff(np.append(starts, _month_starts(year + 1)[0])) // DAY
        candidate = starts[month - 1] + (day - 1) * DAY + rest
        fits = (times == UNKNOWN) & (day <= days_in_month[month - 1]) & (candidate <= latest)
        times[fits] = candidate[fits]
        if not (times == UNKNOWN).any():
            break
    return times


def _month_starts(year: int) -> Micros:
    starts = [int(datetime(year, month, 1, tzinfo=UTC).timestamp()) for month in range(1, 13)]
    return np.array(starts, dtype=np.int64) * SECOND


def read_clock(*, name: str, logs: Mapping[str, Path], modified: datetime | None) -> BundleClock:
    """`logs` are the readable files by bundle path; `modified` is the newest modification time of a member."""
    collected_at, collected_from = _collected(name, logs, modified)
    booted_at, booted_from = _booted(logs, collected_at)
    gaps: list[str] = []
    if collected_at is None:
        gaps.append("nothing in the bundle shows when it was collected: lines without a year have no time")
    elif MODIFIED in collected_from:
        gaps.append("the year of lines without one was taken from file modification times")
    if booted_from == "last_reboot":
        gaps.append("boot time is known to the minute only: times of dmesg lines are up to 60 s early")
    return BundleClock(
        collected_at=collected_at,
        collected_from=collected_from,
        booted_at=booted_at,
        booted_from=booted_from,
        gaps=tuple(gaps),
    )


def _collected(name: str, logs: Mapping[str, Path], modified: datetime | None) -> tuple[datetime | None, str]:
    """What the content shows comes first, so that a renamed bundle reads the same; old content yields to the name."""
    named = _named_time(name)
    ends = [_end_of(path, may_be_reversed=file.endswith(".csv")) for file, path in logs.items()]
    dated = time_of(max((stamp for end in ends for stamp in end.dated), default=UNKNOWN))
    if dated is not None and (named is None or abs(named - dated) <= _STALE):
        return _no_earlier_than_any_line(dated, [stamp for end in ends for stamp in end.yearless])
    if named is not None:
        return named, "bundle name"
    if (changed := _plausible(modified)) is not None:
        return _no_later_than_copied(changed, [stamp for end in ends for stamp in end.yearless])
    return None, "unknown"


def _no_later_than_copied(changed: datetime, yearless: list[int]) -> tuple[datetime, str]:
    """Copying a bundle changes the times of its files. A node logs until its bundle is made: silence for hours in every
    file means that the files were touched later."""
    newest = time_of(int(_with_year(np.array(yearless, dtype=np.int64), changed).max(initial=UNKNOWN)))
    if newest is None or changed - newest <= _COPIED:
        return changed, MODIFIED
    return newest, f"newest line, its year by {MODIFIED}"


def _named_time(name: str) -> datetime | None:
    stamp = _NAME_STAMP.search(name)
    if stamp is None:
        return None
    year, month, day, hour, minute = (int(part) for part in stamp.groups())
    try:
        return _plausible(datetime(year, month, day, hour, minute, tzinfo=UTC))
    except ValueError:
        return None


def _plausible(moment: datetime | None) -> datetime | None:
    return moment if moment is not None and _PLAUSIBLE[0] < moment < _PLAUSIBLE[1] else None


def _no_earlier_than_any_line(dated: datetime, yearless: list[int]) -> tuple[datetime, str]:
    """A journal whose lines name no year may go on after the last line that does. Not for long: what is hours ahead is
    rather of a year ago."""
    times = _with_year(np.array(yearless, dtype=np.int64), dated)
    believed = times[times <= micros_of(dated + _AHEAD)]
    newest = time_of(int(believed.max(initial=UNKNOWN)))
    return (newest, "newest line") if newest is not None and newest > dated else (dated, "newest dated line")


@dataclass(frozen=True, kw_only=True)
class _End:
    """Stamps of the newest lines of a file: with their year, and without."""

    dated: list[int]
    yearless: list[int]


def _end_of(path: Path, *, may_be_reversed: bool) -> _End:
    """Lines come in about the order of time, so a few are enough: the last, and of a Windows event log the first."""
    end = _End(dated=[], yearless=[])
    lines = reversed(tail_of(path, _TAIL).split(b"\n"))
    if may_be_reversed:
        lines = chain(head_of(path, _CSV_HEAD).split(b"\n")[:-1], lines)
    for line in lines:
        clock, stamp = stamp_of(line[:PREFIX])
        if clock is StampKind.ABSOLUTE and _EARLIEST <= stamp <= _LATEST:
            end.dated.append(stamp)
        elif clock is StampKind.YEARLESS and len(end.yearless) < _DATED_LINES:
            end.yearless.append(stamp)
        if len(end.dated) == _DATED_LINES:
            break
    return end


def _booted(logs: Mapping[str, Path], collected_at: datetime | None) -> tuple[datetime | None, str]:
    """A file that holds no time, or an impossible one, leaves it to the next."""
    for file, text in _texts(logs, "procstat.txt"):
        if (found := _BOOT_LINE.search(text)) is not None and (booted := _plausible(time_of(int(found[1]) * SECOND))):
            return booted, file
    if (paired := _pair_dmesg(logs)) is not None:
        return paired
    for file, text in _texts(logs, "journalctl-boots"):
        if (found := _JOURNAL_BOOT.search(text)) is not None and (booted := _plausible(_iso_time(found[1]))):
            return booted, file
    for _, text in _texts(logs, "last_reboot.txt"):
        if (found := _LAST_REBOOT.search(text)) is not None and collected_at is not None:
            clock, stamp = stamp_of(found[1] + b":00")
            if clock is StampKind.YEARLESS:
                times = _with_year(np.array([stamp], dtype=np.int64), collected_at)
                return time_of(int(times[0])), "last_reboot"
    return _first_kernel_line(logs) or (None, "unknown")


def _first_kernel_line(logs: Mapping[str, Path]) -> tuple[datetime, str] | None:
    """The kernel tells its version first of all, as long as the log still has its beginning."""
    for _, text in _texts(logs, "kernel/dmesg.human.current"):
        line = text.partition(b"\n")[0]
        clock, stamp = stamp_of(line)
        if clock is StampKind.ABSOLUTE and b"] Linux version " in line and (booted := _plausible(time_of(stamp))):
            return booted, "dmesg.human.current"
    return None


def _iso_time(text: bytes) -> datetime | None:
    try:
        return datetime.fromisoformat(text.decode()).replace(tzinfo=UTC)
    except ValueError:
        return None


def _pair_dmesg(logs: Mapping[str, Path]) -> tuple[datetime, str] | None:
    """dmesg.current and dmesg.human.current hold the same lines, once in seconds and once in clock time."""
    seconds = next((text for _, text in _texts(logs, "kernel/dmesg.current")), b"")
    clock = next((text for _, text in _texts(logs, "kernel/dmesg.human.current")), b"")
    for left, right in zip(seconds.split(b"\n"), clock.split(b"\n"), strict=False):
        (left_clock, left_value), (right_clock, right_value) = stamp_of(left), stamp_of(right)
        same_text = left.partition(b"] ")[2] == right.partition(b"] ")[2]
        if left_clock is StampKind.SINCE_BOOT and right_clock is StampKind.ABSOLUTE and same_text:
            booted = _plausible(time_of(right_value - left_value // SECOND * SECOND))
            return (booted, "dmesg.human.current") if booted is not None else None
    return None


def _texts(logs: Mapping[str, Path], ending: str) -> Iterable[tuple[str, bytes]]:
    for file in sorted(logs):
        if file == ending or file.endswith("/" + ending):
            yield file, head_of(logs[file], _HEAD)
