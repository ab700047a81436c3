"""Scenarios are data, and a file that is none is refused with the reason."""

from pathlib import Path

import pytest

from affidavit.errors import InputRefused
from affidavit.evaluation.generator import BundleSpec, Form, Layout, generate, write
from affidavit.evaluation.nodes.runs import run_scenario
from affidavit.evaluation.nodes.scenario import load_scenarios
from affidavit.knowledge import load_knowledge

HEAD = "family: x\ntells: a file made for a test\n"


def test_there_are_scenarios_of_every_kind() -> None:
    scenarios = load_scenarios()
    assert len(scenarios) >= 25
    assert sum(scenario.is_healthy for scenario in scenarios) >= 5
    assert sum(scenario.family == "mixed" for scenario in scenarios) >= 4
    assert {scenario.layout for scenario in scenarios} == set(Layout)
    assert {scenario.form for scenario in scenarios} == set(Form)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (HEAD + "layout: solaris\n", "layout"),
        (HEAD + "faults: [gremlins]\n", "gremlins"),
        (HEAD + "surprise: 1\n", "surprise"),
        ("- a\n- b\n", "not a scenario"),
        (HEAD + "groups: [{stream: kernel, at: [1], lines: x}]\n", "decoy: true"),
        (HEAD + "groups: [{stream: kernel, at: [1], lines: x, severity: high}]\n", "go together"),
        (HEAD + "bundle: b.tar.gz\nfaults: [oom]\n", "cannot have lines planted"),
        (HEAD + "problems: [{file: a, severity: high, lines: [1]}]\n", "bundle on disk"),
    ],
)
def test_a_file_that_is_no_scenario_is_refused(text: str, problem: str, tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text(text)
    with pytest.raises(InputRefused, match=f"(?s)bad.*{problem}"):
        load_scenarios(tmp_path)


def test_an_empty_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputRefused, match="holds no scenario"):
        load_scenarios(tmp_path)


def test_a_bundle_on_disk_is_judged_by_the_problems_listed_for_it(tmp_path: Path) -> None:
    bundle = generate(BundleSpec(layout=Layout.AL2, faults=("oom",)))
    path = write(bundle, tmp_path, Form.TAR_GZ)
    kills = next(problem for problem in bundle.truth.in_file("kernel/dmesg.current"))
    listed = f"{{file: {kills.file}, severity: critical, lines: {list(kills.lines)}, context: {list(kills.context)}}}"
    (tmp_path / "mine.yaml").write_text(f"{HEAD}bundle: {path.name}\nproblems:\n  - {listed}\n")
    run = run_scenario(load_scenarios(tmp_path)[0], load_knowledge())
    assert run.analysis is not None
    assert [problem.is_found for problem in run.analysis.judgement.problems] == [True]
    assert any("false alarm" in trouble and "kubelet.log" in trouble for trouble in run.troubles)


def test_a_bundle_that_is_not_there_is_no_score(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(f"{HEAD}bundle: gone.tar.gz\n")
    run = run_scenario(load_scenarios(tmp_path)[0], load_knowledge())
    assert "there is no" in run.failure
    assert run.troubles == (run.failure,)
