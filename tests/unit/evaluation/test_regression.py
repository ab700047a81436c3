"""An answer that changed is shown, and stays changed until it is accepted."""

from dataclasses import replace
from pathlib import Path

from affidavit.evaluation.nodes.answer_snapshots import accept, changes
from affidavit.evaluation.nodes.rule_removals import Kind, without
from affidavit.evaluation.nodes.runs import run_scenario
from affidavit.evaluation.nodes.scenario import load_scenarios
from affidavit.knowledge import load_knowledge

KNOWLEDGE = load_knowledge()
NODEADM = next(scenario for scenario in load_scenarios() if scenario.id == "nodeadm")


def test_the_same_bundle_and_rules_give_the_same_answers_twice(tmp_path: Path) -> None:
    assert accept([run_scenario(NODEADM, KNOWLEDGE)], tmp_path) == 1
    assert changes([run_scenario(NODEADM, KNOWLEDGE)], tmp_path) == ()


def test_an_answer_that_was_never_accepted_is_a_change(tmp_path: Path) -> None:
    assert [change.what for change in changes([run_scenario(NODEADM, KNOWLEDGE)], tmp_path)] == ["never accepted"]


def test_a_finding_that_is_gone_is_shown_as_a_line_that_is_gone(tmp_path: Path) -> None:
    accept([run_scenario(NODEADM, KNOWLEDGE)], tmp_path)
    changed = run_scenario(NODEADM, without(KNOWLEDGE, Kind.RULE, "nodeadm.step-failed"))
    (change,) = changes([changed], tmp_path)
    assert "tool analyze" in change.what
    assert any(line.startswith("-") and "nodeadm.step-failed" in line for line in change.diff)
    accept([changed], tmp_path)
    assert changes([changed], tmp_path) == ()


def test_a_detail_that_the_short_form_leaves_out_is_shown_by_its_digest(tmp_path: Path) -> None:
    run = run_scenario(NODEADM, KNOWLEDGE)
    accept([run], tmp_path)
    first, *others = run.tools
    (change,) = changes([replace(run, tools=(replace(first, digest="0" * 64), *others))], tmp_path)
    assert change.what == f"tool {first.tool} changed"
    assert change.diff == (f"-tool {first.tool} {first.digest}", f"+tool {first.tool} {'0' * 64}")


def test_another_bundle_is_a_change_of_the_input(tmp_path: Path) -> None:
    accept([run_scenario(NODEADM, KNOWLEDGE)], tmp_path)
    other = run_scenario(NODEADM.model_copy(update={"seed": 7}), KNOWLEDGE)
    (change,) = changes([other], tmp_path)
    assert "input" in change.what


def test_answers_of_scenarios_that_are_gone_are_removed(tmp_path: Path) -> None:
    run = run_scenario(NODEADM, KNOWLEDGE)
    accept([run, replace(run, scenario=NODEADM.model_copy(update={"id": "other"}))], tmp_path)
    accept([run], tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["nodeadm.txt"]
