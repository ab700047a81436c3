"""Groups findings by the condition they show: one fault, however many files and rules show it."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from affidavit.evidence.finding import FaultState, Finding
from affidavit.evidence.severity import Severity
from affidavit.verdict.causal_graph import CausalGraph
from affidavit.verdict.node_condition import CauseRole, Condition

WORTH_EXPLAINING = Severity.MEDIUM
_ENDED = (FaultState.RECOVERED, FaultState.OVER)
_HARMLESS = (FaultState.PLANNED, FaultState.STARTUP)
# The kubelet keeps the logs of a container's last two starts, numbered from 0.
_RESTARTED = re.compile(r"^var_log/.+/(?:[2-9]|\d{2,})\.log$", re.ASCII)


@dataclass(frozen=True, kw_only=True)
class SeenCondition:
    """A condition and the findings that show it. The first represents it."""

    condition: Condition
    findings: tuple[Finding, ...]

    @property
    def id(self) -> str:
        return self.condition.id

    @property
    def lead(self) -> Finding:
        return self.findings[0]

    @cached_property
    def worth_explaining(self) -> tuple[Finding, ...]:
        return tuple(finding for finding in self.findings if finding.severity.is_at_least(WORTH_EXPLAINING))

    @cached_property
    def is_harmless(self) -> bool:
        """Planned, or part of a start: neither a cause nor something to explain."""
        return all(finding.state in _HARMLESS for finding in self.worth_explaining or self.findings)

    @cached_property
    def is_open(self) -> bool:
        told = self.worth_explaining or self.findings
        return any(finding.state not in (*_ENDED, *_HARMLESS) for finding in told)

    @cached_property
    def holds_on(self) -> bool:
        """Open, or silent by now but of a kind that stays until somebody acts: a broken device says so once."""
        told = self.worth_explaining or self.findings
        return self.is_open or (self.condition.lasts and any(finding.state is FaultState.OVER for finding in told))

    @cached_property
    def fell_silent(self) -> bool:
        """Over because nothing more was logged of it, not because a line said so."""
        told = self.worth_explaining or self.findings
        return any(finding.state is FaultState.OVER for finding in told)

    @cached_property
    def current(self) -> tuple[Finding, ...]:
        """Findings that are open now, or all when none is. Notes, such as a start, do not say when a fault began."""
        told = self.worth_explaining or self.findings
        return tuple(finding for finding in told if finding.state not in (*_ENDED, *_HARMLESS)) or told

    @cached_property
    def began(self) -> datetime | None:
        """None when no line has a time: it held at the collection, but its start is unknown."""
        starts = [start for finding in self.current if (start := finding.since or finding.first_seen) is not None]
        return min(starts, default=None)

    @cached_property
    def may_be_older(self) -> bool:
        """Whether it can have begun before its first dated line: a measurement without a time shows it too, or it is
        told by the log of a container whose earlier logs are gone."""
        return any(
            (finding.detail is not None and finding.first_seen is None)
            or _RESTARTED.search(finding.evidence.source_file)
            for finding in self.current
        )

    @cached_property
    def lines(self) -> Mapping[str, frozenset[int]]:
        """All lines that the index lists for its findings, by file."""
        told: dict[str, frozenset[int]] = {}
        for finding in self.findings:
            for file, lines in lines_by_file(finding).items():
                told[file] = told.get(file, frozenset()) | lines
        return told

    @cached_property
    def outbreaks(self) -> tuple[tuple[datetime, datetime], ...]:
        """When each stretch of it began and was last seen. A fault that a line ended did not reach into the next."""
        return tuple(sorted(stretch for finding in self.current for stretch in _outbreaks(finding)))

    def outbreak_before(self, moment: datetime) -> tuple[datetime, datetime] | None:
        """The last outbreak that began at `moment` or before."""
        earlier = [stretch for stretch in self.outbreaks if stretch[0] <= moment]
        return earlier[-1] if earlier else None

    @cached_property
    def ended(self) -> datetime | None:
        return max((finding.last_seen for finding in self.current if finding.last_seen is not None), default=None)

    @cached_property
    def components(self) -> frozenset[str]:
        return frozenset(finding.component for finding in self.findings)

    def names(self, kind: str) -> frozenset[str]:
        return frozenset(entity.name for finding in self.findings for entity in finding.entities if entity.kind == kind)


def see(findings: Sequence[Finding], graph: CausalGraph, lines: Mapping[str, str]) -> dict[str, SeenCondition]:
    """Conditions by id. A finding that no condition claims becomes a condition of its own.

    `lines` are the lines, by finding, of which the excerpt is only the beginning.
    """
    rules = {(finding.rule, finding.component) for finding in findings}
    shown: dict[str, list[tuple[int, Finding]]] = {}
    conditions: dict[str, Condition] = {}
    for finding in findings:
        line = lines.get(finding.finding_id, finding.evidence.excerpt)
        for condition, place in graph.shown_by(finding, line, rules) or _own(finding):
            conditions[condition.id] = condition
            shown.setdefault(condition.id, []).append((place, finding))
    return {name: _folded(conditions[name], signs) for name, signs in shown.items()}


def _folded(condition: Condition, signs: Iterable[tuple[int, Finding]]) -> SeenCondition:
    """Orders findings: open before ended, then by sign, then by time. What was only measured at the collection goes
    behind lines of an earlier sign, also behind such as ended: it confirms them."""
    told = [*signs]
    first = min((place for place, finding in told if finding.first_seen is not None), default=0)

    def order(sign: tuple[int, Finding]) -> tuple[object, ...]:
        place, finding = sign
        confirms = finding.first_seen is None and place > first
        return confirms or finding.state in (*_ENDED, *_HARMLESS), place, *_time(finding)

    return SeenCondition(condition=condition, findings=tuple(finding for _, finding in sorted(told, key=order)))


def _outbreaks(finding: Finding) -> Iterator[tuple[datetime, datetime]]:
    """Of the first, only its start is known when the index lists the last ones alone."""
    if finding.first_seen is None or finding.last_seen is None:
        return
    listed = [(episode.start, episode.end) for episode in finding.episodes or () if episode.cleared_at is None]
    if not finding.episodes or finding.episodes_total is not None:
        yield finding.first_seen, finding.first_seen if listed else finding.last_seen
    yield from listed


def _time(finding: Finding) -> tuple[bool, float, str]:
    """By its first line: that one shows where the fault began, also when it came again."""
    began = min((start for start, _ in _outbreaks(finding)), default=None)
    return began is None, began.timestamp() if began is not None else 0.0, finding.finding_id


def _own(finding: Finding) -> list[tuple[Condition, int]]:
    """A condition for a rule that the graph does not know, such as a user's own. It never causes anything else."""
    if not finding.severity.is_at_least(WORTH_EXPLAINING):
        return []
    return [(_unknown(finding), 0)]


def _unknown(finding: Finding) -> Condition:
    slug = finding.rule.replace(".", "-")
    return Condition.model_validate(
        {
            "id": f"own-{slug}",
            "name": finding.pattern if len(finding.pattern) >= 6 else f"Fault: {finding.pattern}",
            "fault_type": "unknown",
            "role": CauseRole.STATE,
            "shown_by": [finding.rule],
        }
    )


def lines_by_file(finding: Finding) -> Mapping[str, frozenset[int]]:
    """The lines that the index lists for a finding."""
    lines = {occurrence.line for occurrence in finding.additional_occurrences}
    if finding.evidence.line_range is not None:
        lines.add(finding.evidence.line_range.start)
    return {finding.evidence.source_file: frozenset(lines)}
