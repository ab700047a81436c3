"""Text in UTF-16 as PowerShell writes it: two bytes a character, the low one first, behind a mark.

A line is what lies between two line-feed bytes, as in any other file: so offsets, line numbers and digests are those
of the stored bytes. Such a line begins with the high byte of the line feed before it.
"""

_MARK = b"\xff\xfe"
# Of the high bytes: text in Latin letters has next to none that are not NUL.
_LATIN = 0.9
# A NUL or two in a short line of an ordinary log make no such text.
_SHORTEST = 8


def is_wide(head: bytes) -> bool:
    """Whether a file that begins with `head` is such text, of mostly Latin letters."""
    return head.startswith(_MARK) and _alternates(head[len(_MARK) :])


def wide_text(line: bytes) -> str | None:
    """The text of a line of such a file without its carriage return; None for a line of any other file."""
    if b"\0" not in line:
        return None
    units = line[len(_MARK) :] if line.startswith(_MARK) else line.removeprefix(b"\0")
    if len(units) < _SHORTEST or not _alternates(units):
        return None
    return units[: len(units) & ~1].decode("utf-16-le", "replace").removesuffix("\r")


def _alternates(units: bytes) -> bool:
    low, high = units[0::2], units[1::2]
    return bool(high) and high.count(0) >= _LATIN * len(high) and low.count(0) <= (1 - _LATIN) * len(low)
