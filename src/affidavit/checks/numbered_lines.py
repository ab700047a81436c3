"""Reads a file as numbered lines whose bytes can be cited. Only a line feed ends a line."""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from affidavit.bundle.safety.link_free_opening import file_opener
from affidavit.checks.computation_results import NotComputable
from affidavit.evidence.utf16 import is_wide, wide_text

# Command output is small. A larger file is no table that a check knows, and reading it would take minutes.
LARGEST = 32 * 1024 * 1024
MOST_LINES = 1_000_000
# What a computation sees of a line. Citations always cover the whole line.
SEEN_OF_LINE = 16 * 1024
_SNIFFED = 8192


@dataclass(frozen=True)
class Document:
    path: str
    data: bytes

    @property
    def is_blank(self) -> bool:
        return not self.data.strip()

    def lines(self) -> Iterator[tuple[int, str]]:
        """Numbers from 1, and the text without its line end. Bytes that are not UTF-8 become U+FFFD.

        A file in UTF-16 is read as such; its lines lie between the same line-feed bytes.
        """
        is_utf16 = is_wide(self.data[:_SNIFFED])
        for number, start, end in self._spans():
            yield number, self._text(start, end, is_utf16=is_utf16)

    def lines_with(self, mark: re.Pattern[bytes]) -> Iterator[tuple[int, str]]:
        """Like `lines`, but only those in which the mark is found: of a long log a table has few. UTF-16 hides it."""
        if is_wide(self.data[:_SNIFFED]):
            yield from self.lines()
            return
        number, start = 1, 0
        while (found := mark.search(self.data, start)) is not None:
            here = self.data.rfind(b"\n", start, found.start()) + 1 or start
            number += self.data.count(b"\n", start, here)
            feed = self.data.find(b"\n", found.start())
            end = len(self.data) if feed < 0 else feed
            yield number, self._text(here, end - self.data.endswith(b"\r", here, end), is_utf16=False)
            number, start = number + 1, end + 1

    def _text(self, start: int, end: int, *, is_utf16: bool) -> str:
        seen = self.data[start : min(end, start + SEEN_OF_LINE)]
        wide = wide_text(seen) if is_utf16 else None
        return seen.decode("utf-8", "replace") if wide is None else wide

    def spans(self, numbers: Collection[int]) -> dict[int, tuple[int, int]]:
        """Where lines lie in the file: first byte and the byte after the last, without the line end."""
        return {number: (start, end) for number, start, end in self._spans() if number in numbers}

    def _spans(self) -> Iterator[tuple[int, int, int]]:
        start, number, size = 0, 0, len(self.data)
        while start < size:
            feed = self.data.find(b"\n", start)
            end = size if feed < 0 else feed
            number += 1
            yield number, start, end - self.data.endswith(b"\r", start, end)
            start = end + 1


def named(documents: Sequence[Document], name: str) -> Document | None:
    """The document at this path of the bundle; None when it is missing or blank."""
    for document in documents:
        if (document.path == name or document.path.endswith(f"/{name}")) and not document.is_blank:
            return document
    return None


def read_document(path: str, location: Path, *, only_first: int | None = None) -> Document | NotComputable:
    """Reads only the first `only_first` bytes, if given, and drops a last line that this cuts."""
    try:
        with open(location, "rb", opener=file_opener) as file:  # Path.open has no `opener`
            data = file.read(only_first if only_first is not None else LARGEST + 1)
            is_cut = only_first is not None and bool(file.read(1))
    except OSError as error:
        return NotComputable(path, f"cannot be read: {error.strerror or type(error).__name__}")
    if is_cut:
        data = data[: data.rfind(b"\n") + 1]
    if len(data) > LARGEST:
        return NotComputable(path, f"is larger than {LARGEST >> 20} MiB, so nothing was computed from it")
    if data.count(b"\n") > MOST_LINES:
        return NotComputable(path, f"has more than {MOST_LINES} lines, so nothing was computed from it")
    return Document(path, data)
