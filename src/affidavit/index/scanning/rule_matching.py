"""Maps hits to rules by slot number, and decides which rules read a file."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, cached_property
from importlib.util import find_spec

import numpy as np
from numpy.typing import NDArray

from affidavit.bundle.file_roles import FileRole, may_be_by, role_of
from affidavit.errors import InputRefused
from affidavit.index.scanning.hits import Column, FileHits
from affidavit.matching.matcher import ROOM, SLOT_BITS, Matcher, compile_matcher, is_ready, thrifty_matcher
from affidavit.matching.needle_cache import made_needles
from affidavit.matching.pattern_language import Wordings
from affidavit.matching.sieve import SievedMatcher, is_sieve_ready, sieve_of, without_text
from affidavit.rules.pack import RulePack
from affidavit.rules.rule import Rule, Suppression

# From this many doubtful lines on, asking about all of them at once is cheaper than one by one.
MANY_DOUBTS = 24
# So many are asked about one by one in the time that building an engine for them takes.
FEW_DOUBTS = 10_000
# An engine of so large a share of all slots is hardly faster than the one of all.
_MOST = 0.6


class LineMeaning(StrEnum):
    """What a line on which a pattern matched means for its rule."""

    FAULT = "fault"
    EXPLAINED = "explained"
    CLEARED = "cleared"
    PLANNED = "planned"


@dataclass(frozen=True, kw_only=True)
class Slot:
    rule: Rule
    says: LineMeaning
    suppression: Suppression | None = None

    @property
    def wordings(self) -> tuple[str, ...]:
        match self.says:
            case LineMeaning.FAULT:
                return self.rule.match
            case LineMeaning.CLEARED:
                return self.rule.cleared_by
            case LineMeaning.PLANNED:
                return self.rule.planned_by
            case LineMeaning.EXPLAINED:
                return ()

    def confirms(self, line: bytes) -> bool:
        """RE2's word on the line without its line end: an engine that saw a carriage return may differ."""
        match self.says:
            case LineMeaning.CLEARED:
                return self.rule.clearing.match(line)
            case LineMeaning.PLANNED:
                return self.rule.planning.match(line)
            case _:
                return self.rule.wordings.match(line)


class RuleSlots:
    """Every (rule, meaning) of a pack, the engine that finds them all, and a sieve for each kind of long file.

    A sieve of the rules that read a file is several times as fast as an engine of all rules, but takes a part of a
    second to build where none is kept. Only long files are worth that.
    """

    def __init__(self, pack: RulePack, *, engine: str = "auto") -> None:
        self._pack = pack
        self._engine = engine
        self._doubted = 0
        self._judges: dict[tuple[FileRole, tuple[str, ...]], Judge] = {}
        self._matchers: dict[frozenset[int], Matcher] = {}
        self._engines: dict[frozenset[int], Matcher] = {}

    @cached_property
    def table(self) -> tuple[Slot, ...]:
        rules = self._pack.rules
        return (
            *(Slot(rule=rule, says=LineMeaning.FAULT) for rule in rules),
            *(Slot(rule=rule, says=LineMeaning.CLEARED) for rule in rules if rule.cleared_by),
            *(Slot(rule=rule, says=LineMeaning.PLANNED) for rule in rules if rule.planned_by),
            *(
                Slot(rule=rule, says=LineMeaning.EXPLAINED, suppression=suppression)
                for suppression in self._pack.suppressions
                for rule in rules
                if rule.id in suppression.rules
            ),
        )

    @cached_property
    def turns(self) -> NDArray[np.int8]:
        """By slot: when its rule has its say about a line. Rules of last resort come behind all others, worst first."""
        return np.array([turn_of(slot.rule) for slot in self.table], dtype=np.int8)

    def told_once(self, hits: FileHits) -> FileHits:
        """Without hits of last resort on lines of which a rule before them tells something."""
        turns = self.turns[hits.slot]
        if not turns.any():
            return hits
        first = np.flatnonzero(np.diff(hits.line, prepend=-1))
        earliest = np.repeat(np.minimum.reduceat(turns, first), np.diff(first, append=len(hits)))
        return hits.only(turns == earliest)

    @cached_property
    def explanations(self) -> dict[str, list[tuple[Suppression, int]]]:
        """Suppressions by the rule they explain, with their slots."""
        found: dict[str, list[tuple[Suppression, int]]] = {}
        for number, slot in enumerate(self.table):
            if slot.suppression is not None:
                found.setdefault(slot.rule.id, []).append((slot.suppression, number))
        return found

    def doubter_for(self, lines: int) -> Matcher | None:
        """What answers about so many doubtful lines at once; None where asking one by one is cheaper."""
        self._doubted += lines
        return self.doubter if lines > MANY_DOUBTS and (self._doubted > FEW_DOUBTS or self._is_doubter_ready) else None

    @cached_property
    def doubter(self) -> Matcher | None:
        """Finds by their numbers in `doubts` which wordings stand on many lines; None where the engine cannot take a
        pattern that RE2 can."""
        try:
            return compile_matcher([*enumerate(self.doubts)], engine=self._engine)
        except InputRefused:
            return None

    @cached_property
    def _is_doubter_ready(self) -> bool:
        return is_ready([*enumerate(self.doubts)], engine=self._engine)

    @cached_property
    def doubts(self) -> tuple[str, ...]:
        """Wordings of exceptions and explanations, each once: many rules share one."""
        exceptions = (wording for slot in self.table for wording in slot.rule.unless)
        contexts = (slot.suppression.context for slot in self.table if slot.suppression)
        return tuple(dict.fromkeys((*exceptions, *contexts)))

    @cached_property
    def excepting(self) -> NDArray[np.bool_]:
        """By wording and slot: whether a line with the wording is not the slot's."""
        found = np.zeros((len(self.doubts), len(self.table)), dtype=np.bool_)
        number_of = {wording: number for number, wording in enumerate(self.doubts)}
        for number, slot in enumerate(self.table):
            if slot.says is LineMeaning.FAULT:
                found[[number_of[wording] for wording in slot.rule.unless], number] = True
        return found

    @cached_property
    def explaining(self) -> NDArray[np.int32]:
        """By wording and slot: the slot of the first explanation by the wording, or -1."""
        found = np.full((len(self.doubts), len(self.table)), -1, dtype=np.int32)
        number_of = {wording: number for number, wording in enumerate(self.doubts)}
        for number, slot in enumerate(self.table):
            for suppression, explained in self.explanations.get(slot.rule.id, [])[::-1]:
                if slot.says is LineMeaning.FAULT:
                    found[number_of[suppression.context], number] = explained
        return found

    @cached_property
    def matcher(self) -> Matcher:
        return compile_matcher(self._patterns(range(len(self.table))), engine=self._engine)

    @cached_property
    def first_matcher(self) -> Matcher:
        """For the beginning of a scan: the engine of all if it is there, else one that needs no building."""
        if "matcher" in self.__dict__:
            return self.matcher
        return thrifty_matcher(self._patterns(range(len(self.table))), lambda: self.matcher, engine=self._engine)

    def prepare(self) -> None:
        """Keeps what makes the first scan after an installation quick; the wheel carries it."""
        made_needles(wording for _, wording in self._patterns(range(len(self.table))))

    def matcher_of(self, readers: frozenset[int]) -> Matcher:
        """Finds what these slots look for: by a sieve of their own, where Hyperscan is there to make one."""
        if readers not in self._matchers:
            self._matchers[readers] = self._sieved(readers) if self._can_sieve else self._engine_of(readers)
        return self._matchers[readers]

    def ready_matcher_of(self, readers: frozenset[int]) -> Matcher | None:
        """The same where it is there or was kept; None where it has to be built."""
        is_ready = readers in self._matchers or (self._can_sieve and is_sieve_ready(self._wordings(readers)))
        return self.matcher_of(readers) if is_ready else None

    @cached_property
    def _can_sieve(self) -> bool:
        return self._engine != "re2" and find_spec("hyperscan") is not None

    def _sieved(self, readers: frozenset[int]) -> Matcher:
        wordings = self._wordings(readers)
        return SievedMatcher(
            sieve_of(wordings),
            self.first_matcher,
            plain=cache(lambda: self._plain_engine(readers, wordings)),
            whole=lambda: self._engine_of(readers),
        )

    def _plain_engine(self, readers: frozenset[int], wordings: list[str]) -> Matcher:
        """Of the few patterns that no text stands for; most lines that a sieve marks are theirs."""
        plain = without_text(wordings)
        patterns = [(number, wording) for number, wording in self._patterns(sorted(readers)) if wording in plain]
        return compile_matcher(patterns, engine=self._engine)

    def _engine_of(self, readers: frozenset[int]) -> Matcher:
        """Where they are most of all slots, the engine of all serves as well."""
        if len(readers) > _MOST * len(self.table):
            return self.matcher
        if readers not in self._engines:
            self._engines[readers] = compile_matcher(self._patterns(sorted(readers)), engine=self._engine)
        return self._engines[readers]

    def _wordings(self, readers: frozenset[int]) -> list[str]:
        return [wording for number in readers for wording in self.table[number].wordings]

    def _patterns(self, numbers: Iterable[int]) -> list[tuple[int, str]]:
        return [(number, wording) for number in numbers for wording in self.table[number].wordings]

    def judge(self, path: str) -> "Judge":
        """Files of one role, named by the same rules, share a judge: a bundle may hold thousands of them."""
        role = role_of(path)
        named_by = tuple(rule.id for rule in self._naming_files if rule.names_file(path))
        if (role, named_by) not in self._judges:
            readers = frozenset(
                number for number, slot in enumerate(self.table) if slot.wordings and slot.rule.reads_file(path, role)
            )
            self._judges[role, named_by] = Judge(self, path, role, readers)
        return self._judges[role, named_by]

    @cached_property
    def _naming_files(self) -> tuple[Rule, ...]:
        return tuple(rule for rule in self._pack.rules if rule.globs)


def turn_of(rule: Rule) -> int:
    return 1 + rule.severity.rank if rule.last_resort else 0


def slots_of(pack: RulePack) -> RuleSlots:
    """The same pack gives the same slots, so that a service builds its engine once."""
    if pack.version not in _BUILT:
        _BUILT.clear()
        _BUILT[pack.version] = RuleSlots(pack)
    return _BUILT[pack.version]


_BUILT: dict[str, RuleSlots] = {}


@dataclass(frozen=True, kw_only=True, slots=True)
class _Doubt:
    """What is left to ask about a line on which a slot's pattern matched; None where nothing is."""

    readable: frozenset[str] | None
    demands: Wordings | None
    exceptions: Wordings | None
    explanations: Wordings | None
    explained: tuple[int, ...]

    @property
    def may_be_excepted(self) -> bool:
        return self.exceptions is not None or self.explanations is not None


class Judge:
    """Decides for one file whether a line on which a pattern matched counts, and for which slot."""

    def __init__(self, slots: RuleSlots, path: str, role: FileRole, readers: frozenset[int]) -> None:
        self.readers = readers
        self._slots = slots
        self._table = slots.table
        self._role = role
        doubts = {number: _doubt(slots, slots.table[number], path, role) for number in readers}
        self._doubts = {number: doubt for number, doubt in doubts.items() if doubt is not None}
        self.must_see = frozenset(self._doubts)
        self._reads = _flags(len(slots.table), self.readers)
        self._asks = _flags(len(slots.table), self.must_see)
        excepted = frozenset(number for number, doubt in self._doubts.items() if doubt.may_be_excepted)
        self._may_be_excepted = _flags(len(slots.table), excepted)

    def slot_for(self, number: int, line: bytes) -> int | None:
        """The slot that the line counts for; None when it is not the rule's."""
        doubt = self._doubts[number]
        if not self._is_meant(number, line):
            return None
        if doubt.exceptions is not None and doubt.exceptions.match(line):
            return None
        if doubt.explanations is not None and (first := doubt.explanations.first(line)) is not None:
            return doubt.explained[first]
        return number

    def slots_for(self, numbers: Column, block: bytearray, starts: Column, ends: Column) -> Column:
        """`slot_for` of many lines `block[start:end]`, and -1 for None."""
        judged = np.where(self._reads[numbers], numbers, -1)
        rows = np.flatnonzero(self._asks[numbers])
        view = memoryview(block)
        spans = zip(starts[rows].tolist(), ends[rows].tolist(), strict=True)
        lines = [bytes(view[start:end]) for start, end in spans]
        judged[rows] = self._slots_for(numbers[rows], lines)
        return judged

    def _slots_for(self, numbers: Column, lines: list[bytes]) -> Column:
        doubter = self._slots.doubter_for(len(lines))
        if doubter is None:
            found = map(self.slot_for, numbers.tolist(), lines)
            return np.array([-1 if slot is None else slot for slot in found], dtype=np.int64)
        is_meant = np.array([*map(self._is_meant, numbers.tolist(), lines)], dtype=np.bool_)
        judged = np.where(is_meant, numbers, -1)
        # Most lines end or announce a fault: of these nothing more is asked.
        rows = np.flatnonzero(is_meant & self._may_be_excepted[numbers])
        if len(rows):
            judged[rows] = self._without_doubt(numbers[rows], [lines[row] for row in rows.tolist()], doubter)
        return judged

    def _is_meant(self, number: int, line: bytes) -> bool:
        """Whether the line may be of a component that the rule reads, and says what the rule asks for besides."""
        doubt = self._doubts[number]
        if doubt.readable is not None and not may_be_by(line, self._role, doubt.readable):
            return False
        return doubt.demands is None or doubt.demands.match(line)

    def _without_doubt(self, numbers: Column, lines: list[bytes], doubter: Matcher) -> Column:
        """Ask about all lines in one scan, as if they were a file."""
        text = bytearray(b"\n".join(lines) + bytes(ROOM))
        hits = np.array(doubter.scan(text, len(text) - ROOM), dtype=np.int64)
        bounds = np.cumsum([len(line) + 1 for line in lines])
        rows, wordings = np.searchsorted(bounds, hits >> SLOT_BITS, side="right"), hits & (1 << SLOT_BITS) - 1
        judged = numbers.copy()
        # Suppressions are asked in order: the first that explains a line has it.
        explained = self._slots.explaining[wordings, numbers[rows]]
        explaining = np.flatnonzero(explained >= 0)
        explaining = explaining[np.argsort(-explained[explaining])]
        judged[rows[explaining]] = explained[explaining]
        judged[rows[self._slots.excepting[wordings, numbers[rows]]]] = -1
        return judged

    def confirms(self, number: int, line: bytes) -> bool:
        return self._table[number].confirms(line)


def _flags(size: int, numbers: frozenset[int]) -> NDArray[np.bool_]:
    flags = np.zeros(size, dtype=np.bool_)
    flags[list(numbers)] = True
    return flags


def _doubt(slots: RuleSlots, slot: Slot, path: str, role: FileRole) -> _Doubt | None:
    rule, is_fault = slot.rule, slot.says is LineMeaning.FAULT
    explanations = slots.explanations.get(rule.id, []) if is_fault else []
    doubt = _Doubt(
        readable=None if rule.owns_all_of(path, role) else frozenset(rule.reads),
        demands=rule.demands if is_fault and rule.also else None,
        exceptions=rule.exceptions if is_fault and rule.unless else None,
        explanations=Wordings([suppression.context for suppression, _ in explanations]) if explanations else None,
        explained=tuple(number for _, number in explanations),
    )
    return doubt if doubt.readable or doubt.demands or doubt.exceptions or doubt.explanations else None
