"""Find what has to be hidden in a text: Hyperscan says which patterns may match at all, RE2 says where.

Where Hyperscan's engine is neither kept nor worth building yet, a set of RE2's says which: the same is found.

Both take time that grows with the text alone, whatever is in it. So the text is looked at whole: a secret across the
seam of two pieces cannot slip through.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import re2

from affidavit.errors import InputRefused, InvariantBroken
from affidavit.redaction.finders.registry import FINDERS, PLACED
from affidavit.redaction.pattern import Finder, Pattern
from affidavit.redaction.prefilter import Prefilter, simpler

_GROUP = "(?P<hide>"
# Vectorscan 5.4.12 misses some matches that reach the last byte of its input, so it is shown a little more.
_BEYOND = b"\n\n"
# What turned out to be no secret may hold the name of one. Not if it is long: time has to stay linear.
_LOOKED_INTO = 256
# A longer text is read by RE2 only where a pattern may match, if no line of it is longer than what counts as near.
_LONG = 64 << 10
_NEAR = 4 << 10
_MOST_MATCHES = 200_000


class Span(NamedTuple):
    """Bytes `start` to `end` (exclusive) show something of this type.

    A tuple: made by the hundred thousand, a frozen dataclass would take half of the time of redacting.
    """

    start: int
    end: int
    type: str


class Engine:
    """`signs` are further expressions; `scan` says which of them may be in the text, and where those end that are
    placed."""

    def __init__(
        self, patterns: Sequence[Pattern], *, signs: Mapping[str, bool] | None = None, is_for_short_texts: bool = False
    ) -> None:
        """`signs` are placed or not. Short texts do without Hyperscan, which takes long to compile.

        Raises InputRefused.
        """
        signs = signs or {}
        self._patterns = tuple(_compiled(pattern) for pattern in patterns)
        self._count = len(patterns) + len(signs)
        is_placed = [*(pattern.finder is None or pattern.finder in PLACED for pattern in patterns), *signs.values()]
        self._prefilter = None if is_for_short_texts else Prefilter([*map(simpler, patterns), *signs], is_placed)

    def spans(self, text: bytes) -> list[Span]:
        """Ascending, without overlap."""
        return self.scan(text)[0]

    def scan(self, text: bytes) -> tuple[list[Span], dict[int, list[int]]]:
        """The spans, and the signs that may be there: by number, with the ends of those that are placed."""
        candidates = self._candidates(text)
        count = len(self._patterns)
        signs = {index - count: ends for index, ends in candidates.items() if index >= count}
        chosen = {index: ends for index, ends in candidates.items() if index < count}
        found = list(self._located(text, chosen)) if chosen else []
        return list(_merged(sorted(found), text)) if found else [], signs

    def _located(self, text: bytes, chosen: Mapping[int, list[int]]) -> Iterator[Span]:
        is_in_pieces: bool | None = None
        for index, ends in chosen.items():
            pattern = self._patterns[index]
            if isinstance(pattern, _Located):
                yield from pattern.spans(text, ends)
                continue
            # Asked late: in most texts only a finder is.
            is_in_pieces = _is_in_pieces(text) if is_in_pieces is None else is_in_pieces
            for start, end in _regions(ends, len(text)) if is_in_pieces else ((0, len(text)),):
                yield from pattern.spans(text, start, end)

    def _candidates(self, text: bytes) -> dict[int, list[int]]:
        """Which patterns and signs may be in the text, and where their matches end; empty for "anywhere".

        A match that needs a line end may end behind the text.
        """
        if self._prefilter is None:
            return {index: [] for index in range(self._count)}
        may_match = self._prefilter.engine_for(len(text))
        if may_match is None:
            return {index: [] for index in self._prefilter.possible(text)}
        found: list[tuple[int, int]] = []
        try:
            may_match.scan(text + _BEYOND, _note, found)
        except may_match.errors as error:
            if len(found) < _MOST_MATCHES:
                raise InvariantBroken(f"Hyperscan could not scan a text of {len(text)} bytes: {error}") from error
            # A text made to match everywhere: RE2 looks for everything, which takes longer but no memory.
            return {index: [] for index in range(self._count)}
        candidates: dict[int, list[int]] = {}
        for index, end in found:
            candidates.setdefault(index, []).append(end)
        return candidates


def _is_in_pieces(text: bytes) -> bool:
    """Whether a text is long, and has no line that is longer than what counts as near."""
    return len(text) > _LONG and max(map(len, text.split(b"\n"))) <= _NEAR


def _regions(ends: list[int], size: int) -> Iterator[tuple[int, int]]:
    """What lies near the ends of possible matches, so that RE2 need not read all of a long text."""
    if not ends:
        yield 0, size
        return
    start = stop = -1
    for end in ends:
        if start >= 0 and end - _NEAR <= stop:
            stop = min(size, end + _NEAR)
            continue
        if start >= 0:
            yield start, stop
        start, stop = max(0, end - _NEAR), min(size, end + _NEAR)
    yield start, stop


def _note(index: int, _start: int, end: int, _flags: int, found: list[tuple[int, int]]) -> bool:
    """Ends the scan when there are too many."""
    found.append((index, end))
    return len(found) >= _MOST_MATCHES


def _compiled(pattern: Pattern) -> "_Compiled | _Located":
    return _Compiled(pattern) if pattern.finder is None else _Located(pattern.type, pattern.finder)


class _Located:
    def __init__(self, kind: str, finder: Finder) -> None:
        self._type, self._find = kind, FINDERS[finder]

    def spans(self, text: bytes, ends: Sequence[int]) -> Iterator[Span]:
        return (Span(start, end, self._type) for start, end in self._find(text, ends) if start < end)


class _Compiled:
    """Compiled when it is first asked for: most patterns are in no text of a run."""

    def __init__(self, pattern: Pattern) -> None:
        if not pattern.match.isascii():
            raise InputRefused(f"redaction pattern {pattern.match!r} is not ASCII", hint="write other bytes as \\xNN")
        self._type, self._pattern = pattern.type, pattern

    @cached_property
    def _regex(self) -> "re2.Pattern":
        return _compile(self._pattern.match)

    @cached_property
    def _group(self) -> int:
        return _group(self._regex, self._pattern.match)

    @cached_property
    def _unless(self) -> "tuple[re2.Pattern, ...]":
        return tuple(_compile(each) for each in self._pattern.unless)

    @cached_property
    def _needs(self) -> "tuple[re2.Pattern, ...]":
        return tuple(_compile(each) for each in self._pattern.needs)

    def spans(self, text: bytes, at: int, last: int) -> Iterator[Span]:
        """From `at` on; a match that reaches `last` may go beyond it."""
        while at <= last and (match := self._search(text, at, last)) is not None:
            start, end = match.span(self._group)
            if 0 <= start < end and self._is_wanted(text[start:end]):
                yield Span(start, end, self._type)
            elif end - start <= _LOOKED_INTO:
                end = start
            # From where the hidden part ends, not the match: what follows it may be the name of the next secret.
            at = max(end, at + 1, match.start() + 1)

    def _search(self, text: bytes, at: int, last: int) -> Any:
        match = self._regex.search(text, at, last)
        is_cut = match is not None and match.end() == last < len(text)
        return self._regex.search(text, at) if is_cut else match

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
