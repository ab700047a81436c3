"""Reaches the verdict: chooses causes by what they explain, and says what stays unexplained."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from affidavit.evidence.confidence import Confidence, Level
from affidavit.evidence.finding import FaultState, Finding
from affidavit.evidence.node_verdict import (
    Alternative,
    CandidateCause,
    CausalLink,
    NodeVerdict,
    Refutation,
    RootCause,
    Unexplained,
    VerdictState,
)
from affidavit.evidence.severity import Severity
from affidavit.verdict.causal_graph import CausalGraph
from affidavit.verdict.causal_links import AcceptedLink, accepted_links
from affidavit.verdict.cause_before_effect import NodeClocks, clock_seconds, read_clocks
from affidavit.verdict.node_condition import CauseRole
from affidavit.verdict.seen_conditions import SeenCondition, see
from affidavit.verdict.unseen_causes import absent_of, candidates
from affidavit.verdict.wording import entity_line, summary_of, unjudged

MOST_ALTERNATIVES = 8


@dataclass(frozen=True, kw_only=True)
class Fact:
    """A measured value that is no fault and so speaks against one: `df` at 41 %."""

    id: str
    refutation: Refutation


@dataclass(frozen=True, kw_only=True)
class VerdictInput:
    """The input of a verdict. `first_steps` maps a rule to what to do first, `lines` a finding to its whole line."""

    findings: Sequence[Finding]
    files: Collection[str]
    collected_at: datetime | None
    booted_at: datetime | None
    confidence: Confidence
    facts: Sequence[Fact] = ()
    first_steps: Mapping[str, str] = field(default_factory=dict[str, str])
    lines: Mapping[str, str] = field(default_factory=dict[str, str])


def conclude(evidence: VerdictInput, graph: CausalGraph) -> NodeVerdict:
    return _Case(evidence, graph).verdict()


class _Case:
    """One bundle: what is seen, what explains what, and which of it is a root."""

    def __init__(self, evidence: VerdictInput, graph: CausalGraph) -> None:
        self.evidence, self.graph = evidence, graph
        self.clocks: NodeClocks = read_clocks(
            evidence.findings, booted_at=evidence.booted_at, collected_at=evidence.collected_at
        )
        self.seen = see(evidence.findings, graph, evidence.lines)
        self.refuted = self._refuted()
        links = accepted_links(self.seen, graph, self.clocks, self.refuted)
        self.causes: dict[str, list[AcceptedLink]] = {}
        self.effects: dict[str, list[AcceptedLink]] = {}
        for link in links:
            self.causes.setdefault(link.effect.id, []).append(link)
            self.effects.setdefault(link.cause.id, []).append(link)

    def verdict(self) -> NodeVerdict:
        roots = self._roots()
        explained = {
            name for root in roots for name in (root.id, *self._settings_of(root.id), *self._explained_by(root))
        }
        unexplained = self._unexplained(explained)
        told = tuple(self._root_cause(root) for root in roots)
        state = self._state(bool(unexplained), roots)
        faults = sum(bool(each.worth_explaining) and not each.is_harmless for each in self.seen.values())
        alternatives = tuple(self._alternatives(roots))[:MOST_ALTERNATIVES]
        return NodeVerdict(
            summary=summary_of(told, unexplained, state, self.evidence),
            root_causes=told,
            alternatives=alternatives,
            unexplained=unexplained,
            state=state,
            confidence=self._confidence(told, unexplained),
            gaps=tuple(self._gaps(unexplained)),
            faults=faults,
        )

    def _explained_by(self, root: SeenCondition) -> list[str]:
        """What follows from it, and from the settings that made it possible."""
        told = dict.fromkeys(name for start in (root.id, *self._settings_of(root.id)) for name in self._reached(start))
        return [name for name in told if name != root.id]

    def _refuted(self) -> frozenset[str]:
        """Conditions that only lines claim and a measurement denies. A condition that was itself measured stands."""
        facts = {fact.id for fact in self.evidence.facts}
        return frozenset(
            name
            for name, each in self.seen.items()
            if facts.intersection(each.condition.refuted_by) and not any(_is_measured(found) for found in each.findings)
        )

    def _roots(self) -> list[SeenCondition]:
        """The causes of what is open, then those of faults that are over and have nothing to do with it."""
        able = [each for each in self.seen.values() if self._can_lead(each)]
        open_now = [each for each in able if each.is_open or (self._may_hold_on(each) and self._explains_open(each.id))]
        over = [each for each in able if each not in open_now and self._is_worth_telling(each)]
        if open_now:
            open_now = [each for each in open_now if not self._adds_nothing(each, open_now)]
            return [*sorted(open_now, key=self._lead_order), *sorted(filter(_went_silent, over), key=self._lead_order)]
        is_anything_open = any(
            each.is_open and each.worth_explaining and each.condition.role is CauseRole.EFFECT
            for each in self.seen.values()
        )
        return [] if is_anything_open else sorted(over, key=self._lead_order)

    def _adds_nothing(self, each: SeenCondition, others: Sequence[SeenCondition]) -> bool:
        """Whether it is a setting or a change, and a fault that is a cause by itself explains all that it would."""
        reached = set(self._reached(each.id))
        return each.condition.role is CauseRole.STATE and any(
            other.condition.role is CauseRole.CAUSE and reached <= set(self._reached(other.id)) for other in others
        )

    @staticmethod
    def _is_worth_telling(each: SeenCondition) -> bool:
        return bool(each.worth_explaining) and _worst(each).is_at_least(Severity.HIGH)

    def _can_lead(self, each: SeenCondition) -> bool:
        if each.condition.role is CauseRole.EFFECT or each.is_harmless or each.id in self.refuted:
            return False
        if not self._is_first(each.id) or self._only_makes_possible(each):
            return False
        if each.condition.role is CauseRole.STATE or not each.worth_explaining:
            return self._explains_open(each.id)
        return True

    def _only_makes_possible(self, each: SeenCondition) -> bool:
        """Whether it is a setting, and a fault that it made possible leads itself."""
        return any(each.id in self._settings_of(link.effect.id) for link in self.effects.get(each.id, ()))

    @staticmethod
    def _may_hold_on(each: SeenCondition) -> bool:
        return each.holds_on or each.fell_silent

    def _explains_open(self, name: str) -> bool:
        return any(self.seen[other].is_open and self.seen[other].worth_explaining for other in self._reached(name))

    def _is_first(self, name: str) -> bool:
        """Whether nothing seen explains it, except conditions that it explains itself and that began no earlier, and
        settings that made it possible."""
        settings = self._settings_of(name)
        return all(
            other in settings or (other in self._reached(name) and self._is_earlier(name, other))
            for other in self._ancestors(name)
        )

    def _settings_of(self, name: str) -> list[str]:
        """Settings that made a fault possible which stands in lines of its own."""
        each = self.seen[name]
        if each.condition.role is not CauseRole.CAUSE or not each.worth_explaining:
            return []
        return [link.cause.id for link in self.causes.get(name, ()) if link.cause.condition.only_allows]

    def _is_earlier(self, name: str, other: str) -> bool:
        mine, theirs = self.seen[name], self.seen[other]
        if theirs.condition.role is CauseRole.EFFECT and mine.condition.role is not CauseRole.EFFECT:
            return True
        if mine.began is None or theirs.began is None:
            return mine.began is None or name < other
        return (mine.began, name) < (theirs.began, other)

    def _reached(self, name: str) -> list[str]:
        return _walk(name, {cause: [link.effect.id for link in links] for cause, links in self.effects.items()})

    def _ancestors(self, name: str) -> list[str]:
        return _walk(name, {effect: [link.cause.id for link in links] for effect, links in self.causes.items()})

    def _lead_order(self, root: SeenCondition) -> tuple[object, ...]:
        """Sorts by how much a cause explains, then worst first, then earliest first."""
        reached = [self.seen[name] for name in self._reached(root.id)]
        explained = [each for each in reached if each.worth_explaining]
        began = root.began
        return (
            -len(explained),
            _worst(root).rank,
            began is None,
            began.timestamp() if began is not None else 0.0,
            root.id,
        )

    def _unexplained(self, explained: Collection[str]) -> tuple[Unexplained, ...]:
        left = [
            each
            for each in self.seen.values()
            if each.id not in explained and each.worth_explaining and not each.is_harmless
        ]
        # An effect of another unexplained condition is not listed on its own.
        heads = [each for each in left if each.is_open and self._is_first(each.id)]
        over = [each for each in left if not each.is_open and self._is_first(each.id)]
        shown = heads or [each for each in over if _worst(each).is_at_least(Severity.HIGH)]
        return tuple(self._left_open(each) for each in sorted(shown, key=self._lead_order))

    def _left_open(self, each: SeenCondition) -> Unexplained:
        beneath = [self.seen[name] for name in self._reached(each.id)]
        findings = [found for seen in (each, *beneath) for found in seen.worth_explaining]
        is_effect = each.condition.role is CauseRole.EFFECT
        places = each.condition.look_in if is_effect else ()
        return Unexplained(
            what=each.condition.name,
            finding_ids=tuple(dict.fromkeys(found.finding_id for found in findings)),
            cause_unknown=is_effect,
            could_be=self._candidates(each) if is_effect else (),
            look_in=places,
            absent=absent_of(places, self.evidence.files),
        )

    def _candidates(self, each: SeenCondition) -> tuple[CandidateCause, ...]:
        facts = {fact.id: fact.refutation.says for fact in self.evidence.facts}
        return candidates(each, self.graph, self.seen, facts, self.evidence.files)

    def _root_cause(self, root: SeenCondition) -> RootCause:
        reached = self._explained_by(root)
        explains = [found.finding_id for name in reached for found in self.seen[name].findings]
        first = self._first_sign(root)
        mine = [found.finding_id for found in sorted(root.findings, key=lambda found: found is not first)]
        mine += [found.finding_id for name in self._settings_of(root.id) for found in self.seen[name].findings]
        lead = first or root.lead
        return RootCause(
            cause=root.condition.name,
            fault_type=root.condition.fault_type,
            since=self._since(root),
            until=None if root.is_open else root.ended,
            still_open=root.is_open,
            explains=tuple(dict.fromkeys(each for each in explains if each not in mine)),
            evidence=tuple(mine),
            proof=tuple(self._proof([root.id, *self._settings_of(root.id)], reached)),
            confidence=self._certainty(root, reached),
            first_step=self.evidence.first_steps.get(lead.rule, ""),
            on=entity_line(root),
        )

    def _first_sign(self, root: SeenCondition) -> Finding | None:
        """The finding that began before the effects did, when all that is still open came after them.

        A clock loses its source, drifts, and is found minutes off when the source is back.
        """
        links = [link for link in self.effects.get(root.id, ()) if link.effect.began is not None]
        first = min((link.effect.began for link in links if link.effect.began is not None), default=None)
        if first is None or root.began is None or root.began <= first:
            return None
        oldest = first - max(link.path.within for link in links)
        early = [
            found
            for found in root.worth_explaining
            if found.first_seen is not None and oldest <= found.first_seen <= first
        ]
        return min(early, key=lambda found: found.first_seen or first, default=None)

    def _since(self, root: SeenCondition) -> datetime | None:
        """When its outbreak began that brought about the first of its effects."""
        effects = [link.effect.began for link in self.effects.get(root.id, ()) if link.effect.began is not None]
        if (first := self._first_sign(root)) is not None:
            return first.first_seen
        if root.began is None or min(effects, default=root.began) >= root.began:
            return root.began
        found = root.outbreak_before(min(effects))
        return root.began if found is None else found[0]

    def _proof(self, roots: Sequence[str], reached: Sequence[str]) -> list[CausalLink]:
        inside = {*roots, *reached}
        return [
            CausalLink(
                cause=link.cause.lead.finding_id,
                effect=link.effect.lead.finding_id,
                how=link.path.how,
                clock_seconds=clock_seconds(link.cause, link.effect, self.clocks),
            )
            for name in reached
            for link in self.causes.get(name, ())
            if link.cause.id in inside
        ]

    def _certainty(self, root: SeenCondition, reached: Sequence[str]) -> Level:
        """High: two components show it and no other cause is possible. Medium: two components or findings. Else low."""
        witnesses = root.components.union(*(self.seen[name].components for name in reached))
        rivals = [
            link for name in reached for link in self.causes.get(name, ()) if link.cause.id not in {root.id, *reached}
        ]
        if len(witnesses) >= 2 and not rivals:
            return Level.HIGH
        return Level.MEDIUM if len(witnesses) >= 2 or len(root.findings) >= 2 else Level.LOW

    def _alternatives(self, roots: Sequence[SeenCondition]) -> list[Alternative]:
        leading = {name for root in roots for name in (root.id, *self._reached(root.id))}
        refuted = [self._denied(self.seen[name]) for name in sorted(self.refuted)]
        late = [self._too_late(root, leading) for root in roots[:1]]
        return [*refuted, *(entry for entries in late for entry in entries)]

    def _denied(self, each: SeenCondition) -> Alternative:
        against = [fact.refutation for fact in self.evidence.facts if fact.id in each.condition.refuted_by]
        return Alternative(
            cause=each.condition.name,
            why_less_likely="; ".join(refutation.says for refutation in against),
            finding_ids=tuple(found.finding_id for found in each.findings),
            against=tuple(against),
        )

    def _too_late(self, root: SeenCondition, leading: Collection[str]) -> list[Alternative]:
        """Seen causes of what the root explains that came too late, are over, or were planned."""
        reached = {root.id, *self._reached(root.id)}
        found: dict[str, Alternative] = {}
        for name in sorted(reached):
            for path in self.graph.causes_of(name):
                other = self.seen.get(path.cause)
                if other is None or path.cause in reached or path.cause in leading or path.cause in self.refuted:
                    continue
                if not other.worth_explaining or path.cause in found or other.condition.role is CauseRole.EFFECT:
                    continue
                found[path.cause] = Alternative(
                    cause=other.condition.name,
                    why_less_likely=_why_not(other, self.seen[name]),
                    finding_ids=tuple(each.finding_id for each in other.findings),
                )
        return list(found.values())

    def _state(self, is_left: bool, roots: Sequence[SeenCondition]) -> VerdictState:
        worth = [each for each in self.seen.values() if each.worth_explaining]
        if any(root.is_open for root in roots) or any(each.is_open for each in worth if is_left):
            return VerdictState.OPEN
        if roots or any(not each.is_harmless for each in worth):
            return VerdictState.OVER
        states = {found.state for found in self.evidence.findings}
        if FaultState.PLANNED in states:
            return VerdictState.PLANNED
        return VerdictState.STARTUP if FaultState.STARTUP in states else VerdictState.QUIET

    def _confidence(self, told: Sequence[RootCause], unexplained: Sequence[Unexplained]) -> Confidence:
        base = self.evidence.confidence
        unknown = [entry.what for entry in unexplained if entry.cause_unknown]
        level = base.level
        if not told and unknown:
            level = Level.LOW
        elif told:
            level = _lower(level, told[0].confidence)
        gaps = (*base.gaps, *(f"the cause of this is not in the bundle: {what}" for what in unknown))
        return Confidence(level=level, basis=base.basis, gaps=gaps)

    def _gaps(self, unexplained: Sequence[Unexplained]) -> list[str]:
        absent = dict.fromkeys(file for entry in unexplained for file in entry.absent)
        timeless = [
            f"{each.lead.finding_id} was true at the collection, when it began is unknown"
            for each in self.seen.values()
            if each.began is None and each.worth_explaining and self.effects.get(each.id)
        ]
        unknown = [f"{name} tells of errors in words that no rule knows" for name in unjudged(self.evidence.findings)]
        return [*(f"{file} is not in this bundle and could hold the cause" for file in absent), *timeless, *unknown]


def _walk(start: str, steps: Mapping[str, Sequence[str]]) -> list[str]:
    found: dict[str, None] = {}
    ends = list(steps.get(start, ()))
    while ends:
        name = ends.pop(0)
        if name != start and name not in found:
            found[name] = None
            ends.extend(steps.get(name, ()))
    return list(found)


def _why_not(other: SeenCondition, effect: SeenCondition) -> str:
    if other.is_harmless:
        return f"it was {other.lead.state.value if other.lead.state else 'harmless'}"
    if effect.is_open and not other.is_open:
        return "it was over before the collection, and the trouble goes on"
    if other.began is not None and effect.began is not None and other.began > effect.began:
        minutes = (other.began - effect.began).total_seconds() / 60
        return f"it began {minutes:.0f} min after what it would have to explain"
    return "a cause that its own lines name explains the same"


def _went_silent(each: SeenCondition) -> bool:
    """Whether nothing says that it was mended: it only stopped to be logged."""
    return each.condition.role is CauseRole.CAUSE and each.fell_silent


def _worst(each: SeenCondition) -> Severity:
    return min((found.severity for found in each.findings), key=lambda severity: severity.rank)


def _is_measured(finding: Finding) -> bool:
    return finding.detail is not None


def _lower(left: Level, right: Level) -> Level:
    order = [Level.HIGH, Level.MEDIUM, Level.LOW]
    return order[max(order.index(left), order.index(right))]
