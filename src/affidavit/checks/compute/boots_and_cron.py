"""Counts boots and judges how the last one came, and finds commands that cron repeats too often."""

import re
from collections.abc import Iterator, Sequence
from datetime import datetime

from affidavit.checks.computation_results import Found, Shown
from affidavit.checks.number_parsing import seconds_of_year, whole
from affidavit.checks.numbered_lines import Document

_YEAR = 365 * 86400
_ROOT = r"\((?:nvme0n1p\d+|xvda\d*|sda\d*|root)\)"
_BOOT = re.compile(rb"reboot")
_NUMBERED = re.compile(rb"^[^\S\n]*-?\d", re.MULTILINE)
_RECOVERY = re.compile(rb"recovery")
_ROOT_REPLAYED = re.compile(rf"XFS {_ROOT}: Starting recovery|EXT4-fs {_ROOT}: recovery complete")


def frequent(documents: Sequence[Document], *, at_least: int, within_hours: float) -> Iterator[Found]:
    for document in documents:
        boots = list(_last_reboots(document)) or list(_journal_boots(document))
        for one, other in zip(boots, boots[at_least - 1 :], strict=False):
            if abs(one[0] - other[0]) <= within_hours * 3600:
                yield Shown(document.path, one[1], f"{at_least} boots within {within_hours:g} hours")
                break


def unclean(documents: Sequence[Document]) -> Iterator[Found]:
    """Finds a boot that followed no shutdown: `last` says crash, or the root file system replayed its journal.

    A replay counts only if the node booted before. On a first boot it tells how the image was made.
    """
    for document in documents:
        for number, text in document.lines_with(_BOOT):
            if text.startswith("reboot ") and " - crash" in text:
                yield Shown(document.path, number, "the boot of this line ended without a shutdown")
                return
    if any(_is_second_boot(document) for document in documents):
        yield from _replayed(documents)


def _is_second_boot(document: Document) -> bool:
    return len(list(_last_reboots(document)) or list(_journal_boots(document))) > 1


def _replayed(documents: Sequence[Document]) -> Iterator[Found]:
    for document in documents:
        for number, text in document.lines_with(_RECOVERY):
            if _ROOT_REPLAYED.search(text):
                yield Shown(document.path, number, "the root file system was not unmounted before this boot")
                return


def rapid_cron(documents: Sequence[Document], *, within_seconds: float, at_least: int) -> Iterator[Found]:
    """Finds a command that one user's cron repeats too soon, too often. It is shown at its first repetition."""
    for document in documents:
        last: dict[str, int] = {}
        repeats: dict[str, tuple[int, int]] = {}
        for number, text in document.lines():
            command, when = _cron(text)
            if when is None:
                continue
            if command in last and 0 <= when - last[command] < within_seconds:
                line, count = repeats.get(command, (number, 0))
                repeats[command] = (line, count + 1)
            last[command] = when
        for command, (line, count) in repeats.items():
            if count >= at_least:
                detail = f"{command[:120]} ran again within {within_seconds:g} s, {count} times"
                yield Shown(document.path, line, detail)


def _last_reboots(document: Document) -> Iterator[tuple[int, int]]:
    """Lines are newest first and have no year: a time later than the one above it is of the year before."""
    years, above = 0, None
    for number, text in document.lines_with(_BOOT):
        words = text.split()
        if words[:3] != ["reboot", "system", "boot"] or len(words) < 8:
            continue
        when = seconds_of_year(words[5], words[6], words[7])
        if when is not None:
            years -= above is not None and when > above
            above = when
            yield when + years * _YEAR, number


def _journal_boots(document: Document) -> Iterator[tuple[int, int]]:
    """Columns: index, boot id, weekday, date, time, zone. Oldest or newest first."""
    for number, text in document.lines_with(_NUMBERED):
        words = text.split()
        if len(words) > 5 and whole(words[0].removeprefix("-")) is not None and len(words[1]) == 32:
            when = _seconds(f"{words[3]}T{words[4]}")
            if when is not None:
                yield when, number


def _seconds(iso: str) -> int | None:
    try:
        moment = datetime.fromisoformat(iso)
    except ValueError:
        return None
    return int((moment.replace(tzinfo=None) - datetime(2000, 1, 1)).total_seconds())


def _cron(text: str) -> tuple[str, int | None]:
    """User and command, and when: syslog's `Jan 15 10:25:01` or an ISO time."""
    head, mark, command = text.partition(" CMD ")
    words = head.split()
    if not mark or len(words) < 3:
        return "", None
    when = _seconds(words[0][:19]) if words[0][:1].isdigit() else seconds_of_year(*words[:3])
    return f"{words[-1]} {command.strip()}", when
