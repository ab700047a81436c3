"""Judges a rule's hits in one file by when they came: how bad the fault is, and whether it is over."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from affidavit.bundle.file_roles import component_of
from affidavit.bundle.log_envelopes import unwrapped
from affidavit.errors import InvariantBroken
from affidavit.evidence.finding import (
    Episode,
    FaultState,
)
from affidavit.evidence.severity import Severity
from affidavit.evidence.utf16 import text_of
from affidavit.index.faults.episodes import (
    MOST_OUTAGES,
    PASSED,
    FaultSpan,
    each_was_announced,
    goes_on,
    has_passed,
    in_order,
    is_startup,
    merged,
    most_within,
    outbreaks,
    soon_after,
    spans,
    was_brief,
)
from affidavit.index.faults.hit_groups import HitGroup, line_at, named_in
from affidavit.index.faults.retried_faults import all_near, any_near, retried
from affidavit.index.scanning.rule_matching import LineMeaning, Slot
from affidavit.index.times.bundle_clock import UNKNOWN, BundleClock, Micros, micros_of, time_of
from affidavit.index.times.log_end import logged_until
from affidavit.index.times.timestamps import SECOND
from affidavit.rules.rule import Repetition, Rule

_NO_TIMES: Micros = np.array([], dtype=np.int64)
# Lines of one fault have no longer pause than this between them, unless its rule counts in longer ones.
SAME_OUTBREAK_SECONDS = 300
# How long after the node was told to stop what ends or fails belongs to the stop.
STOPPING_SECONDS = 600
# Rules of this family tell that somebody stops the node on purpose.
STOP_SIGNAL = "node.reboot"
# How soon after its announcement a stop counts as the announced one.
PLANNED_SECONDS = 120
# A pod that was told to end may take its whole time for it.
PLANNED_FOR_SECONDS = 600
# Of who tries until it works, so many lines show that it was tried again.
TRIED_AGAIN = 2
# So many lines are compared by the names in them; more are no planned stop.
MOST_COMPARED = 5_000
PLANNED = "Each of these follows a line that announces it: a planned stop, not a crash."
STARTUP = "All of these came within {seconds} s of a start and then stopped: a start-up, not an outage."
BRIEF = "All of these came within {seconds} s, and the program logged on without them: a short outage that passed."
WORKED = "Each was tried again and worked within minutes."
SELDOM = "A fault only from {times} times within {seconds} s; it never came that often here."


@dataclass(frozen=True, kw_only=True)
class FaultJudgement:
    severity: Severity
    note: str | None = None
    state: FaultState | None = None
    episodes: tuple[Episode, ...] | None = None


class FaultContext:
    """Times of lines that clear or announce a fault, and times of starts, for judging each group."""

    def __init__(self, groups: Sequence[HitGroup], clock: BundleClock) -> None:
        self._times = {_said(group, group.slot.says): group.times for group in groups}
        self._in_order: dict[tuple[str, LineMeaning, str], Micros] = {}
        self._told = {_said(group, group.slot.says): group for group in groups if _compares_names(group.slot.rule)}
        self._by_rule: dict[str, list[HitGroup]] = {}
        for group in groups:
            if group.slot.says is LineMeaning.FAULT:
                self._by_rule.setdefault(group.slot.rule.id, []).append(group)
        self._passed: dict[tuple[str, ...], tuple[Micros, Micros]] = {}
        self.clock = clock
        starts = [
            group.times for group in groups if group.slot.rule.marks_start and group.slot.says is LineMeaning.FAULT
        ]
        if clock.booted_at is not None:
            starts.append(np.array([micros_of(clock.booted_at)], dtype=np.int64))
        self.collected = micros_of(clock.collected_at) if clock.collected_at is not None else UNKNOWN
        self.booted = micros_of(clock.booted_at) if clock.booted_at is not None else UNKNOWN
        stops = [group.times for group in groups if _announces_stop(group.slot)]
        self.stops: Micros = in_order(np.concatenate(stops)) if stops else _NO_TIMES
        self.starts: Micros = merged(np.concatenate(starts)) if starts else _NO_TIMES

    def times(self, group: HitGroup, says: LineMeaning) -> Micros:
        """Of lines in the same file that say this about the group's rule, in order."""
        said = _said(group, says)
        if said not in self._in_order:
            self._in_order[said] = in_order(self._times.get(said, _NO_TIMES))
        return self._in_order[said]

    def told(self, group: HitGroup, says: LineMeaning) -> HitGroup | None:
        """The lines of the same file that say this about the group's rule, for one that compares names."""
        return self._told.get(_said(group, says))

    def together(self, group: HitGroup) -> list[HitGroup]:
        """Groups of `as_severe_as` in the same file that tell of the same events; none if a line stands alone."""
        others = [each for rule in group.slot.rule.as_severe_as for each in self._by_rule.get(rule, ())]
        told = [each for each in others if each.file.path == group.file.path]
        stamps = [each.stamps for each in told]
        return told if told and all_near(group.stamps, in_order(np.concatenate(stamps))) else []

    def passed_and_stayed(self, rules: tuple[str, ...]) -> tuple[Micros, Micros]:
        """Times of failures of these rules: of those that were tried again and soon worked, and of all others."""
        if rules not in self._passed:
            passed, stayed = [_NO_TIMES], [_NO_TIMES]
            for group in (each for rule in rules for each in self._by_rule.get(rule, ())):
                judged = judge(group, self)
                (passed if judged.note is WORKED else stayed).append(group.times)
            self._passed[rules] = in_order(np.concatenate(passed)), in_order(np.concatenate(stayed))
        return self._passed[rules]


def _compares_names(rule: Rule) -> bool:
    return rule.planned_for is not None or rule.cleared_for is not None


def _announces_stop(slot: Slot) -> bool:
    return slot.rule.signal == STOP_SIGNAL and slot.rule.severity is Severity.INFO


def _said(group: HitGroup, says: LineMeaning) -> tuple[str, LineMeaning, str]:
    return group.slot.rule.id, says, group.file.path


def judge(group: HitGroup, context: FaultContext) -> FaultJudgement:
    """How bad the fault is, given when its lines came."""
    rule = group.slot.rule
    if rule.planned_by and _is_planned(group, context):
        return FaultJudgement(severity=Severity.INFO, note=PLANNED, state=FaultState.PLANNED)
    if rule.startup_seconds and _is_startup(group, context):
        note = STARTUP.format(seconds=rule.startup_seconds)
        return FaultJudgement(severity=Severity.INFO, note=note, state=FaultState.STARTUP)
    if rule.brief_seconds and _was_brief(group, context):
        note = BRIEF.format(seconds=rule.brief_seconds)
        return FaultJudgement(severity=Severity.LOW, note=note, state=FaultState.OVER)
    if rule.repeated is not None and _is_seldom(group, rule.repeated, context):
        return FaultJudgement(severity=rule.repeated.otherwise, note=seldom_note(rule.repeated))
    if rule.passes_with and _passed_with(group, context):
        return FaultJudgement(severity=Severity.LOW, note=WORKED, state=FaultState.RECOVERED)
    if rule.as_severe_as and (told := context.together(group)):
        return FaultJudgement(severity=min((each.slot.rule.severity for each in told), key=lambda one: one.rank))
    if rule.cleared_for is not None:
        return _judge_retries(group, rule.cleared_for, context)
    if not rule.cleared_by:
        return FaultJudgement(severity=rule.severity)
    found = [_episode(span) for span in spans(group.times, context.times(group, LineMeaning.CLEARED))]
    is_over = bool(found) and found[-1].cleared_at is not None and bool((group.times != UNKNOWN).all())
    is_brief = is_over and rule.brief_seconds > 0 and _were_brief(found, rule.brief_seconds, context)
    return FaultJudgement(
        severity=Severity.LOW if is_brief else rule.severity,
        note=BRIEF.format(seconds=rule.brief_seconds) if is_brief else None,
        state=FaultState.RECOVERED if is_over else FaultState.OPEN,
        episodes=tuple(found),
    )


def _is_startup(group: HitGroup, context: FaultContext) -> bool:
    rule, cleared = group.slot.rule, context.times(group, LineMeaning.CLEARED)
    if rule.told_once and not (len(cleared) and int(cleared[-1]) >= int(group.times.max())):
        return False
    return is_startup(group.times, context.starts, rule.startup_seconds, collected=context.collected)


def _were_brief(found: Sequence[Episode], seconds: int, context: FaultContext) -> bool:
    """Whether a few short outages were each ended by a line, the last one long before the collection."""
    ends = [each.cleared_at for each in found if each.cleared_at is not None]
    is_long_ago = context.collected != UNKNOWN and context.collected - micros_of(ends[-1]) >= PASSED * SECOND
    return (
        is_long_ago
        and len(found) == len(ends) <= MOST_OUTAGES
        and all((end - each.start).total_seconds() <= seconds for each, end in zip(found, ends, strict=True))
    )


def _judge_retries(group: HitGroup, kind: str, context: FaultContext) -> FaultJudgement:
    rule, works = group.slot.rule, context.told(group, LineMeaning.CLEARED)
    if works is None or max(len(group.rows), len(works.rows)) > MOST_COMPARED:
        return FaultJudgement(severity=rule.severity)
    retries = retried(named_in(group, kind), named_in(works, kind))
    if retries is None:
        return FaultJudgement(severity=rule.severity)
    if not retries.were_soon_over:
        return FaultJudgement(severity=rule.severity, state=FaultState.RECOVERED)
    return FaultJudgement(severity=Severity.LOW, note=WORKED, state=FaultState.RECOVERED)


def _passed_with(group: HitGroup, context: FaultContext) -> bool:
    passed, stayed = context.passed_and_stayed(group.slot.rule.passes_with)
    return all_near(group.times, passed) and not any_near(group.times, stayed)


def _was_brief(group: HitGroup, context: FaultContext) -> bool:
    rule = group.slot.rule
    is_retried = len(group.rows) <= MOST_COMPARED and all(
        rule.trying_on.match(line_at(group, place)) for place in range(len(group.rows))
    )
    if is_retried:
        return was_brief(group.times, rule.brief_seconds, logged_until=context.collected, at_least=TRIED_AGAIN)
    return was_brief(group.times, rule.brief_seconds, logged_until=_logged_until(group, context))


def _is_planned(group: HitGroup, context: FaultContext) -> bool:
    announced = context.times(group, LineMeaning.PLANNED)
    kind = group.slot.rule.planned_for
    if kind is None or not len(announced):
        return bool(soon_after(group.times, announced, PLANNED_SECONDS).all())
    plans = context.told(group, LineMeaning.PLANNED)
    if plans is None or max(len(group.rows), len(plans.rows)) > MOST_COMPARED:
        return False
    return each_was_announced(named_in(group, kind), named_in(plans, kind), PLANNED_FOR_SECONDS)


def seldom_note(repetition: Repetition) -> str:
    return SELDOM.format(times=repetition.times, seconds=repetition.within_seconds)


def _is_seldom(group: HitGroup, repetition: Repetition, context: FaultContext) -> bool:
    """Whether it never came often enough and, where the rule asks for that, the log shows that no more came."""
    if most_within(group.times, repetition.within_seconds) >= repetition.times:
        return False
    if repetition.once_passed and not has_passed(group.times, logged_until=_logged_until(group, context)):
        return False
    return repetition.only is None or all(
        repetition.passing.match(line_at(group, place)) for place in range(min(len(group.rows), repetition.times))
    )


def _logged_until(group: HitGroup, context: FaultContext) -> int:
    component = component_of(unwrapped(text_of(line_at(group, 0)).encode()), group.file.role)
    return logged_until(group.file.location, group.file.role, component, context.clock)


def state_of(group: HitGroup, context: FaultContext) -> FaultState:
    """Of a fault that no line clears: by when it came last."""
    known = in_order(group.times)
    if not len(known) or context.collected == UNKNOWN:
        return FaultState.UNKNOWN
    if context.stops.size and soon_after(known, context.stops, STOPPING_SECONDS).all():
        return FaultState.PLANNED
    if group.slot.rule.lasts:
        is_of_this_boot = context.booted == UNKNOWN or int(known[-1]) >= context.booted
        return FaultState.OPEN if is_of_this_boot else FaultState.OVER
    is_current = goes_on(known, context.collected)
    if is_current is None:
        return FaultState.UNKNOWN
    return FaultState.OPEN if is_current else FaultState.OVER


def standing_for_all(group: HitGroup, context: FaultContext, judged: FaultJudgement) -> int:
    """Which line to quote: the first of an outbreak that is as bad by itself, not one of a start long before it."""
    rule = group.slot.rule
    can_be_harmless = rule.planned_by or rule.startup_seconds or rule.repeated is not None
    if not can_be_harmless or judged.severity is not rule.severity or (group.times == UNKNOWN).any():
        return 0
    within = rule.repeated.within_seconds if rule.repeated is not None else 0
    for positions in outbreaks(group.times, max(SAME_OUTBREAK_SECONDS, rule.startup_seconds or 0, within)):
        outbreak = replace(group, rows=group.rows[positions], times=group.times[positions])
        if judge(outbreak, context).severity is rule.severity:
            return int(positions.min())
    return 0


def _episode(span: FaultSpan) -> Episode:
    start, end = time_of(span.start), time_of(span.end)
    if start is None or end is None:
        raise InvariantBroken("a span has known times")
    return Episode(start=start, end=end, count=span.count, cleared_at=time_of(span.cleared))
