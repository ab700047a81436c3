"""Finds the lines of a block on which any of many patterns matches.

Hyperscan where it is installed, else RE2: same lines, same order. Blocks end at a line end or at the end of the
file, so no match is cut; the engine keeps no state between blocks.
"""

import time
from collections.abc import Callable, Sequence
from importlib.metadata import version
from typing import Any, Protocol

from affidavit.errors import InputRefused, InvariantBroken
from affidavit.matching.engine_cache import Scratches, engine_name, keep_engine, load_engine
from affidavit.matching.needle_cache import expressions_of, kept_needles
from affidavit.matching.pattern_language import block_form, byte_options
from affidavit.matching.re2_until_hyperscan_pays import ThriftyMatcher

SLOT_BITS = 16
# Vectorscan 5.4.12 misses some matches that reach the last byte of its input (`b+$`), so line feeds are appended.
ROOM = 2
_FEEDS = b"\n" * ROOM
# An engine that took at least so many seconds to build is kept for the next run.
WORTH_KEEPING = 0.05
# An engine of no more patterns is built in no time.
_FEW = 100
_SLOT_MASK = (1 << SLOT_BITS) - 1
# A longer block holds one line too long for a usual block.
_USUAL_BLOCK = 4 << 20


class Matcher(Protocol):
    def scan(self, block: bytearray, length: int) -> list[int]:
        """`position << SLOT_BITS | slot` for hits: a byte inside the line, and which pattern group. Ascending
        by line; one line may be reported more than once.

        The block has ROOM bytes behind its `length`; they are used and left as they were.
        """
        ...


def compile_matcher(patterns: Sequence[tuple[int, str]], *, engine: str = "auto") -> Matcher:
    """`patterns` are (slot, pattern); several patterns may share a slot."""
    if any(slot > _SLOT_MASK for slot, _ in patterns):
        raise InvariantBroken(f"more than {_SLOT_MASK} rules")
    if engine == "re2":
        return Re2Matcher(patterns)
    try:
        return HyperscanMatcher(_name_of(patterns), lambda: _expressions(patterns))
    except ImportError:
        if engine == "hyperscan":
            raise
        return Re2Matcher(patterns)


def thrifty_matcher(patterns: Sequence[tuple[int, str]], lasting: Callable[[], Matcher], *, engine: str) -> Matcher:
    """`lasting` makes the matcher of these patterns that stays; it is made only once it pays, or where it was kept."""
    if is_ready(patterns, engine=engine):
        return lasting()
    return ThriftyMatcher(Re2Matcher(patterns), lasting, room=ROOM, slot_bits=SLOT_BITS)


def is_ready(patterns: Sequence[tuple[int, str]], *, engine: str) -> bool:
    """Whether `compile_matcher` takes no time worth mentioning."""
    if engine != "auto" or len(patterns) <= _FEW:
        return True
    try:
        return load_engine(_name_of(patterns)) is not None
    except ImportError:  # not installed, or not for this machine: RE2 is the whole engine
        return True


class HyperscanMatcher:
    def __init__(self, name: str, expressions: Callable[[], tuple[list[bytes], list[int]]]) -> None:
        """The engine kept under this name, else one of the `expressions` and their slots."""
        self._database: Any = load_engine(name) or _built_and_kept(name, expressions)
        self._scratches = Scratches(self._database)

    def scan(self, block: bytearray, length: int) -> list[int]:
        behind = block[length : length + ROOM]
        block[length : length + ROOM] = _FEEDS
        hits: list[int] = []
        collect = _collect if length <= _USUAL_BLOCK else _FirstOfLine(block, length)
        try:
            view = memoryview(block)[: length + ROOM]
            self._database.scan(view, match_event_handler=collect, context=hits, scratch=self._scratches.mine())
        finally:
            block[length : length + ROOM] = behind
        return hits


def _name_of(patterns: Sequence[tuple[int, str]]) -> str:
    return engine_name(*_expressions(patterns), version=version("hyperscan"))


def _expressions(patterns: Sequence[tuple[int, str]]) -> tuple[list[bytes], list[int]]:
    return [block_form(pattern).encode() for _, pattern in patterns], [slot for slot, _ in patterns]


def _built_and_kept(name: str, expressions: Callable[[], tuple[list[bytes], list[int]]]) -> Any:
    started = time.monotonic()
    database = _built(*expressions())
    if time.monotonic() - started >= WORTH_KEEPING:
        keep_engine(name, database)
    return database


def _built(expressions: list[bytes], ids: list[int]) -> Any:
    import hyperscan

    database: Any = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
    try:
        database.compile(expressions=expressions, ids=ids, elements=len(expressions), flags=hyperscan.HS_FLAG_MULTILINE)
    except hyperscan.HyperscanError as error:
        raise InputRefused(f"the patterns do not compile: {error}", hint="simplify the pattern") from error
    return database


def _collect(slot: int, _start: int, end: int, _flags: int, hits: list[int]) -> None:
    hits.append((end - 1) << SLOT_BITS | slot)


class _FirstOfLine:
    """Collects a slot's first match in each line. One very long line may hold millions."""

    def __init__(self, block: bytearray, length: int) -> None:
        self._block, self._length = block, length
        self._line_ends: dict[int, int] = {}

    def __call__(self, slot: int, _start: int, end: int, _flags: int, hits: list[int]) -> None:
        position = end - 1
        if position < self._line_ends.get(slot, 0):
            return
        hits.append(position << SLOT_BITS | slot)
        feed = self._block.find(b"\n", position, self._length)
        self._line_ends[slot] = self._length if feed < 0 else feed


def _needles(patterns: Sequence[str]) -> list[str]:
    """Of many patterns, RE2 makes a state for every way in which some of them may go on; of needles it makes few."""
    needles = kept_needles(patterns) if len(patterns) > _FEW else None
    return [] if needles is None else expressions_of(needles)


class Re2Matcher:
    """Looks for lines that may match, by needles where an earlier run left them, and asks what matches there."""

    def __init__(self, patterns: Sequence[tuple[int, str]]) -> None:
        import re2

        options = byte_options()
        options.max_mem = 256 << 20
        forms = [block_form(pattern) for _, pattern in patterns]
        self._slots = [slot for slot, _ in patterns]
        worth_a_look = _needles([pattern for _, pattern in patterns]) or forms
        self._any = re2.compile(f"(?m:{'|'.join(f'(?:{form})' for form in worth_a_look)})".encode(), options)
        self._each = re2.Set.SearchSet(options)
        for form in forms:
            self._each.Add(f"(?m:{form})".encode())
        self._each.Compile()

    def scan(self, block: bytearray, length: int) -> list[int]:
        text = bytes(memoryview(block)[:length])
        hits: list[int] = []
        at = 0
        while (found := self._any.search(text, at)) is not None:
            inside = found.end() - 1
            start = text.rfind(b"\n", 0, inside) + 1
            end = text.find(b"\n", inside)
            end = len(text) if end < 0 else end
            slots = {self._slots[index] for index in self._each.Match(text[start:end]) or ()}
            hits.extend(inside << SLOT_BITS | slot for slot in sorted(slots))
            at = end
            if at >= len(text):
                break
        return hits
