"""How often the node booted, from `last reboot` or `journalctl --list-boots`, and what cron repeats too often."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from affidavit.checks.compute.numbers import seconds_of_year, whole
from affidavit.checks.found import Found, Shown
from affidavit.checks.text import Document

_YEAR = 365 * 86400


def frequent(documents: Sequence[Document], *, at_least: int, within_hours: float) -> Iterator[Found]:
    for document in documents:
        boots = list(_last_reboots(document)) or list(_journal_boots(document))
        for one, other in zip(boots, boots[at_least - 1 :], strict=False):
            if abs(one[0] - other[0]) <= within_hours * 3600:
                yield Shown(document.path, one[1], f"{at_least} boots within {within_hours:g} hours")
                break


def rapid_cron(documents: Sequence[Document], *, within_seconds: float, at_least: int) -> Iterator[Found]:
    """The same command of the same user again so soon, at least so often; shown at its first repetition."""
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
    """Newest first and without a year: a time that is later than the one above it is of the year before."""
    years, above = 0, None
    for number, text in document.lines():
        words = text.split()
        if words[:3] != ["reboot", "system", "boot"] or len(words) < 8:
            continue
        when = seconds_of_year(words[5], words[6], words[7])
        if when is not None:
            years -= above is not None and when > above
            above = when
            yield when + years * _YEAR, number


def _journal_boots(document: Document) -> Iterator[tuple[int, int]]:
    """Index, boot id, weekday, date, time, zone; in either order."""
    for number, text in document.lines():
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
