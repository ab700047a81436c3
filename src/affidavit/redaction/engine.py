"""Find what has to be hidden in a text: Hyperscan says which patterns may match at all, RE2 says where.

Both take time that grows with the text alone, whatever is in it. So the text is looked at whole: a secret across the
seam of two pieces cannot slip through.
"""

import threading
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import re2

from affidavit.errors import InputRefused
from affidavit.redaction.pattern import Pattern

_GROUP = "(?P<hide>"
# Vectorscan 5.4.12 misses some matches that reach the last byte of its input, so it is shown a little more.
_BEYOND = b"\n\n"


class Span(NamedTuple):
    """Bytes `start` to `end` (exclusive) show something of this type.

    A tuple: made by the hundred thousand, a frozen dataclass would take half of the time of redacting.
    """

    start: int
    end: int
    type: str


class Engine:
    def __init__(self, patterns: Sequence[Pattern], *, is_for_short_texts: bool = False) -> None:
        """Short texts do without Hyperscan, which takes long to compile. Raises InputRefused."""
        self._patterns = tuple(_Compiled(pattern) for pattern in patterns)
        self._may_match = None if is_for_short_texts else _prefilter(patterns)
        self._mine = threading.local()

    def spans(self, text: bytes) -> list[Span]:
        """Ascending, without overlap."""
        found = [span for index in self._candidates(text) for span in self._patterns[index].spans(text)]
        return list(_merged(sorted(found), text)) if found else []

    def _candidates(self, text: bytes) -> list[int]:
        if self._may_match is None:
            return list(range(len(self._patterns)))
        found: list[int] = []
        self._may_match.scan(text + _BEYOND, match_event_handler=_note, context=found, scratch=self._scratch())
        return found

    def _scratch(self) -> Any:
        """One for each thread: Hyperscan refuses to share it between two scans at once."""
        import hyperscan

        if not hasattr(self._mine, "scratch"):
            self._mine.scratch = hyperscan.Scratch(self._may_match)
        return self._mine.scratch


def _note(index: int, _start: int, _end: int, _flags: int, found: list[int]) -> None:
    found.append(index)


def _prefilter(patterns: Sequence[Pattern]) -> Any:
    """None where Hyperscan is not installed: RE2 then looks for every pattern."""
    try:
        import hyperscan
    except ImportError:
        return None
    database: Any = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
    try:
        database.compile(
            expressions=[pattern.match.encode() for pattern in patterns],
            ids=list(range(len(patterns))),
            elements=len(patterns),
            # Once per pattern is enough to know. Prefilter mode may say yes too often, never no wrongly.
            flags=hyperscan.HS_FLAG_SINGLEMATCH | hyperscan.HS_FLAG_PREFILTER,
        )
    except hyperscan.HyperscanError as error:
        raise InputRefused(f"the redaction patterns do not compile: {error}", hint="simplify the newest one") from error
    return database


class _Compiled:
    def __init__(self, pattern: Pattern) -> None:
        self._type = pattern.type
        self._regex = _compile(pattern.match)
        self._group = _group(self._regex, pattern.match)
        self._unless = tuple(_compile(each) for each in pattern.unless)
        self._needs = tuple(_compile(each) for each in pattern.needs)

    def spans(self, text: bytes) -> Iterator[Span]:
        group, kind, is_doubtful = self._group, self._type, bool(self._needs or self._unless)
        for match in self._regex.finditer(text):
            start, end = match.span(group)
            if 0 <= start < end and not (is_doubtful and not self._is_wanted(text[start:end])):
                yield Span(start, end, kind)

    def _is_wanted(self, hidden: bytes) -> bool:
        return all(each.search(hidden) for each in self._needs) and not any(
            each.search(hidden) for each in self._unless
        )


def _group(regex: "re2.Pattern", pattern: str) -> int:
    """RE2 gives spans by number, so the named group has to be the only one."""
    if regex.groups != pattern.count(_GROUP):
        raise InputRefused(f"redaction pattern {pattern!r} has another group than `hide`", hint="write (?:…)")
    return regex.groups


def _compile(pattern: str) -> "re2.Pattern":
    options = re2.Options()
    # Bytes, not UTF-8: spans are offsets into bytes, and logs hold sequences that are no UTF-8.
    options.encoding = re2.Options.Encoding.LATIN1
    options.log_errors = False
    try:
        return re2.compile(pattern.encode("ascii"), options)
    except (re2.error, UnicodeEncodeError) as error:
        raise InputRefused(
            f"redaction pattern {pattern!r}: {error}", hint="patterns are ASCII and RE2: no look-around"
        ) from error


def _merged(spans: Sequence[Span], text: bytes) -> Iterator[Span]:
    """One span where several touch the same bytes; the first names its type."""
    current = spans[0]
    for span in spans[1:]:
        if span.start < current.end:
            current = Span(current.start, max(current.end, span.end), current.type)
        else:
            yield _whole_characters(current, text)
            current = span
    yield _whole_characters(current, text)


def _whole_characters(span: Span, text: bytes) -> Span:
    """A bounded repetition may stop inside a character of several bytes."""
    start, end, kind = span
    while start > 0 and text[start] & 0xC0 == 0x80:
        start -= 1
    while end < len(text) and text[end] & 0xC0 == 0x80:
        end += 1
    return span if (start, end) == span[:2] else Span(start, end, kind)
