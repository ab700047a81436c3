"""Decides whether a cause can have come before an effect, given that clocks are never exact."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from affidavit.errors import InvariantBroken
from affidavit.evidence.finding import Finding
from affidavit.verdict.causal_graph import CausalPath
from affidavit.verdict.node_condition import CauseRole
from affidavit.verdict.seen_conditions import SeenCondition

# Two daemons log the same event within seconds of each other, in either order.
TOGETHER = timedelta(seconds=15)
# What a hanging node still logs comes so soon after the last line of what made it hang.
SILENT_AFTER = timedelta(minutes=10)
# What was logged so shortly before the collection went on.
STILL_LOGGED = timedelta(minutes=30)
# Times since boot follow the processor's clock, which nobody corrects: it drifts by minutes in a few days.
KERNEL_DRIFT = 0.002
_KERNEL_FILES = re.compile(r"(?:^|/)dmesg(?:\.|$)")
_STEP = re.compile(r"(?:wrong by|stepped by|offset|reset) ([+-]?\d+\.\d+)")
_LONGEST_STEP = timedelta(days=1)


@dataclass(frozen=True, kw_only=True)
class NodeClocks:
    """How far the clocks of a bundle's files may be off."""

    booted_at: datetime | None
    collected_at: datetime | None
    stepped: timedelta = timedelta(0)
    """The largest correction of the system clock that a line reports."""
    ahead: dict[str, timedelta] = field(default_factory=dict[str, timedelta])
    """By file: how far after the collection its last line claims to be."""
    twins: frozenset[str] = frozenset()
    """Rules whose kernel lines are also in a log with the system's time."""

    def uncertainty(self, finding: Finding) -> timedelta:
        path = finding.evidence.source_file
        drift = timedelta(0)
        if _KERNEL_FILES.search(path) and self.booted_at is not None and finding.first_seen is not None:
            drift = max(timedelta(0), (finding.first_seen - self.booted_at) * KERNEL_DRIFT)
        if finding.rule in self.twins:
            drift = min(drift, TOGETHER)
        return drift + self.ahead.get(path, timedelta(0))

    def between(self, left: SeenCondition, right: SeenCondition) -> timedelta:
        if {finding.evidence.source_file for finding in left.current} == {
            finding.evidence.source_file for finding in right.current
        }:
            return TOGETHER
        return TOGETHER + self.stepped + _widest(self, left) + _widest(self, right)


def _widest(clocks: NodeClocks, seen: SeenCondition) -> timedelta:
    """The uncertainty of the finding that says when it began."""
    first = [finding for finding in seen.current if (finding.since or finding.first_seen) == seen.began]
    return max((clocks.uncertainty(finding) for finding in first), default=timedelta(0))


def read_clocks(
    findings: Iterable[Finding], *, booted_at: datetime | None, collected_at: datetime | None
) -> NodeClocks:
    ahead: dict[str, timedelta] = {}
    steps = [timedelta(0)]
    kernel: set[str] = set()
    elsewhere: set[str] = set()
    for finding in findings:
        path = finding.evidence.source_file
        if collected_at is not None and finding.last_seen is not None and finding.last_seen > collected_at:
            ahead[path] = max(ahead.get(path, timedelta(0)), finding.last_seen - collected_at)
        if finding.signal == "time.clock" and (step := _STEP.search(finding.evidence.excerpt)) is not None:
            steps.append(min(_LONGEST_STEP, timedelta(seconds=abs(float(step[1])))))
        if finding.component == "kernel":
            (kernel if _KERNEL_FILES.search(path) else elsewhere).add(finding.rule)
    return NodeClocks(
        booted_at=booted_at,
        collected_at=collected_at,
        stepped=max(steps),
        ahead=ahead,
        twins=frozenset(kernel & elsewhere),
    )


def can_precede(cause: SeenCondition, effect: SeenCondition, path: CausalPath, clocks: NodeClocks) -> bool:
    """True when a time is missing: then only the mechanism decides. A measurement tells no beginning."""
    if cause.began is None or effect.began is None:
        return True
    slack = clocks.between(cause, effect)
    known_by = _moment_it_counts(effect)
    is_late = not cause.may_be_older and cause.began - cause.condition.seen_late - slack > known_by
    if is_late and not (clocks.stepped and _stands_before(cause, effect)):
        return _has_outbreak_before(cause, effect.began, path, slack)
    if _stays(cause) or cause.ended is None:
        return True
    return effect.began <= cause.ended + path.within + slack


def fell_silent_together(cause: SeenCondition, effect: SeenCondition, clocks: NodeClocks) -> bool:
    """Whether the effect counts as open only because no line ended it: it was last seen with its cause, long before the
    collection. A node that hangs stops to log."""
    if not cause.fell_silent or cause.ended is None or effect.ended is None or clocks.collected_at is None:
        return False
    return effect.ended <= min(cause.ended + SILENT_AFTER, clocks.collected_at - STILL_LOGGED)


def _moment_it_counts(effect: SeenCondition) -> datetime:
    """When it began; of what every node begins in, when it was last seen."""
    moment = effect.ended if effect.condition.from_start else effect.began
    if moment is None:
        raise InvariantBroken(f"{effect.id} has a beginning, so it has an end")
    return moment


def _has_outbreak_before(cause: SeenCondition, began: datetime, path: CausalPath, slack: timedelta) -> bool:
    """Whether an earlier outbreak of the cause came before the effect and was not long over by then."""
    found = cause.outbreak_before(began + slack)
    return found is not None and (_stays(cause) or began <= found[1] + path.within + slack)


def _stays(cause: SeenCondition) -> bool:
    """Whether it can have effects at any later time. A change has them soon or not at all."""
    return cause.condition.lasts and cause.condition.role is not CauseRole.STATE


def _stands_before(cause: SeenCondition, effect: SeenCondition) -> bool:
    """Whether the cause stands first in a log that both are in. Its times run backwards once a clock is set back."""
    effects = dict(_places(effect))
    return any(line < effects.get(path, 0) for path, line in _places(cause))


def _places(seen: SeenCondition) -> Iterator[tuple[str, int]]:
    for finding in seen.current:
        if (lines := finding.evidence.line_range) is not None:
            yield finding.evidence.source_file, lines.start


def clock_seconds(cause: SeenCondition, effect: SeenCondition, clocks: NodeClocks) -> float | None:
    if cause.began is None or effect.began is None:
        return None
    return round(clocks.between(cause, effect).total_seconds(), 1)
