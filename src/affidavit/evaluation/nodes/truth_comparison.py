"""Compares what a tool returned with the truth, problem by problem and finding by finding.

Strict on purpose. A problem is found when every one of its lines is; its severity is right when the worst finding on
those lines has it; a finding is true when all its listed lines belong to known problems.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from affidavit.evaluation.generator.bundle_truth import BundleTruth, Problem
from affidavit.evidence.finding import Finding
from affidavit.evidence.severity import Severity

ALARM = Severity.MEDIUM


@dataclass(frozen=True, kw_only=True)
class JudgedProblem:
    problem: Problem
    lines_found: int
    severity: Severity | None
    """The worst of the findings on its lines; None where there are none."""
    rules: tuple[str, ...]

    @property
    def is_found(self) -> bool:
        wanted = 1 if self.problem.any_line else len(self.problem.lines)
        return self.lines_found >= wanted

    @property
    def has_right_severity(self) -> bool:
        return self.severity is not None and self.severity.value == self.problem.severity

    @property
    def trouble(self) -> str:
        """What is wrong with how the problem was found; empty when nothing is."""
        problem = self.problem
        named = f"{problem.file}:{problem.lines[0]} {problem.text!r}"
        if not self.is_found:
            return f"missed: {named}: {self.lines_found} of {len(problem.lines)} lines found"
        if not self.has_right_severity:
            return f"severity: {named}: {self.severity} instead of {problem.severity} ({', '.join(self.rules)})"
        return ""


@dataclass(frozen=True, kw_only=True)
class JudgedFinding:
    finding: Finding
    stray_lines: tuple[int, ...]
    """Listed lines that belong to no problem."""
    broken: tuple[str, ...]
    """What does not re-read; empty when the evidence holds."""
    silent_lines: tuple[int, ...] = ()
    """Listed lines that nothing may name."""

    @property
    def is_true(self) -> bool:
        return not self.stray_lines

    @property
    def is_alarm(self) -> bool:
        return self.finding.severity.is_at_least(ALARM)

    @property
    def trouble(self) -> str:
        finding = self.finding
        named = f"{finding.rule} ({finding.severity.value}) in {finding.evidence.source_file}"
        if self.broken:
            return f"evidence: {named}: {'; '.join(self.broken)}"
        if self.silent_lines:
            return f"not silent: {named}:{self.silent_lines[0]}"
        if self.is_alarm and not self.is_true:
            return f"false alarm: {named}:{self.stray_lines[0]}, {len(self.stray_lines)} lines"
        return ""


@dataclass(frozen=True, kw_only=True)
class Judgement:
    problems: tuple[JudgedProblem, ...]
    findings: tuple[JudgedFinding, ...]

    @property
    def troubles(self) -> tuple[str, ...]:
        """Why the scenario fails; empty when it passes."""
        told = [entry.trouble for entry in (*self.problems, *self.findings)]
        return tuple(trouble for trouble in told if trouble)


def judge(truth: BundleTruth, findings: Sequence[Finding], broken: Mapping[str, Sequence[str]]) -> Judgement:
    """`broken` says by finding id what does not re-read; an id that is not there holds."""
    known: dict[str, set[int]] = {}
    for problem in truth.problems:
        known.setdefault(problem.file, set()).update(problem.lines, problem.context)
    by_file: dict[str, list[tuple[Finding, frozenset[int]]]] = {}
    for finding in findings:
        by_file.setdefault(finding.evidence.source_file, []).append((finding, lines_of(finding)))
    return Judgement(
        problems=tuple(_problem(problem, by_file.get(problem.file, ())) for problem in truth.problems),
        findings=tuple(
            _finding(
                finding,
                known.get(finding.evidence.source_file, ()),
                broken.get(finding.finding_id, ()),
                truth.silent,
            )
            for finding in findings
        ),
    )


def lines_of(finding: Finding) -> frozenset[int]:
    first = (finding.evidence.line_range.start,) if finding.evidence.line_range is not None else ()
    return frozenset((*first, *(other.line for other in finding.additional_occurrences)))


def _problem(problem: Problem, there: Sequence[tuple[Finding, frozenset[int]]]) -> JudgedProblem:
    wanted = frozenset(problem.lines)
    hitting = [(finding, lines & wanted) for finding, lines in there if lines & wanted]
    found = frozenset[int]().union(*(lines for _, lines in hitting))
    return JudgedProblem(
        problem=problem,
        lines_found=len(found),
        severity=min((finding.severity for finding, _ in hitting), key=lambda level: level.rank, default=None),
        rules=tuple(sorted({finding.rule for finding, _ in hitting})),
    )


def _finding(
    finding: Finding, known: Collection[int], broken: Sequence[str], silent: Collection[tuple[str, int]]
) -> JudgedFinding:
    lines, file = sorted(lines_of(finding)), finding.evidence.source_file
    return JudgedFinding(
        finding=finding,
        stray_lines=tuple(line for line in lines if line not in known),
        broken=tuple(broken),
        silent_lines=tuple(line for line in lines if (file, line) in silent),
    )
