"""Which rule a hit belongs to and what it says about it, as a small number; and which rules read a file."""

from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from affidavit.bundle.layout import FileRole, role_of
from affidavit.rules.matcher import Matcher, compile_matcher
from affidavit.rules.pack import RulePack
from affidavit.rules.patterns import LinePattern
from affidavit.rules.rule import Rule, Suppression


class Says(StrEnum):
    """What a line on which a pattern matched means for its rule."""

    FAULT = "fault"
    EXPLAINED = "explained"
    CLEARED = "cleared"
    PLANNED = "planned"


@dataclass(frozen=True, kw_only=True)
class Slot:
    rule: Rule
    says: Says
    suppression: Suppression | None = None

    @property
    def wordings(self) -> tuple[str, ...]:
        match self.says:
            case Says.FAULT:
                return self.rule.match
            case Says.CLEARED:
                return self.rule.cleared_by
            case Says.PLANNED:
                return self.rule.planned_by
            case Says.EXPLAINED:
                return ()

    @property
    def patterns(self) -> tuple[LinePattern, ...]:
        match self.says:
            case Says.CLEARED:
                return self.rule.clearing
            case Says.PLANNED:
                return self.rule.planning
            case _:
                return self.rule.patterns


class RuleSlots:
    """Every (rule, meaning) of a pack, and the engines loaded with those that a file needs."""

    def __init__(self, pack: RulePack, *, engine: str = "auto") -> None:
        self._pack = pack
        self._engine = engine
        self._matchers: dict[tuple[int, ...], Matcher] = {}

    @cached_property
    def table(self) -> tuple[Slot, ...]:
        rules = self._pack.rules
        return (
            *(Slot(rule=rule, says=Says.FAULT) for rule in rules),
            *(Slot(rule=rule, says=Says.CLEARED) for rule in rules if rule.cleared_by),
            *(Slot(rule=rule, says=Says.PLANNED) for rule in rules if rule.planned_by),
            *(
                Slot(rule=rule, says=Says.EXPLAINED, suppression=suppression)
                for suppression in self._pack.suppressions
                for rule in rules
                if rule.id in suppression.rules
            ),
        )

    @cached_property
    def explanations(self) -> dict[str, list[tuple[Suppression, int]]]:
        """Suppressions by the rule they explain, with their slots."""
        found: dict[str, list[tuple[Suppression, int]]] = {}
        for number, slot in enumerate(self.table):
            if slot.suppression is not None:
                found.setdefault(slot.rule.id, []).append((slot.suppression, number))
        return found

    def for_file(self, path: str) -> tuple[Matcher | None, "Judge"]:
        """The engine loaded with the rules that read this file; None when none does."""
        role = role_of(path)
        readers = tuple(
            number for number, slot in enumerate(self.table) if slot.wordings and slot.rule.reads_file(path, role)
        )
        judge = Judge(self, path, role, readers)
        if not readers:
            return None, judge
        if readers not in self._matchers:
            patterns = [(number, wording) for number in readers for wording in self.table[number].wordings]
            self._matchers[readers] = compile_matcher(patterns, engine=self._engine)
        return self._matchers[readers], judge


class Judge:
    """Decides for one file whether a line on which a pattern matched counts, and for which slot."""

    def __init__(self, slots: RuleSlots, path: str, role: FileRole, readers: tuple[int, ...]) -> None:
        self._table = slots.table
        self._explanations = slots.explanations
        self._path = path
        self._role = role
        self.must_see = frozenset(number for number in readers if self._depends_on_line(self._table[number]))

    def _depends_on_line(self, slot: Slot) -> bool:
        return slot.rule.judges_lines_of(self._path, self._role) or slot.rule.id in self._explanations

    def slot_for(self, number: int, line: bytes) -> int | None:
        """The slot that the line counts for; None when it is not the rule's."""
        slot = self._table[number]
        if slot.says is not Says.FAULT:
            return number if slot.rule.owns(line, self._path, self._role) else None
        if not slot.rule.accepts(line, self._path, self._role):
            return None
        for suppression, explained in self._explanations.get(slot.rule.id, ()):
            if suppression.pattern.search(line) is not None:
                return explained
        return number

    def confirms(self, number: int, line: bytes) -> bool:
        """RE2's word on the line without its line end: an engine that saw the carriage return may differ."""
        return any(pattern.search(line) is not None for pattern in self._table[number].patterns)
