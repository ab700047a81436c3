"""Which rule a hit belongs to, as a small number, and which rules a file is scanned with."""

from dataclasses import dataclass
from functools import cached_property

from affidavit.bundle.layout import FileRole, role_of
from affidavit.rules.matcher import Matcher, compile_matcher
from affidavit.rules.pack import RulePack
from affidavit.rules.rule import Rule, Suppression


@dataclass(frozen=True, kw_only=True)
class Slot:
    rule: Rule
    suppression: Suppression | None


class Judge:
    """Decides for one file whether a line on which a rule's pattern matched is a hit, and of which slot."""

    def __init__(self, slots: "RuleSlots", path: str, role: FileRole, readers: tuple[int, ...]) -> None:
        self._slots = slots
        self._path = path
        self._role = role
        self.must_see = frozenset(
            slot for slot in readers if slots.rules[slot].judges_lines_of(path, role) or slots.suppressions_of.get(slot)
        )

    def slot_for(self, slot: int, line: bytes) -> int | None:
        """The slot that the hit counts for; None when the line is not the rule's."""
        rule = self._slots.rules[slot]
        if not rule.accepts(line, self._path, self._role):
            return None
        for suppression, suppressed_slot in self._slots.suppressions_of.get(slot, ()):
            if suppression.pattern.search(line) is not None:
                return suppressed_slot
        return slot

    def confirms(self, slot: int, line: bytes) -> bool:
        """RE2's word on the line without its line end: an engine that saw the carriage return may differ."""
        return any(pattern.search(line) is not None for pattern in self._slots.rules[slot].patterns)


class RuleSlots:
    """Slots 0 … n-1 are the pack's rules in order; the rest are (rule, suppression) pairs."""

    def __init__(self, pack: RulePack, *, engine: str = "auto") -> None:
        self.rules = pack.rules
        self._pack = pack
        self._engine = engine
        self._matchers: dict[tuple[int, ...], Matcher] = {}

    @cached_property
    def table(self) -> tuple[Slot, ...]:
        plain = [Slot(rule=rule, suppression=None) for rule in self.rules]
        pairs = [Slot(rule=self.rules[rule], suppression=suppression) for suppression, rule in self._pairs]
        return (*plain, *pairs)

    @cached_property
    def suppressions_of(self) -> dict[int, list[tuple[Suppression, int]]]:
        found: dict[int, list[tuple[Suppression, int]]] = {}
        for offset, (suppression, rule) in enumerate(self._pairs):
            found.setdefault(rule, []).append((suppression, len(self.rules) + offset))
        return found

    @cached_property
    def _pairs(self) -> list[tuple[Suppression, int]]:
        number = {rule.id: index for index, rule in enumerate(self.rules)}
        return [
            (suppression, number[rule])
            for suppression in self._pack.suppressions
            for rule in suppression.rules
            if rule in number
        ]

    def for_file(self, path: str) -> tuple[Matcher | None, Judge]:
        """The engine loaded with the rules that read this file; None when none does."""
        role = role_of(path)
        readers = tuple(slot for slot, rule in enumerate(self.rules) if rule.reads_file(path, role))
        judge = Judge(self, path, role, readers)
        if not readers:
            return None, judge
        if readers not in self._matchers:
            patterns = [(slot, pattern) for slot in readers for pattern in self.rules[slot].match]
            self._matchers[readers] = compile_matcher(patterns, engine=self._engine)
        return self._matchers[readers], judge
