"""`stamp_of` for many lines of one block at once: the forms that big logs are written in are read as columns.

Container logs (a nanosecond and Z), the journal's lines with or without a daemon's own stamp behind the tag, and the
kernel's seconds since boot. Any other line is asked one by one, so the answer is always `stamp_of`'s.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from affidavit.index.times.timestamps import PREFIX, SECOND, StampKind, iso_minute, klog_minute, stamp_of, syslog_minute

Bytes = NDArray[np.uint8]
Numbers = NDArray[np.int64]
Flags = NDArray[np.bool_]

# Where `stamp_of` looks for the end of the journal's tag.
_TAG = slice(15, 135)
_TIME = np.frombuffer(b'time="', dtype=np.uint8)
_INNER = len(_TIME) + len("2024-01-15T10:25:03.123456789Z")
_UNREAD = -1
_SPACE = np.uint8(ord(" "))
# Nine digits of seconds, the point, six digits of a second.
_BOOT_WIDTH = 16
_BOOT_WEIGHTS = np.array([*(10**power for power in range(14, 5, -1)), 0, *(10**power for power in range(5, -1, -1))])
_ZERO = np.uint8(ord("0"))
_IS_LEVEL = np.isin(np.arange(256), list(b"IWEF"))
# Of the digits of HHMMSS and a fraction down to microseconds.
_WEIGHTS = np.array([36_000, 3_600, 600, 60, 10, 1, 0.1, 0.01, 0.001, 0.0001, 0.00001, 0.000001]) * SECOND


class _Form:
    """A time in fixed columns: `d` is the day, `0` a digit of the time, `9` a digit too fine to count."""

    def __init__(self, template: str, day: Callable[[bytes], int | None]) -> None:
        self.length = len(template)
        self._day = template.rindex("d") + 1
        self._read_day = day
        self._digits = [at for at, sign in enumerate(template) if sign in "09"]
        self._fixed = [at for at, sign in enumerate(template) if sign not in "d09"]
        self._signs = np.frombuffer("".join(template[at] for at in self._fixed).encode(), dtype=np.uint8)
        counted = [at for at, sign in enumerate(template) if sign == "0"]
        self._counted = [self._digits.index(at) for at in counted]
        self._weights = _WEIGHTS[: len(counted)].round().astype(np.int64)

    def read(self, rows: Bytes, wanted: Flags) -> tuple[Flags, Numbers]:
        """Which of the wanted rows begin with such a time, and the times."""
        digits = rows[:, self._digits] - _ZERO
        is_form = wanted & np.all(digits < 10, axis=1) & np.all(rows[:, self._fixed] == self._signs, axis=1)
        is_form &= _are_times(digits[:, self._counted[:6]])
        days = self._days(rows[:, : self._day], is_form)
        return is_form & (days >= 0), days + digits[:, self._counted].astype(np.int64) @ self._weights

    def _days(self, texts: Bytes, wanted: Flags) -> Numbers:
        """Lines come in the order of time, so one reading serves a run of rows of one day; -1 is no day."""
        found = np.full(len(texts), -1, dtype=np.int64)
        rows = np.flatnonzero(wanted)
        if len(rows):
            texts = texts[rows]
            first = np.flatnonzero(np.concatenate(([True], np.any(texts[1:] != texts[:-1], axis=1))))
            days = [self._read_day(texts[row].tobytes()) for row in first.tolist()]
            runs = np.diff(np.append(first, len(rows)))
            found[rows] = np.repeat([-1 if day is None else day for day in days], runs)
        return found


def _are_times(digits: Bytes) -> Flags:
    """Of the digits of HHMMSS. A leap second, which is rare, is left to `stamp_of`."""
    hours = digits[:, 0] * 10 + digits[:, 1]
    return (hours < 24) & (digits[:, 2] < 6) & (digits[:, 4] < 6)


_CONTAINER = _Form("ddddddddddT00:00:00.000000999Z", lambda day: iso_minute(day + b"T00:00:"))
_JOURNAL = _Form("dddddd 00:00:00 ", lambda day: syslog_minute(day + b" 00:00:"))
_KLOG = _Form("dddd 00:00:00.000000", lambda day: klog_minute(day + b" 00:00:"))


def prefixes(block: bytearray, starts: Numbers) -> Bytes:
    """The PREFIX bytes from each start on, as rows. The block reaches that far behind the last start."""
    return _windows(np.frombuffer(block, dtype=np.uint8), starts, PREFIX)


def stamps_of(rows: Bytes, lengths: Numbers) -> tuple[NDArray[np.int8], Numbers]:
    """Clock and stamp of each line, of which a row holds the prefix; behind its length a row may hold anything."""
    found = _Found(len(rows))
    every = np.arange(len(rows))
    found.keep(StampKind.ABSOLUTE, every, *_CONTAINER.read(rows, lengths >= _CONTAINER.length))
    found.keep(StampKind.SINCE_BOOT, every, *_since_boot(rows, lengths))
    is_journal, stamps = _JOURNAL.read(rows, lengths >= _JOURNAL.length)
    found.keep(StampKind.YEARLESS, every, is_journal, stamps)
    _prefer_inner(found, every[is_journal], rows[is_journal], lengths[is_journal])
    for row in np.flatnonzero(found.clocks == _UNREAD).tolist():
        found.clocks[row], found.stamps[row] = stamp_of(rows[row].tobytes()[: lengths[row]])
    return found.clocks, found.stamps


class _Found:
    def __init__(self, size: int) -> None:
        self.clocks = np.full(size, _UNREAD, dtype=np.int8)
        self.stamps = np.zeros(size, dtype=np.int64)

    def keep(self, clock: int, lines: Numbers, are_read: Flags, stamps: Numbers) -> None:
        self.clocks[lines[are_read]] = clock
        self.stamps[lines[are_read]] = stamps[are_read]


def _prefer_inner(found: _Found, lines: Numbers, rows: Bytes, lengths: Numbers) -> None:
    """The daemon's own stamp behind the journal's tag is finer."""
    if not len(rows):
        return
    tag = rows[:, _TAG]
    tag_ends = (tag[:, :-1] == ord(":")) & (tag[:, 1:] == ord(" "))
    behind = tag_ends.argmax(axis=1) + _TAG.start + 2
    lengths = np.where(tag_ends.any(axis=1), lengths - behind, 0)
    inner = _windows(rows.ravel(), np.arange(len(rows)) * PREFIX + behind, _INNER)
    is_time = (inner[:, 0] == ord("t")) & (lengths > 0)
    found.keep(_UNREAD, lines, is_time, lengths)
    is_fine = np.all(inner[:, : len(_TIME)] == _TIME, axis=1) & (lengths >= _INNER)
    found.keep(StampKind.ABSOLUTE, lines, *_CONTAINER.read(inner[:, len(_TIME) :], is_time & is_fine))
    may_be_klog = _IS_LEVEL[inner[:, 0]] & (lengths > _KLOG.length)
    found.keep(StampKind.YEARLESS, lines, *_KLOG.read(inner[:, 1:], may_be_klog))


def _since_boot(rows: Bytes, lengths: Numbers) -> tuple[Flags, Numbers]:
    """`[    1.234567]`: spaces, at most nine digits, a point and six digits."""
    close = (rows[:, : _BOOT_WIDTH + 2] == ord("]")).argmax(axis=1)
    is_bracket = (rows[:, 0] == ord("[")) & (close > 7) & (close < lengths)
    if not is_bracket.any():
        return is_bracket, lengths
    at = np.where(is_bracket, close, 8)
    columns = at[:, None] - _BOOT_WIDTH + np.arange(_BOOT_WIDTH)
    text = np.where(columns > 0, rows[np.arange(len(rows))[:, None], np.maximum(columns, 0)], _SPACE)
    digits = text - _ZERO
    is_digit = digits < 10
    is_digit[:, 9] = text[:, 9] == ord(".")
    is_padded = np.all(is_digit | (text == _SPACE), axis=1) & np.all(is_digit[:, 1:] >= is_digit[:, :-1], axis=1)
    value = np.where(is_digit, digits, 0).astype(np.int64) @ _BOOT_WEIGHTS
    return is_bracket & is_padded & is_digit[:, 8], value


def _windows(text: Bytes, starts: Numbers, width: int) -> Bytes:
    return np.lib.stride_tricks.sliding_window_view(text, width)[starts]
