"""The product is broken on purpose, and the number that should fall does."""

from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from affidavit.evaluation.nodes.metrics import Metrics, metrics_of
from affidavit.evaluation.nodes.rule_removals import Kind, Stage, run_mutations, without
from affidavit.evaluation.nodes.runs import Analyst, ScenarioRun, analyze_quietly, run_scenario
from affidavit.evaluation.nodes.scenario import Scenario, load_scenarios
from affidavit.evidence.finding import ByteRange, Evidence, Finding
from affidavit.evidence.severity import Severity
from affidavit.investigation import Analysis
from affidavit.knowledge import Knowledge, load_knowledge

KNOWLEDGE = load_knowledge()
SCENARIOS = {scenario.id: scenario for scenario in load_scenarios()}


def numbers(run: ScenarioRun) -> Metrics:
    assert not run.failure, run.failure
    assert run.analysis is not None
    return metrics_of(run.analysis.tally)


def lying(**altered: object) -> Analyst:
    """An analyst whose every finding (or its evidence, for fields of evidence) is altered."""

    def analyst(path: Path, knowledge: Knowledge, folder: Path) -> Analysis:
        analysis = analyze_quietly(path, knowledge, folder)
        findings = tuple(replace(finding, **_for(finding, altered)) for finding in analysis.index.findings)
        return replace(analysis, index=replace(analysis.index, findings=findings))

    return analyst


def _for(finding: Finding, altered: dict[str, object]) -> dict[str, object]:
    return {name: value(finding) if callable(value) else value for name, value in altered.items()}


def evidence(**fields: object) -> object:
    def alter(finding: Finding) -> Evidence:
        return replace(finding.evidence, **_for(finding, fields))

    return alter


def shifted(finding: Finding) -> ByteRange:
    assert finding.evidence.byte_offset is not None
    return ByteRange(start=finding.evidence.byte_offset.start + 1, end=finding.evidence.byte_offset.end + 1)


@pytest.fixture(scope="module")
def honest() -> Metrics:
    return numbers(run_scenario(SCENARIOS["oom"], KNOWLEDGE))


def test_an_honest_run_is_perfect(honest: Metrics) -> None:
    assert (honest.finding_precision, honest.finding_recall, honest.severity_accuracy) == (1.0, 1.0, 1.0)
    assert (honest.citation_accuracy, honest.hallucination_rate, honest.coverage_completeness) == (1.0, 0.0, 1.0)
    assert honest.latency_p50_ms and honest.latency_p95_ms and honest.time_to_first_finding_ms


def test_recall_falls_when_a_rule_is_removed() -> None:
    smaller = without(KNOWLEDGE, Kind.RULE, "kubelet.container-oom-killed")
    assert numbers(run_scenario(SCENARIOS["oom"], smaller)).finding_recall == pytest.approx(7 / 9)


def test_citations_fall_when_offsets_are_shifted() -> None:
    run = numbers(run_scenario(SCENARIOS["oom"], KNOWLEDGE, lying(evidence=evidence(byte_offset=shifted))))
    assert (run.citation_accuracy, run.hallucination_rate) == (0.0, 1.0)


def test_citations_fall_when_an_excerpt_is_altered() -> None:
    altered = evidence(excerpt=lambda finding: finding.evidence.excerpt.replace("e", "3", 1))
    assert numbers(run_scenario(SCENARIOS["oom"], KNOWLEDGE, lying(evidence=altered))).citation_accuracy == 0.0


def test_severity_falls_when_severities_are_swapped() -> None:
    swap = {Severity.CRITICAL: Severity.HIGH, Severity.HIGH: Severity.CRITICAL}
    swapped = lying(severity=lambda finding: swap.get(finding.severity, finding.severity))
    run = numbers(run_scenario(SCENARIOS["oom"], KNOWLEDGE, swapped))
    assert (run.severity_accuracy, run.finding_recall) == (0.0, 1.0)


def test_precision_falls_when_findings_name_other_files() -> None:
    run = run_scenario(SCENARIOS["oom"], KNOWLEDGE, lying(evidence=evidence(source_file="kernel/dmesg.boot")))
    assert numbers(run).finding_precision < 0.5
    assert numbers(run).finding_recall == 0.0


def test_coverage_falls_when_files_are_left_out_without_a_word() -> None:
    def forgetful(path: Path, knowledge: Knowledge, folder: Path) -> Analysis:
        analysis = analyze_quietly(path, knowledge, folder)
        kept = tuple(file for file in analysis.bundle.files if not file.path.startswith("var_log/"))
        return replace(analysis, bundle=replace(analysis.bundle, files=kept))

    assert numbers(run_scenario(SCENARIOS["healthy-resolver"], KNOWLEDGE, forgetful)).coverage_completeness < 0.6


def test_f1_falls_with_recall_alone() -> None:
    smaller = without(KNOWLEDGE, Kind.RULE, "kubelet.container-oom-killed")
    run = numbers(run_scenario(SCENARIOS["oom"], smaller))
    assert run.finding_precision == 1.0
    assert run.f1 == pytest.approx(2 * (7 / 9) / (1 + 7 / 9))


def test_times_grow_when_the_analysis_dawdles(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a clock of the test's own, so that no slow machine can fail it."""
    clock = Clock()
    monkeypatch.setattr("affidavit.evaluation.nodes.runs.time.perf_counter", clock.read)

    def dawdling(path: Path, knowledge: Knowledge, folder: Path) -> Analysis:
        analysis = analyze_quietly(path, knowledge, folder)
        clock.now += 2.5
        return analysis

    run = numbers(run_scenario(SCENARIOS["oom"], KNOWLEDGE, dawdling))
    assert (run.latency_p50_ms, run.latency_p95_ms, run.time_to_first_finding_ms) == (2500.0, 2500.0, 2500.0)
    silent = numbers(run_scenario(SCENARIOS["oom"], without_rules(KNOWLEDGE), dawdling))
    assert (silent.latency_p50_ms, silent.time_to_first_finding_ms) == (2500.0, None)


@dataclass
class Clock:
    now: float = 0.0

    def read(self) -> float:
        return self.now


def without_rules(knowledge: Knowledge) -> Knowledge:
    return replace(knowledge, checks=(), pack=replace(knowledge.pack, rules=knowledge.pack.rules[:0], suppressions=()))


def test_an_alarm_on_a_healthy_node_fails_its_scenario() -> None:
    smaller = without(KNOWLEDGE, Kind.SUPPRESSION, "oomkilled-in-load-tests")
    run = run_scenario(SCENARIOS["healthy-load-test"], smaller)
    assert numbers(run).finding_precision == 0.0
    assert not run_scenario(SCENARIOS["healthy-load-test"], KNOWLEDGE).troubles


@pytest.mark.parametrize(
    ("kind", "name", "scenario"),
    [
        (Kind.RULE, "kubelet.container-oom-killed", "oom"),
        (Kind.RULE, "kernel.oom-killer-invoked", "oom"),
        (Kind.RULE, "systemd.kubelet-started", "oom"),
        (Kind.CHECK, "storage.disk-full", "disk-pressure"),
        (Kind.SUPPRESSION, "oomkilled-in-load-tests", "healthy-load-test"),
    ],
)
def test_striking_out_what_a_piece_had_to_say_is_the_same_as_running_without_it(
    kind: Kind, name: str, scenario: str, tmp_path: Path
) -> None:
    stage = Stage(SCENARIOS[scenario], tmp_path, KNOWLEDGE)
    fast = stage.index_without(kind, name)
    slow: list[Analysis] = []

    def watched(path: Path, knowledge: Knowledge, folder: Path) -> Analysis:
        slow.append(analyze_quietly(path, knowledge, folder))
        return slow[-1]

    run_scenario(SCENARIOS[scenario], without(KNOWLEDGE, kind, name), watched)
    assert name in {*(one.id for one in (*KNOWLEDGE.pack.rules, *KNOWLEDGE.checks, *KNOWLEDGE.pack.suppressions))}
    assert (fast.findings, fast.suppressed) == (slow[0].index.findings, slow[0].index.suppressed)


def test_what_no_scenario_covers_is_named() -> None:
    only = [run_scenario(SCENARIOS["nodeadm"], KNOWLEDGE)]
    few = replace(
        KNOWLEDGE,
        checks=(),
        pack=replace(
            KNOWLEDGE.pack,
            suppressions=(),
            rules=tuple(rule for rule in KNOWLEDGE.pack.rules if rule.id in ("nodeadm.step-failed", "kernel.panic")),
        ),
    )
    caught = {mutation.id: mutation.caught_by for mutation in run_mutations(only, few, workers=1)}
    assert caught == {"nodeadm.step-failed": "nodeadm", "kernel.panic": None}


def test_a_scenario_that_plants_where_its_layout_has_no_file_is_not_scored() -> None:
    text = {"severity": "high", "text": "KAPUT", "at": [3], "lines": "KAPUT", "stream": "unattended-upgrades"}
    lost = Scenario.model_validate({"id": "lost", "family": "x", "tells": "nobody carries this", "groups": [text]})
    run = run_scenario(lost, KNOWLEDGE)
    assert "no file of al2023 carries" in run.failure
    assert run.analysis is None
