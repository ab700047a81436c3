"""Turns hits into findings: folds them by (rule, file), orders, numbers, and confirms criticals."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from affidavit.bundle.byte_spans import Spans
from affidavit.bundle.layout import FileRole, component_of
from affidavit.bundle.wrapped_lines import unwrapped
from affidavit.errors import InvariantBroken
from affidavit.evidence.finding import (
    LISTED,
    ByteRange,
    Confirmation,
    Episode,
    Evidence,
    FaultState,
    Finding,
    LineRange,
    Occurrence,
    Suppressed,
    excerpt_of,
)
from affidavit.evidence.severity import Severity
from affidavit.evidence.utf16 import text_of
from affidavit.index.episodes import (
    MOST_OUTAGES,
    PASSED,
    FaultSpan,
    Named,
    each_was_announced,
    goes_on,
    has_passed,
    in_order,
    is_startup,
    last_outbreak,
    merged,
    most_within,
    outbreaks,
    soon_after,
    spans,
    was_brief,
)
from affidavit.index.retries import all_near, any_near, retried
from affidavit.index.scanning.hits import FileHits
from affidavit.index.scanning.rule_slots import LineMeaning, Slot
from affidavit.index.times.clock import UNKNOWN, BundleClock, Micros, micros_of, time_of, times_of
from affidavit.index.times.log_end import logged_until
from affidavit.index.times.timestamps import SECOND
from affidavit.rules.entities import SEARCHED
from affidavit.rules.rule import Repetition, Rule

_NO_TIMES: Micros = np.array([], dtype=np.int64)

# Of a fault that came and went often, the last spans are told.
EPISODES = 20
# Lines of one fault have no longer pause than this between them, unless its rule counts in longer ones.
SAME_OUTBREAK_SECONDS = 300
# A fault that paused for so long came anew.
NEW_OUTBREAK_SECONDS = 3600
# How long after the node was told to stop what ends or fails belongs to the stop.
STOPPING_SECONDS = 600
# Lines of a finding that are read for the names in them: the first and the last ones.
NAMED_LINES = 4
# The record around a line may be several times as long as the line.
_WRAPPED_SEARCHED = 4 * SEARCHED
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
SINGLE_SOURCE = (
    "Only one source shows this ({component}); check another before acting on it: the report of a second component "
    "would confirm it."
)


@dataclass(frozen=True, kw_only=True)
class ScannedText:
    """A scanned file as findings see it."""

    path: str
    full_key: str
    location: Path
    hits: FileHits
    role: FileRole


@dataclass(frozen=True, kw_only=True)
class _Group:
    """All hits of one slot in one file."""

    slot: Slot
    file: ScannedText
    reader: Spans
    rows: NDArray[np.int64]
    times: Micros

    @property
    def first_seen(self) -> datetime | None:
        known = self.times[self.times != UNKNOWN]
        return time_of(int(known.min())) if len(known) else None

    @property
    def last_seen(self) -> datetime | None:
        known = self.times[self.times != UNKNOWN]
        return time_of(int(known.max())) if len(known) else None


@dataclass(frozen=True, kw_only=True)
class Built:
    findings: tuple[Finding, ...]
    suppressed: tuple[Suppressed, ...]
    untimed: Mapping[str, int]


def build_findings(
    files: Sequence[ScannedText], slots: Sequence[Slot], clock: BundleClock, measured: Iterable[Finding] = ()
) -> Built:
    """`measured` findings of checks are ordered, numbered and confirmed with those of rules.

    `untimed` counts hits whose time could not be read, by file.
    """
    with closing(Spans()) as reader:
        groups = [group for file in files for group in _groups(file, slots, clock, reader)]
        return _built(groups, clock, measured)


def _built(groups: Sequence["_Group"], clock: BundleClock, measured: Iterable[Finding]) -> Built:
    context = _Context(groups, clock)
    faults = [group for group in groups if group.slot.says is LineMeaning.FAULT]
    untimed: Counter[str] = Counter()
    for group in faults:
        untimed[group.file.path] += int(np.count_nonzero(group.times == UNKNOWN))
    return Built(
        findings=_numbered(_confirmed([*(_finding(group, context) for group in faults), *measured])),
        suppressed=tuple(sorted(_suppressions(groups), key=_suppressed_order)),
        untimed={path: count for path, count in untimed.items() if count},
    )


class _Context:
    """Times of lines that clear or announce a fault, and times of starts, for judging each group."""

    def __init__(self, groups: Sequence[_Group], clock: BundleClock) -> None:
        self._times = {_said(group, group.slot.says): group.times for group in groups}
        self._in_order: dict[tuple[str, LineMeaning, str], Micros] = {}
        self._told = {_said(group, group.slot.says): group for group in groups if _compares_names(group.slot.rule)}
        self._by_rule: dict[str, list[_Group]] = {}
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

    def times(self, group: _Group, says: LineMeaning) -> Micros:
        """Of lines in the same file that say this about the group's rule, in order."""
        said = _said(group, says)
        if said not in self._in_order:
            self._in_order[said] = in_order(self._times.get(said, _NO_TIMES))
        return self._in_order[said]

    def told(self, group: _Group, says: LineMeaning) -> _Group | None:
        """The lines of the same file that say this about the group's rule, for one that compares names."""
        return self._told.get(_said(group, says))

    def passed_and_stayed(self, rules: tuple[str, ...]) -> tuple[Micros, Micros]:
        """Times of failures of these rules: of those that were tried again and soon worked, and of all others."""
        if rules not in self._passed:
            passed, stayed = [_NO_TIMES], [_NO_TIMES]
            for group in (each for rule in rules for each in self._by_rule.get(rule, ())):
                judged = _judge(group, self)
                (passed if judged.note is WORKED else stayed).append(group.times)
            self._passed[rules] = in_order(np.concatenate(passed)), in_order(np.concatenate(stayed))
        return self._passed[rules]


def _compares_names(rule: Rule) -> bool:
    return rule.planned_for is not None or rule.cleared_for is not None


def _announces_stop(slot: Slot) -> bool:
    return slot.rule.signal == STOP_SIGNAL and slot.rule.severity is Severity.INFO


def _said(group: _Group, says: LineMeaning) -> tuple[str, LineMeaning, str]:
    return group.slot.rule.id, says, group.file.path


def _groups(file: ScannedText, slots: Sequence[Slot], clock: BundleClock, reader: Spans) -> Iterator[_Group]:
    hits = file.hits
    if not len(hits):
        return
    times = clock.resolve(hits.clock, hits.stamp)
    order = np.argsort(hits.slot, kind="stable")
    boundaries = np.flatnonzero(np.diff(hits.slot[order])) + 1
    for rows in np.split(order, boundaries):
        yield _Group(slot=slots[int(hits.slot[rows[0]])], file=file, reader=reader, rows=rows, times=times[rows])


def _finding(group: _Group, context: _Context) -> Finding:
    rule = group.slot.rule
    judged = _judge(group, context)
    quoted = _standing_for_all(group, context, judged)
    line = _line_at(group, quoted)
    listed = min(len(group.rows), LISTED + 1)
    is_cut = listed < len(group.rows)
    return Finding(
        finding_id="",
        rule=rule.id,
        severity=judged.severity,
        pattern=rule.name,
        description=rule.means,
        component=component_of(unwrapped(text_of(line).encode()), group.file.role),
        signal=rule.signal,
        count=len(group.rows),
        first_seen=group.first_seen,
        last_seen=group.last_seen,
        evidence=_evidence(group, quoted, line),
        additional_occurrences=tuple(_occurrences(group, quoted, listed)),
        occurrences_listed=listed if is_cut else None,
        occurrences_total=len(group.rows) if is_cut else None,
        severity_note=judged.note,
        state=judged.state or _state(group, context),
        episodes=judged.episodes[-EPISODES:] if judged.episodes is not None else None,
        episodes_total=len(judged.episodes) if judged.episodes and len(judged.episodes) > EPISODES else None,
        since=_since(group),
        entities=rule.names_in.names(_sample_lines(group, quoted, line)),
    )


@dataclass(frozen=True, kw_only=True)
class _Judged:
    severity: Severity
    note: str | None = None
    state: FaultState | None = None
    episodes: tuple[Episode, ...] | None = None


def _judge(group: _Group, context: _Context) -> _Judged:
    """How bad the fault is, given when its lines came."""
    rule = group.slot.rule
    if rule.planned_by and _is_planned(group, context):
        return _Judged(severity=Severity.INFO, note=PLANNED, state=FaultState.PLANNED)
    if rule.startup_seconds and is_startup(
        group.times, context.starts, rule.startup_seconds, collected=context.collected
    ):
        note = STARTUP.format(seconds=rule.startup_seconds)
        return _Judged(severity=Severity.INFO, note=note, state=FaultState.STARTUP)
    if rule.brief_seconds and _was_brief(group, context):
        note = BRIEF.format(seconds=rule.brief_seconds)
        return _Judged(severity=Severity.LOW, note=note, state=FaultState.OVER)
    if rule.repeated is not None and _is_seldom(group, rule.repeated, context):
        note = SELDOM.format(times=rule.repeated.times, seconds=rule.repeated.within_seconds)
        return _Judged(severity=rule.repeated.otherwise, note=note)
    if rule.passes_with and _passed_with(group, context):
        return _Judged(severity=Severity.LOW, note=WORKED, state=FaultState.RECOVERED)
    if rule.cleared_for is not None:
        return _judge_retries(group, rule.cleared_for, context)
    if not rule.cleared_by:
        return _Judged(severity=rule.severity)
    found = [_episode(span) for span in spans(group.times, context.times(group, LineMeaning.CLEARED))]
    is_over = bool(found) and found[-1].cleared_at is not None and bool((group.times != UNKNOWN).all())
    is_brief = is_over and rule.brief_seconds > 0 and _were_brief(found, rule.brief_seconds, context)
    return _Judged(
        severity=Severity.LOW if is_brief else rule.severity,
        note=BRIEF.format(seconds=rule.brief_seconds) if is_brief else None,
        state=FaultState.RECOVERED if is_over else FaultState.OPEN,
        episodes=tuple(found),
    )


def _were_brief(found: Sequence[Episode], seconds: int, context: "_Context") -> bool:
    """Whether a few short outages were each ended by a line, the last one long before the collection."""
    ends = [each.cleared_at for each in found if each.cleared_at is not None]
    is_long_ago = context.collected != UNKNOWN and context.collected - micros_of(ends[-1]) >= PASSED * SECOND
    return (
        is_long_ago
        and len(found) == len(ends) <= MOST_OUTAGES
        and all((end - each.start).total_seconds() <= seconds for each, end in zip(found, ends, strict=True))
    )


def _judge_retries(group: _Group, kind: str, context: "_Context") -> "_Judged":
    rule, works = group.slot.rule, context.told(group, LineMeaning.CLEARED)
    if works is None or max(len(group.rows), len(works.rows)) > MOST_COMPARED:
        return _Judged(severity=rule.severity)
    retries = retried(_named_in(group, kind), _named_in(works, kind))
    if retries is None:
        return _Judged(severity=rule.severity)
    if not retries.were_soon_over:
        return _Judged(severity=rule.severity, state=FaultState.RECOVERED)
    return _Judged(severity=Severity.LOW, note=WORKED, state=FaultState.RECOVERED)


def _passed_with(group: _Group, context: "_Context") -> bool:
    passed, stayed = context.passed_and_stayed(group.slot.rule.passes_with)
    return all_near(group.times, passed) and not any_near(group.times, stayed)


def _was_brief(group: _Group, context: _Context) -> bool:
    rule = group.slot.rule
    is_retried = len(group.rows) <= MOST_COMPARED and all(
        rule.trying_on.match(_line_at(group, place)) for place in range(len(group.rows))
    )
    if is_retried:
        return was_brief(group.times, rule.brief_seconds, logged_until=context.collected, at_least=TRIED_AGAIN)
    return was_brief(group.times, rule.brief_seconds, logged_until=_logged_until(group, context))


def _is_planned(group: _Group, context: _Context) -> bool:
    announced = context.times(group, LineMeaning.PLANNED)
    kind = group.slot.rule.planned_for
    if kind is None or not len(announced):
        return bool(soon_after(group.times, announced, PLANNED_SECONDS).all())
    plans = context.told(group, LineMeaning.PLANNED)
    if plans is None or max(len(group.rows), len(plans.rows)) > MOST_COMPARED:
        return False
    return each_was_announced(_named_in(group, kind), _named_in(plans, kind), PLANNED_FOR_SECONDS)


def _named_in(group: _Group, kind: str) -> list[Named]:
    """When each line came, and what it names of this kind."""
    names = group.slot.rule.names_in
    return [
        (
            int(group.times[place]),
            frozenset(name.name for name in names.names([_said_in(_line_at(group, place))]) if name.kind == kind),
        )
        for place in range(len(group.rows))
    ]


def _is_seldom(group: _Group, repetition: Repetition, context: _Context) -> bool:
    """Whether it never came often enough and, where the rule asks for that, the log shows that no more came."""
    if most_within(group.times, repetition.within_seconds) >= repetition.times:
        return False
    if repetition.once_passed and not has_passed(group.times, logged_until=_logged_until(group, context)):
        return False
    return repetition.only is None or all(
        repetition.passing.match(_line_at(group, place)) for place in range(min(len(group.rows), repetition.times))
    )


def _logged_until(group: _Group, context: _Context) -> int:
    component = component_of(unwrapped(text_of(_line_at(group, 0)).encode()), group.file.role)
    return logged_until(group.file.location, group.file.role, component, context.clock)


def _state(group: _Group, context: _Context) -> FaultState:
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


def _since(group: _Group) -> datetime | None:
    """When its last outbreak began, where that is not when it was first seen."""
    known = in_order(group.times)
    if len(known) < 2:
        return None
    start = last_outbreak(known, NEW_OUTBREAK_SECONDS)
    return time_of(start) if start != int(known[0]) else None


def _sample_lines(group: _Group, quoted: int, line: bytes) -> Iterator[str]:
    """The quoted line, and some of the first and last ones: enough to tell which pod, device or unit it is."""
    yield _said_in(line)
    count = len(group.rows)
    places = sorted({*range(min(NAMED_LINES, count)), *range(max(0, count - NAMED_LINES), count)} - {quoted})
    for place in places:
        start, end = group.file.hits.span(int(group.rows[place]))
        yield _said_in(group.reader.read(group.file.location, start, min(end, start + _WRAPPED_SEARCHED)))


def _said_in(line: bytes) -> str:
    return unwrapped(text_of(line[:_WRAPPED_SEARCHED]).encode()).decode("utf-8", "replace")[:SEARCHED]


def _standing_for_all(group: _Group, context: _Context, judged: _Judged) -> int:
    """Which line to quote: the first of an outbreak that is as bad by itself, not one of a start long before it."""
    rule = group.slot.rule
    can_be_harmless = rule.planned_by or rule.startup_seconds or rule.repeated is not None
    if not can_be_harmless or judged.severity is not rule.severity or (group.times == UNKNOWN).any():
        return 0
    within = rule.repeated.within_seconds if rule.repeated is not None else 0
    for positions in outbreaks(group.times, max(SAME_OUTBREAK_SECONDS, rule.startup_seconds or 0, within)):
        outbreak = replace(group, rows=group.rows[positions], times=group.times[positions])
        if _judge(outbreak, context).severity is rule.severity:
            return int(positions.min())
    return 0


def _episode(span: FaultSpan) -> Episode:
    start, end = time_of(span.start), time_of(span.end)
    if start is None or end is None:
        raise InvariantBroken("a span has known times")
    return Episode(start=start, end=end, count=span.count, cleared_at=time_of(span.cleared))


def _suppressions(groups: Iterable[_Group]) -> Iterator[Suppressed]:
    for group in groups:
        if group.slot.suppression is not None:
            yield _suppressed(group, group.slot.suppression.id, group.slot.suppression.reason)


def _suppressed_order(entry: Suppressed) -> tuple[str, str, str]:
    return entry.suppression, entry.rule, entry.evidence.source_file


def _suppressed(group: _Group, suppression: str, reason: str) -> Suppressed:
    return Suppressed(
        suppression=suppression,
        rule=group.slot.rule.id,
        pattern=group.slot.rule.name,
        reason=reason,
        count=len(group.rows),
        first_seen=group.first_seen,
        last_seen=group.last_seen,
        evidence=_evidence(group, 0, _line_at(group, 0)),
    )


def _evidence(group: _Group, position: int, line: bytes) -> Evidence:
    hits, row = group.file.hits, int(group.rows[position])
    number, (start, end) = int(hits.line[row]), hits.span(row)
    return Evidence(
        source_file=group.file.path,
        full_key=group.file.full_key,
        excerpt=excerpt_of(line),
        line_range=LineRange(start=number, end=number),
        byte_offset=ByteRange(start=start, end=end),
        timestamp=time_of(int(group.times[position])),
        sha256=hashlib.sha256(line).hexdigest(),
    )


def _occurrences(group: _Group, quoted: int, listed: int) -> Iterator[Occurrence]:
    """All but the quoted one, as many as are listed."""
    positions = np.flatnonzero(np.arange(listed) != quoted)[: listed - 1]
    hits, rows = group.file.hits, group.rows[positions]
    columns = (
        hits.line[rows].tolist(),
        hits.start[rows].tolist(),
        (hits.start[rows] + hits.length[rows]).tolist(),
        times_of(group.times[positions]),
    )
    for line, start, end, time in zip(*columns, strict=True):
        yield Occurrence(line=line, byte_offset=ByteRange(start=start, end=end), timestamp=time)


def _line_at(group: _Group, position: int) -> bytes:
    start, end = group.file.hits.span(int(group.rows[position]))
    return group.reader.read(group.file.location, start, end)


def _confirmed(findings: list[Finding]) -> list[Finding]:
    """Components, not files, are counted: a copy of a log is no second witness."""
    sources: dict[str, set[str]] = {}
    for finding in findings:
        sources.setdefault(finding.signal, set()).add(finding.component)
    return [_with_confirmation(finding, sources[finding.signal]) for finding in findings]


def _with_confirmation(finding: Finding, sources: set[str]) -> Finding:
    if finding.severity is not Severity.CRITICAL:
        return finding
    is_confirmed = len(sources) >= 2
    return replace(
        finding,
        confirmation=Confirmation(signals=len(sources), confirmed=is_confirmed, sources=tuple(sorted(sources))),
        severity_note=finding.severity_note if is_confirmed else SINGLE_SOURCE.format(component=finding.component),
    )


def _numbered(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    ordered = sorted(findings, key=_order)
    return tuple(replace(finding, finding_id=f"F-{number:03d}") for number, finding in enumerate(ordered, 1))


def _order(finding: Finding) -> tuple[int, bool, float, str, int, str]:
    """Severity, first time (unknown last), file, line; the rule decides between rules on one line."""
    lines = finding.evidence.line_range
    seen = finding.first_seen
    return (
        finding.severity.rank,
        seen is None,
        seen.timestamp() if seen is not None else 0.0,
        finding.evidence.source_file,
        lines.start if lines is not None else 0,
        finding.rule,
    )
