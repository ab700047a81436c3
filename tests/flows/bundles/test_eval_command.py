"""`affidavit eval` as people and CI run it."""

import contextlib
import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from tests.support.processes.command import affidavit

from affidavit.evaluation.incidents.workload_scenarios import SCENARIOS
from affidavit.sandbox.chat_models.attacks import ATTACKS

SCENARIO = """family: bootstrap
tells: nodeadm gives up on this node
layout: al2023
groups:
  - stream: nodeadm-run
    severity: SEVERITY
    text: Command failed
    at: [31]
    lines: '{"level":"fatal","ts":@{epoch}.4,"caller":"nodeadm/main.go:36","msg":"Command failed","error":"no"}'
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "scenarios").mkdir()
    (tmp_path / "scenarios" / "mine.yaml").write_text(SCENARIO.replace("SEVERITY", "critical"))
    return tmp_path


def test_a_scenario_of_ones_own_is_measured_and_written(folder: Path) -> None:
    done = affidavit("eval", "nodes", "--scenarios", folder / "scenarios", "--out", folder / "out")
    assert done.returncode == 0, done.stdout + done.stderr
    result = json.loads((folder / "out" / "evaluation.json").read_text())
    assert [scenario["id"] for scenario in result["nodes"]["scenarios"]] == ["mine"]
    assert result["nodes"]["metrics"]["analyze"]["finding_recall"] == 1.0
    assert "<svg" not in (folder / "out" / "evaluation.html").read_text().split("<script")[0]
    assert "holds  nodes.finding_recall" in done.stdout


def test_a_wrong_severity_fails_the_gate_and_the_exit_code(folder: Path) -> None:
    (folder / "scenarios" / "mine.yaml").write_text(SCENARIO.replace("SEVERITY", "low"))
    done = affidavit("eval", "nodes", "--scenarios", folder / "scenarios")
    assert done.returncode == 1
    assert "FAILED nodes.severity_accuracy >= 0.95: 0" in done.stdout
    assert "critical instead of low" in done.stdout


def test_rules_of_ones_own_that_switch_one_off_lose_recall(folder: Path) -> None:
    (folder / "rules").mkdir()
    # A rule of last resort would tell of the line by its level.
    off = ("nodeadm.command-failed", "any.unlisted-fatal", "any.unlisted-error")
    patches = "rules:\n" + "".join(f"  {rule}: {{status: off}}\n" for rule in off)
    (folder / "rules" / "patches.yaml").write_text(patches)
    done = affidavit("eval", "--scenarios", folder / "scenarios", "--rules", folder / "rules", "--format", "json")
    assert done.returncode == 1
    assert json.loads(done.stdout)["nodes"]["metrics"]["analyze"]["finding_recall"] == 0.0


def test_the_numbers_stand_beside_those_of_a_baseline(folder: Path) -> None:
    affidavit("eval", "--scenarios", folder / "scenarios", "--out", folder / "out")
    done = affidavit("eval", "--scenarios", folder / "scenarios", "--baseline", folder / "out" / "evaluation.json")
    assert done.returncode == 0
    assert "baseline" in done.stdout


def test_every_run_is_added_to_the_history_and_drawn(folder: Path) -> None:
    for _ in range(2):
        affidavit("eval", "--scenarios", folder / "scenarios", "--history", folder / "h.jsonl", "--out", folder / "out")
    runs = [json.loads(line) for line in (folder / "h.jsonl").read_text().splitlines()]
    assert [run["numbers"]["nodes.finding_recall"] for run in runs] == [1.0, 1.0]
    assert '"past":[{"evaluated_at"' in (folder / "out" / "evaluation.html").read_text().replace(" ", "")


def test_a_history_that_is_none_is_refused_before_anything_runs(folder: Path) -> None:
    (folder / "h.jsonl").write_text("not a run\n")
    done = affidavit("eval", "--scenarios", folder / "scenarios", "--history", folder / "h.jsonl")
    assert (done.returncode, "line 1 is no run" in done.stderr) == (2, True)
    assert (folder / "h.jsonl").read_text() == "not a run\n"


def test_progress_is_shown_on_a_terminal_and_nowhere_else(folder: Path) -> None:
    command = ("eval", "nodes", "--scenarios", folder / "scenarios")
    assert affidavit(*command).stderr == ""
    shown = on_a_terminal(*command)
    assert "1 of 1 scenarios  mine" in shown
    assert "1 of 1" not in on_a_terminal(*command, "--quiet")


def on_a_terminal(*arguments: str | Path) -> str:
    """What the command writes to standard error when that is a terminal."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "affidavit", *map(str, arguments)]
    with subprocess.Popen(command, stderr=theirs, stdout=subprocess.DEVNULL) as running:
        os.close(theirs)
        said = b""
        with contextlib.suppress(OSError):  # what a terminal says when nobody is at its other end
            while part := os.read(ours, 4096):
                said += part
        running.wait(timeout=120)
    os.close(ours)
    return said.decode()


def test_gates_of_ones_own_decide(folder: Path) -> None:
    (folder / "gates.yaml").write_text("nodes.problems: {at_least: 2}\n")
    done = affidavit("eval", "--scenarios", folder / "scenarios", "--gate", folder / "gates.yaml")
    assert (done.returncode, "FAILED nodes.problems >= 2: 1" in done.stdout) == (1, True)


def test_the_truth_about_a_sample_is_a_scenario_as_it_is(tmp_path: Path) -> None:
    done = affidavit("sample", "--faults", "oom,dns", "--layout", "al2", "--truth", "--out", tmp_path)
    file = tmp_path / "al2-oom-dns-1.yaml"
    assert done.stdout.splitlines()[1] == str(file)
    problems = yaml.safe_load(file.read_text())["problems"]
    kernel = [one for one in problems if one["file"] == "var_log/messages" and "Killed process" in one["text"]]
    assert [(one["severity"], one["count"], len(one["lines"])) for one in kernel] == [("high", 3, 3)]
    told = affidavit("eval", "--scenarios", tmp_path, "--format", "json")
    assert told.returncode == 0, told.stdout[-2000:]
    numbers = json.loads(told.stdout)["nodes"]["metrics"]["analyze"]
    assert (numbers["finding_recall"], numbers["finding_precision"], numbers["severity_accuracy"]) == (1.0, 1.0, 1.0)


@pytest.mark.parametrize("option", ["--scenarios", "--baseline", "--gate"])
def test_a_path_that_is_not_there_is_refused(option: str, tmp_path: Path) -> None:
    assert affidavit("eval", "nodes", option, tmp_path / "gone").returncode == 2


def test_answers_are_accepted_for_the_built_in_scenarios_alone(folder: Path) -> None:
    done = affidavit("eval", "--scenarios", folder / "scenarios", "--accept")
    assert done.returncode == 2
    assert "built-in" in done.stderr


@pytest.fixture
def one_incident(tmp_path: Path) -> Path:
    (tmp_path / "incidents").mkdir()
    source = SCENARIOS / "throttling-reserved-zero.yaml"
    (tmp_path / "incidents" / source.name).write_text(source.read_text())
    return tmp_path / "incidents"


def test_an_incident_is_measured_over_several_runs_and_written(one_incident: Path, tmp_path: Path) -> None:
    done = affidavit("eval", "incidents", "--scenarios", one_incident, "--out", tmp_path / "out")
    assert done.returncode == 0, done.stdout + done.stderr
    result = json.loads((tmp_path / "out" / "evaluation.json").read_text())
    assert result["nodes"] is None
    assert result["incidents"]["scenarios"][0]["answers"] == ["throttling"] * 3
    assert result["incidents"]["metrics"]["majority_at_3"] == 1.0
    assert "holds  incidents.exact_set_accuracy >= 0.9: 1" in done.stdout
    assert "nodes." not in done.stdout


def test_a_diagnosis_that_is_not_the_truth_fails_the_gate(one_incident: Path) -> None:
    file = next(one_incident.iterdir())
    file.write_text(file.read_text().replace("fault_types: [throttling]", "fault_types: [timeout]"))
    done = affidavit("eval", "incidents", "--scenarios", one_incident, "--k", "1", "--no-color")
    assert done.returncode == 1
    assert "FAILED incidents.exact_set_accuracy >= 0.9: 0" in done.stdout
    assert "throttling instead of timeout" in done.stdout


def test_a_chat_model_that_is_not_named_is_refused_and_no_score(one_incident: Path) -> None:
    done = affidavit("eval", "incidents", "--scenarios", one_incident, "--provider", "bedrock")
    assert done.returncode == 2
    assert "CHAT_MODEL_ID" in done.stderr


@pytest.mark.slow
def test_lying_chat_models_get_nothing_stored() -> None:
    done = affidavit("eval", "adversarial", "--seeds", "1", "--format", "json")
    assert done.returncode == 0, done.stdout + done.stderr
    result = json.loads(done.stdout)["adversarial"]
    assert result["metrics"]["fabricated_stored"] == 0
    assert result["metrics"]["fabricated_claimed"] > 5
    assert len(result["attacks"]) == result["metrics"]["runs"] == len(ATTACKS)


@pytest.mark.parametrize(
    "options", [("all", "--scenarios", "x"), ("incidents", "--mutations"), ("adversarial", "--rules", "x")]
)
def test_options_that_do_not_fit_the_part_are_refused(options: tuple[str, ...]) -> None:
    assert affidavit("eval", *options).returncode == 2
