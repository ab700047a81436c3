"""Each number where the answer is known, and over nothing at all."""

from datetime import UTC, datetime

import pytest
from tests.support.knowledge.findings import a_finding, an_evidence

from affidavit.evaluation.generator import BundleTruth, Problem
from affidavit.evaluation.nodes.metrics import Tally, metrics_of, percentile, tally_of, total
from affidavit.evaluation.nodes.truth_comparison import judge
from affidavit.evidence.finding import Finding, LineRange, Occurrence
from affidavit.evidence.severity import Severity

FILE = "kubelet/kubelet.log"


def a_problem(*lines: int, severity: str = "high", context: tuple[int, ...] = (), any_line: bool = False) -> Problem:
    now = datetime(2026, 1, 15, tzinfo=UTC)
    return Problem(
        fault="f",
        file=FILE,
        severity=severity,
        lines=lines,
        count=len(lines),
        first_time=now,
        last_time=now,
        text="KAPUT",
        context=context,
        any_line=any_line,
    )


def found(*lines: int, severity: Severity = Severity.HIGH, name: str = "F-001", file: str = FILE) -> Finding:
    return a_finding(
        finding_id=name,
        severity=severity,
        count=len(lines),
        evidence=an_evidence(source_file=file, line_range=LineRange(start=lines[0], end=lines[0])),
        additional_occurrences=tuple(Occurrence(line=line, byte_offset=None, timestamp=None) for line in lines[1:]),
    )


def metrics(problems: list[Problem], findings: list[Finding], broken: dict[str, list[str]] | None = None):
    judgement = judge(BundleTruth(problems=tuple(problems)), findings, broken or {})
    return metrics_of(tally_of(judgement, is_healthy=not problems))


def test_nothing_found_where_nothing_was_expected_is_perfect() -> None:
    numbers = metrics([], [])
    assert (numbers.finding_precision, numbers.finding_recall, numbers.f1) == (1.0, 1.0, 1.0)
    assert (numbers.hallucination_rate, numbers.citation_accuracy, numbers.severity_accuracy) == (0.0, 1.0, 1.0)
    assert numbers.coverage_completeness == 1.0
    assert (numbers.latency_p50_ms, numbers.latency_p95_ms, numbers.time_to_first_finding_ms) == (None, None, None)


def test_nothing_found_where_something_was_expected_has_no_recall() -> None:
    numbers = metrics([a_problem(3)], [])
    assert (numbers.finding_precision, numbers.finding_recall) == (1.0, 0.0)


def test_one_of_two_problems_found_with_one_false_alarm_is_half_of_both() -> None:
    numbers = metrics([a_problem(3), a_problem(9)], [found(3), found(20, name="F-002")])
    assert (numbers.finding_precision, numbers.finding_recall, numbers.f1) == (0.5, 0.5, 0.5)


def test_a_problem_counts_as_found_only_with_all_its_lines() -> None:
    assert metrics([a_problem(3, 4)], [found(3)]).finding_recall == 0.0
    assert metrics([a_problem(3, 4)], [found(3, 4)]).finding_recall == 1.0
    assert metrics([a_problem(3, 4, any_line=True)], [found(3)]).finding_recall == 1.0


def test_a_finding_on_lines_of_the_same_event_is_no_false_alarm_and_finds_nothing() -> None:
    numbers = metrics([a_problem(3, context=(4,))], [found(4)])
    assert (numbers.finding_precision, numbers.finding_recall) == (1.0, 0.0)


def test_a_finding_that_mixes_true_and_false_lines_is_a_false_alarm() -> None:
    assert metrics([a_problem(3)], [found(3, 77)]).finding_precision == 0.0


def test_the_same_line_in_another_file_is_a_false_alarm() -> None:
    numbers = metrics([a_problem(3)], [found(3, file="var_log/messages")])
    assert (numbers.finding_precision, numbers.finding_recall) == (0.0, 0.0)


def test_notes_below_medium_are_counted_apart() -> None:
    judgement = judge(BundleTruth(problems=()), [found(3, severity=Severity.LOW)], {})
    tally = tally_of(judgement, is_healthy=True)
    assert (tally.notes, tally.alarms, tally.healthy_alarms) == (1, 0, 0)


def test_an_alarm_on_a_healthy_node_is_counted() -> None:
    judgement = judge(BundleTruth(problems=()), [found(3, severity=Severity.MEDIUM)], {})
    assert tally_of(judgement, is_healthy=True).healthy_alarms == 1


def test_the_worst_finding_on_a_line_decides_its_severity() -> None:
    both = [found(3, severity=Severity.CRITICAL), found(3, severity=Severity.HIGH, name="F-002")]
    assert metrics([a_problem(3, severity="high")], both).severity_accuracy == 0.0
    assert metrics([a_problem(3, severity="critical")], both).severity_accuracy == 1.0


def test_evidence_that_does_not_re_read_is_a_hallucination_and_no_citation() -> None:
    numbers = metrics([a_problem(3), a_problem(4)], [found(3), found(4, name="F-002")], {"F-002": ["other bytes"]})
    assert (numbers.hallucination_rate, numbers.citation_accuracy) == (0.5, 0.5)


def test_a_silent_line_must_not_be_named_even_by_a_note() -> None:
    truth = BundleTruth(problems=(), silent=frozenset({(FILE, 3)}))
    assert judge(truth, [found(3, severity=Severity.INFO)], {}).troubles
    assert not judge(truth, [found(4, severity=Severity.INFO)], {}).troubles


def test_coverage_is_the_share_of_logs_that_were_read() -> None:
    assert metrics_of(Tally(logs=4, logs_scanned=3)).coverage_completeness == 0.75


def test_a_tool_that_does_not_promise_everything_has_no_recall() -> None:
    numbers = metrics_of(Tally(expected=4, found=1), is_complete=False)
    assert (numbers.finding_recall, numbers.f1, numbers.coverage_completeness) == (None, None, None)


@pytest.mark.parametrize(("percent", "expected"), [(50, 20.0), (95, 40.0), (100, 40.0), (1, 10.0)])
def test_a_percentile_is_a_value_that_was_measured(percent: float, expected: float) -> None:
    assert percentile([40.0, 10.0, 20.0, 30.0], percent) == expected


def test_times_are_those_that_were_measured_and_the_first_finding_has_its_own() -> None:
    slow = [float(value) for value in range(1, 101)]
    numbers = metrics_of(Tally(latencies_ms=tuple(slow), first_finding_ms=(7.0, 3.0, 5.0)))
    assert (numbers.latency_p50_ms, numbers.latency_p95_ms, numbers.time_to_first_finding_ms) == (50.0, 95.0, 5.0)


def test_f1_leans_to_the_lower_of_its_two() -> None:
    numbers = metrics_of(Tally(alarms=4, true_alarms=1, expected=2, found=2))
    assert (numbers.finding_precision, numbers.finding_recall, numbers.f1) == (0.25, 1.0, 0.4)
    assert metrics_of(Tally(alarms=1, expected=1)).f1 == 0.0


def test_tallies_add_up_to_the_whole() -> None:
    summed = total([Tally(alarms=2, latencies_ms=(1.0,)), Tally(alarms=3, true_alarms=1, latencies_ms=(2.0, 3.0))])
    assert summed == Tally(alarms=5, true_alarms=1, latencies_ms=(1.0, 2.0, 3.0))
