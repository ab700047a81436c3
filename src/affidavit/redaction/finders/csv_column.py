"""Finds the values of a column that its header names as a secret, as in the CSV of a new access key."""

import re
from collections.abc import Generator, Iterator
from typing import Final

import re2

MOST_ROWS: Final = 1000
_NAME: Final = rb"(?:pass ?word|passwd|secret(?: ?access ?key)?|token|api[ _]?key|private[ _]?key)"
_HEADER: Final = re2.compile(rb"(?im)^(?:[^\n]*[,;|\t])?[ \"\w.-]*" + _NAME + rb"[ \"]*(?:[,;|\t][^\n]*)?\r?$")
_NAMED: Final = re.compile(rb"(?i)" + _NAME + rb"$")
# A heading has few words; prose has commas too, but more words between them.
_HEADING: Final = re.compile(rb"[A-Za-z][A-Za-z0-9_.-]{0,30}(?: [A-Za-z0-9]{1,20}){0,2}")
_SEPARATORS: Final = (b",", b";", b"|", b"\t")


def secret_columns(text: bytes) -> Iterator[tuple[int, int]]:
    at = 0
    while at < len(text) and (header := _HEADER.search(text, at)) is not None:
        at = header.end() + 1
        for separator in _SEPARATORS:
            columns, width = _named(header.group(), separator)
            if columns:
                # Behind the table, not behind its header: no row is read twice.
                at = yield from _rows(text, at, separator, columns, width)
                break


def _named(header: bytes, separator: bytes) -> tuple[tuple[int, ...], int]:
    cells = [cell.strip(b' "\r\t') for cell in header.split(separator)]
    if len(cells) < 2 or not all(_HEADING.fullmatch(cell) for cell in cells):
        return (), 0
    return tuple(number for number, cell in enumerate(cells) if _NAMED.search(cell)), len(cells)


def _rows(
    text: bytes, at: int, separator: bytes, columns: tuple[int, ...], width: int
) -> Generator[tuple[int, int], None, int]:
    """Returns where the table ends."""
    for _ in range(MOST_ROWS):
        end = text.find(b"\n", at)
        end = len(text) if end < 0 else end
        row = text[at:end]
        # The line below the heading of a table that is drawn: -----+-----
        is_drawn = not row.strip(b"-+|= \r")
        if at >= len(text) or (not is_drawn and row.count(separator) < width - 1):
            break
        if not is_drawn:
            yield from _cells(row, separator, columns, at)
        at = end + 1
    return at


def _cells(row: bytes, separator: bytes, columns: tuple[int, ...], at: int) -> Iterator[tuple[int, int]]:
    start = 0
    cell = re.compile(rb'[^"' + re.escape(separator) + rb']*(?:"(?:[^"]|"")*"[^"' + re.escape(separator) + rb"]*)*")
    for number in range(max(columns) + 1):
        found = cell.match(row, start)
        if found is None:
            return
        value = found[0].strip()
        if number in columns and value:
            begins = start + found[0].index(value)
            yield at + begins, at + begins + len(value)
        start = found.end() + 1
