"""Says which patterns may match at all, by Hyperscan. RE2 still decides.

It is shown a simpler expression, which matches wherever a pattern does and compiles in a tenth of the time: counts
become "that many or more". Building the engine of all patterns still takes long, so one that no earlier run left is
built once some text has come. Until then a set of RE2's says the same, but not where.
"""

import collections.abc
import importlib
import threading
from collections.abc import Callable
from functools import cached_property
from importlib.metadata import version
from typing import Any, Final

import re2

from affidavit.errors import InputRefused
from affidavit.matching.engine_cache import Scratches, engine_name, keep_engine, load_engine
from affidavit.matching.pattern_language import byte_options
from affidavit.matching.regex_tree import Alternation, Atom, Hide, Repeat, Sequence, Tree, parse, written
from affidavit.redaction.pattern import Pattern

# Fewer patterns compile in no time.
_FEW: Final = 10
PAYS_FROM: Final = 96 << 10
# Of a set of RE2's. What does not fit is forgotten and made again, so time stays linear.
_MOST_MEMORY: Final = 64 << 20
_MOST_CHARACTERS: Final = 8
_MOST_GROUPS: Final = 2


class Prefilter:
    """Safe to share between threads."""

    def __init__(self, expressions: collections.abc.Sequence[str], is_placed: collections.abc.Sequence[bool]) -> None:
        """Raises InputRefused, at the latest when the engine is built."""
        self._expressions = [expression.encode() for expression in expressions]
        self._is_placed = is_placed
        self._is_kept = len(expressions) >= _FEW
        self._lock = threading.Lock()
        self._left: int | None = PAYS_FROM if self._is_kept else 0
        self._engine = self._loaded()

    def engine_for(self, size: int) -> "PrefilterEngine | None":
        """The engine for a text of so many bytes; None where RE2 is to look for every pattern."""
        if self._engine is None and self._left is not None:
            with self._lock:
                self._take(size)
        return self._engine

    def possible(self, text: bytes) -> list[int]:
        """The numbers of the expressions that are in the text, without Hyperscan."""
        return sorted(self._set.Match(text) or ())

    @cached_property
    def _set(self) -> "re2.Set":
        options = byte_options()
        options.max_mem = _MOST_MEMORY
        found = re2.Set.SearchSet(options)
        for expression in self._expressions:
            found.Add(expression)
        found.Compile()
        return found

    def _take(self, size: int) -> None:
        if self._left is None:
            return
        self._left -= size
        if self._left <= 0:
            self._engine, self._left = self._built(), None

    def _loaded(self) -> "PrefilterEngine | None":
        kept = load_engine(self._name()) if self._is_kept and _has_hyperscan() else None
        return PrefilterEngine(kept) if kept is not None else None

    def _built(self) -> "PrefilterEngine | None":
        if not _has_hyperscan():
            return None
        database = _compiled(self._expressions, self._is_placed)
        if self._is_kept:
            keep_engine(self._name(), database)
        return PrefilterEngine(database)

    def _name(self) -> str:
        placed = "".join(map(str, map(int, self._is_placed)))
        ids = list(range(len(self._expressions)))
        return engine_name(self._expressions, ids, version=f"redaction {version('hyperscan')} {placed}")


class PrefilterEngine:
    def __init__(self, database: Any) -> None:
        import hyperscan

        self._database = database
        self._scratches = Scratches(database)
        self.errors: type[Exception] = hyperscan.error

    def scan(self, text: bytes, note: Callable[..., bool], found: list[tuple[int, int]]) -> None:
        self._database.scan(text, match_event_handler=note, context=found, scratch=self._scratches.mine())


def _has_hyperscan() -> bool:
    try:
        importlib.import_module("hyperscan")
    except ImportError:
        return False
    return True


def _compiled(expressions: list[bytes], is_placed: collections.abc.Sequence[bool]) -> Any:
    import hyperscan

    database: Any = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
    # Prefilter mode may say yes too often, never no wrongly. Where only "is it there?" matters, once is enough.
    once = hyperscan.HS_FLAG_SINGLEMATCH | hyperscan.HS_FLAG_PREFILTER
    flags = [hyperscan.HS_FLAG_PREFILTER if placed else once for placed in is_placed]
    ids = list(range(len(expressions)))
    try:
        database.compile(expressions=expressions, ids=ids, elements=len(ids), flags=flags)
    except hyperscan.HyperscanError as error:
        raise InputRefused(f"the redaction patterns do not compile: {error}", hint="simplify the newest one") from error
    return database


def simpler(pattern: Pattern) -> str:
    if pattern.finder is not None:
        return pattern.match
    # The parser leaves out `$`, which only makes the expression match more.
    return _relaxed(parse(pattern.match))


def _relaxed(tree: Tree) -> str:
    match tree:
        case Hide():
            return _relaxed(tree.item)
        case Repeat():
            return _repeated(tree)
        case Alternation():
            return f"(?:{'|'.join(map(_relaxed, tree.branches))})"
        case Sequence():
            return "".join(map(_relaxed, tree.items))
        case _:
            return written(tree)


def _repeated(tree: Repeat) -> str:
    is_character = isinstance(tree.item, Atom)
    inner = _relaxed(tree.item) if is_character else f"(?:{_relaxed(tree.item)})"
    least = min(tree.least, _MOST_CHARACTERS if is_character else _MOST_GROUPS)
    if tree.most == 1:
        return inner if least else f"{inner}?"
    return f"{inner}*" if not least else f"{inner}{{{least},}}"
