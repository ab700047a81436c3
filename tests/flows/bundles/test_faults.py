"""Made-up faults in every layout: found on their lines with their severity, and nothing else is alarmed about."""

from pathlib import Path

import pytest
from tests.support.archives.bundles import analyze_at

from affidavit.evaluation.generator import BundleSpec, Form, GeneratedBundle, Layout, fault_names, generate, write
from affidavit.evidence.citation_check import check
from affidavit.evidence.finding import Finding
from affidavit.evidence.severity import Severity
from affidavit.knowledge import load_knowledge

KNOWLEDGE = load_knowledge()
FAULTS = [name for name in fault_names() if name != "healthy"]


def lines_of(finding: Finding) -> set[int]:
    assert finding.evidence.line_range is not None
    return {finding.evidence.line_range.start, *(other.line for other in finding.additional_occurrences)}


def findings_of(bundle: GeneratedBundle, folder: Path) -> list[Finding]:
    analysis = analyze_at(write(bundle, folder, Form.DIRECTORY), KNOWLEDGE, folder / "work")
    for finding in analysis.index.findings:
        assert check(finding.evidence, analysis.bundle).holds
    return list(analysis.index.findings)


@pytest.mark.parametrize("layout", list(Layout))
def test_a_healthy_node_raises_no_alarm(layout: Layout, tmp_path: Path) -> None:
    for seed in (1, 2):
        findings = findings_of(generate(BundleSpec(layout=layout, seed=seed)), tmp_path / str(seed))
        alarms = [(f.rule, f.evidence.excerpt) for f in findings if f.severity.is_at_least(Severity.MEDIUM)]
        assert alarms == []


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("layout", list(Layout))
def test_a_fault_is_found_on_its_lines_and_nothing_else_is(layout: Layout, fault: str, tmp_path: Path) -> None:
    bundle = generate(BundleSpec(layout=layout, faults=(fault,)))
    findings = findings_of(bundle, tmp_path)
    for problem in bundle.truth.problems:
        on_lines = [f for f in findings if f.evidence.source_file == problem.file and lines_of(f) & set(problem.lines)]
        found = set().union(*(lines_of(f) for f in on_lines)) if on_lines else set()
        assert set(problem.lines) <= found, (problem.file, problem.text)
        assert problem.severity in {f.severity.value for f in on_lines}, (problem.text, [f.rule for f in on_lines])
    known = {(problem.file, line) for problem in bundle.truth.problems for line in (*problem.lines, *problem.context)}
    for finding in findings:
        if finding.severity.is_at_least(Severity.MEDIUM):
            wrong = [line for line in lines_of(finding) if (finding.evidence.source_file, line) not in known]
            assert not wrong, (finding.rule, finding.evidence.source_file, wrong)
