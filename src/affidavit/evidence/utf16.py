"""Recognizes and decodes UTF-16 text, as PowerShell writes it: little-endian or big-endian, mostly Latin letters.

A line is what lies between two line-feed bytes, as in any other file: so offsets, line numbers and digests are those
of the stored bytes. Such a line begins with the high byte of the preceding line feed.
"""

# In big-endian text the high byte of a character stands where the low byte of the one before does in little-endian
# text. Between two line-feed bytes both look alike as long as the letters are Latin, so one decoder serves both.
_MARKS = (b"\xff\xfe", b"\xfe\xff")
_MARK = 2
# Without a mark so many bytes must look like it.
_UNMARKED = 64
# Of the high bytes: text in Latin letters has next to none that are not NUL.
_LATIN = 0.9
# A NUL or two in a short line of an ordinary log make no such text.
_SHORTEST = 8


def is_wide(head: bytes) -> bool:
    """Whether a file that begins with `head` is such text, of mostly Latin letters."""
    if head.startswith(_MARKS):
        return _alternates(_units(head))
    return len(head) >= _UNMARKED and _alternates(_units(head)) and _is_readable(_decoded(_units(head)))


def _is_readable(text: str) -> bool:
    return sum(char.isprintable() or char.isspace() for char in text) >= _LATIN * len(text)


def text_of(line: bytes, *, is_of_wide_file: bool = False) -> str:
    """A line as people read it, undecodable bytes as U+FFFD. In a file in UTF-16 short lines are of its kind, too."""
    wide, units = wide_text(line), _units(line)
    if wide is None and is_of_wide_file and len(units) < _SHORTEST and not any(units[1::2]):
        wide = _decoded(units)
    return line.decode("utf-8", "replace") if wide is None else wide


def wide_text(line: bytes) -> str | None:
    """The text of a line of such a file without its carriage return; None for a line of any other file."""
    if b"\0" not in line:
        return None
    units = _units(line)
    return _decoded(units) if len(units) >= _SHORTEST and _alternates(units) else None


def _units(line: bytes) -> bytes:
    return (line[_MARK:] if line.startswith(_MARKS) else line).removeprefix(b"\0")


def _decoded(units: bytes) -> str:
    return units[: len(units) & ~1].decode("utf-16-le", "replace").removesuffix("\r")


def _alternates(units: bytes) -> bool:
    low, high = units[0::2], units[1::2]
    return bool(high) and high.count(0) >= _LATIN * len(high) and low.count(0) <= (1 - _LATIN) * len(low)
