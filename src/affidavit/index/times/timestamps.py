"""When a line was written, as far as the line itself says.

A stamp is an integer of microseconds and the clock it counts on: since 1970, in a year the line does not name
(klog, syslog), or since boot (dmesg). `BundleClock` turns them into times; nothing here guesses.
A daemon's own stamp right after the journal's tag is finer than the journal's and is preferred.
Times that name no zone are UTC, as nodes are set.
"""

import re
from datetime import UTC, datetime
from enum import IntEnum
from functools import lru_cache

SECOND = 1_000_000
DAY = 86_400 * SECOND
# How much of a line is searched for its time.
PREFIX = 256


class StampKind(IntEnum):
    NONE = 0
    ABSOLUTE = 1
    YEARLESS = 2
    SINCE_BOOT = 3


Stamp = tuple[StampKind, int]
Line = bytes
NO_STAMP: Stamp = (StampKind.NONE, 0)

_MONTHS = {name: number for number, name in enumerate(b"Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(), 1)}

_ISO = rb"(\d{4}-\d\d-\d\d)[T ](\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))?(?: ?(Z|UTC|[+-]\d\d:?\d\d))?"
_AT_START = re.compile(_ISO)
# `journalctl -o short-full`.
_WEEKDAY = re.compile(rb"[A-Z][a-z]{2} " + _ISO)
# What /dev/kmsg gives: priority, number, microseconds since boot.
_KMSG = re.compile(rb"\d{1,3},\d{1,12},(\d{1,15}),")
_SYSLOG = re.compile(rb"([A-Z][a-z]{2}) ([ \d]\d) (\d\d):(\d\d):(\d\d)(?:\.(\d{1,6}))?")
_CTIME = re.compile(rb"\[[A-Z][a-z]{2} ([A-Z][a-z]{2}) ([ \d]\d) (\d\d):(\d\d):(\d\d) (\d{4})\]")
_SINCE_BOOT = re.compile(rb"(?:<\d+>)?\[ *(\d{1,9})\.(\d{6})\]")
_INNER = re.compile(rb"time=\"?" + _ISO)
_KLOG_LEVELS = frozenset((b"I", b"W", b"E", b"F"))
# A leap second is the sixtieth.
_SECONDS = {b"%02d" % number: number * SECOND for number in range(61)}
_ISO_MINUTE = re.compile(rb"(\d{4}-\d\d-\d\d)T(\d\d):(\d\d):")
_SYSLOG_MINUTE = re.compile(rb"([A-Z][a-z]{2}) ([ \d]\d) (\d\d):(\d\d):")
_KLOG_MINUTE = re.compile(rb"(\d\d)(\d\d) (\d\d):(\d\d):")
_FIELD = re.compile(rb"(?:\"(?:ts|time|timestamp|@timestamp)\": ?\"|\b(?:time|ts)=\"?)" + _ISO)
_EPOCH_FIELD = re.compile(rb"\"(?:ts|time|timestamp)\": ?(\d{10})(?:\.(\d{1,9}))?[,}]")
# klog's JSON counts milliseconds.
_EPOCH_MILLIS_FIELD = re.compile(rb"\"(?:ts|time|timestamp)\": ?(\d{13})(?:\.(\d{1,3}))?[,}]")
# An event of Windows as one row of CSV, whose message, in the first column or a later one, is what a daemon wrote.
_KLOG_MESSAGE = re.compile(rb"\A(?:\"[^\n]*?,)?\"(?=[IWEF]\d{4} \d\d:)")
_WINDOWS = re.compile(rb"\"?(\d{1,2})/(\d{1,2})/(\d{4}) (\d{1,2}):(\d\d):(\d\d) ([AP]M)")


def stamp_of(line: Line) -> Stamp:
    """The line's time; `line` may be its first PREFIX bytes."""
    first = line[:1]
    if first.isdigit():
        return _leading_digit(line)
    if first == b"[" or first == b"<":
        return _bracketed(line)
    if first.isupper():
        return _leading_letter(line)
    return _field(line)


def _leading_digit(line: Line) -> Stamp:
    # The form of container logs, which most lines of a bundle have: a nanosecond, and no zone but Z.
    if line[19:20] == b"." and line[29:30] == b"Z" and line[26:29].isdigit():
        minute, second = iso_minute(line[:17]), _SECONDS.get(line[17:19])
        if minute is not None and second is not None and line[20:26].isdigit():
            return StampKind.ABSOLUTE, minute + second + int(line[20:26])
    if (found := _AT_START.match(line)) is not None:
        return _iso(found.groups())
    if (found := _WINDOWS.match(line)) is not None:
        return _windows(found)
    if (found := _KMSG.match(line)) is not None:
        return StampKind.SINCE_BOOT, int(found[1])
    return NO_STAMP


def _bracketed(line: Line) -> Stamp:
    if (found := _SINCE_BOOT.match(line)) is not None:
        return StampKind.SINCE_BOOT, int(found[1]) * SECOND + int(found[2])
    if (found := _CTIME.match(line)) is not None:
        month = _MONTHS.get(found[1])
        moment = _moment(_midnight(int(found[6]), month or 0, int(found[2])), *found.group(3, 4, 5))
        return NO_STAMP if moment is None else (StampKind.ABSOLUTE, moment)
    return _field(line)


def _leading_letter(line: Line) -> Stamp:
    minute, second = syslog_minute(line[:13]), _SECONDS.get(line[13:15])
    if minute is not None and second is not None and line[15:16] == b" ":
        return _inner(line, 15) or (StampKind.YEARLESS, minute + second)
    if (found := _SYSLOG.match(line)) is not None:
        return _inner(line, found.end()) or _yearless(_MONTHS.get(found[1], 0), int(found[2]), *found.group(3, 4, 5, 6))
    if (found := _WEEKDAY.match(line)) is not None:
        return _inner(line, found.end()) or _iso(found.groups())
    return _klog(line, 0) or _field(line)


def _inner(line: Line, after: int) -> Stamp | None:
    """The daemon's own stamp right after `program[pid]: `."""
    tag_end = line.find(b": ", after, after + 120)
    if tag_end < 0:
        return None
    if (stamp := _klog(line, tag_end + 2)) is not None:
        return stamp
    found = _INNER.match(line, tag_end + 2)
    stamp = _iso(found.groups()) if found is not None else NO_STAMP
    return None if stamp == NO_STAMP else stamp


def _klog(line: Line, at: int) -> Stamp | None:
    """`E0115 10:25:03.123456` and the like."""
    if line[at : at + 1] not in _KLOG_LEVELS:
        return None
    minute, second = klog_minute(line[at + 1 : at + 12]), _SECONDS.get(line[at + 12 : at + 14])
    fraction = line[at + 15 : at + 21]
    is_whole = line[at + 14 : at + 15] == b"." and len(fraction) == 6 and fraction.isdigit()
    if minute is None or second is None or not is_whole:
        return None
    return StampKind.YEARLESS, minute + second + int(fraction)


def _field(line: Line) -> Stamp:
    """JSON and logfmt carry their time in a field."""
    if (found := _FIELD.search(line, 0, PREFIX)) is not None:
        return _iso(found.groups())
    if (found := _EPOCH_FIELD.search(line, 0, PREFIX)) is not None:
        return StampKind.ABSOLUTE, int(found[1]) * SECOND + _fraction(found[2])
    if (found := _EPOCH_MILLIS_FIELD.search(line, 0, PREFIX)) is not None:
        return StampKind.ABSOLUTE, int(found[1]) * 1000 + int((found[2] or b"").ljust(3, b"0"))
    if (found := _WINDOWS.match(line)) is not None:
        return _windows(found)
    if (found := _KLOG_MESSAGE.match(line)) is not None:
        return _klog(line, found.end()) or NO_STAMP
    return NO_STAMP


def _iso(groups: tuple[bytes | None, ...]) -> Stamp:
    date, hour, minute, second, fraction, zone = groups
    moment = _moment(_midnight_of(date or b""), hour or b"", minute or b"", second or b"")
    return NO_STAMP if moment is None else (StampKind.ABSOLUTE, moment + _fraction(fraction) - _offset(zone))


def _windows(found: re.Match[bytes]) -> Stamp:
    hour = int(found[4]) % 12 + (12 if found[7] == b"PM" else 0)
    moment = _moment(_midnight(int(found[3]), int(found[1]), int(found[2])), b"%02d" % hour, found[5], found[6])
    return NO_STAMP if moment is None else (StampKind.ABSOLUTE, moment)


@lru_cache(maxsize=4096)
def iso_minute(text: bytes) -> int | None:
    """Lines come in the order of time, so the minutes of one are mostly those of the last."""
    found = _ISO_MINUTE.fullmatch(text)
    return None if found is None else _moment(_midnight_of(found[1]), found[2], found[3], b"00")


@lru_cache(maxsize=4096)
def syslog_minute(text: bytes) -> int | None:
    if (found := _SYSLOG_MINUTE.fullmatch(text)) is None:
        return None
    return _yearless_minute(_MONTHS.get(found[1], 0), int(found[2]), found[3], found[4])


@lru_cache(maxsize=4096)
def klog_minute(text: bytes) -> int | None:
    if (found := _KLOG_MINUTE.fullmatch(text)) is None:
        return None
    return _yearless_minute(int(found[1]), int(found[2]), found[3], found[4])


def _yearless_minute(month: int, day: int, hour: bytes, minute: bytes) -> int | None:
    clock, stamp = _yearless(month, day, hour, minute, b"00", None)
    return stamp if clock is StampKind.YEARLESS else None


def _yearless(month: int, day: int, hour: bytes, minute: bytes, second: bytes, fraction: bytes | None) -> Stamp:
    """Packed as (month * 32 + day) days; 2000 was a leap year, so 29 February passes."""
    midnight = None if _midnight(2000, month, day) is None else (month * 32 + day) * DAY
    moment = _moment(midnight, hour, minute, second)
    return NO_STAMP if moment is None else (StampKind.YEARLESS, moment + _fraction(fraction))


def _moment(midnight: int | None, hour: bytes, minute: bytes, second: bytes) -> int | None:
    """None when there is no such day, or no such time on it."""
    if midnight is None or hour > b"23" or minute > b"59" or second not in _SECONDS:
        return None
    return midnight + (int(hour) * 3600 + int(minute) * 60) * SECOND + _SECONDS[second]


def _fraction(digits: bytes | None) -> int:
    return int(digits[:6].ljust(6, b"0")) if digits else 0


@lru_cache(maxsize=64)
def _offset(zone: bytes | None) -> int:
    if zone is None or zone in (b"Z", b"UTC"):
        return 0
    sign = -1 if zone[:1] == b"-" else 1
    return sign * (int(zone[1:3]) * 3600 + int(zone[-2:]) * 60) * SECOND


@lru_cache(maxsize=4096)
def _midnight_of(date: bytes) -> int | None:
    return _midnight(int(date[:4]), int(date[5:7]), int(date[8:10]))


@lru_cache(maxsize=4096)
def _midnight(year: int, month: int, day: int) -> int | None:
    try:
        return int(datetime(year, month, day, tzinfo=UTC).timestamp()) * SECOND
    except ValueError:
        return None
