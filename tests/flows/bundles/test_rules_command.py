"""`affidavit rules` in a process of its own: list, show, try, lint, start and import rules."""

import json
import re
from pathlib import Path

import pytest
from tests.support.processes.command import affidavit

from affidavit.rules.authoring import skeleton

PATCHES = """\
rules: {kernel.oom-reaper-ran: {severity: low}, any.io-timeout: {status: off}}
suppressions: {tls-handshake-errors-from-probes: {status: off}}
"""
DETECTOR = {
    "plugin": "kmsg",
    "logPath": "/dev/kmsg",
    "source": "kernel-monitor",
    "conditions": [{"type": "KernelDeadlock", "reason": "KernelHasNoDeadlock", "message": "fine"}],
    "rules": [
        {"type": "temporary", "reason": "OOMKilling", "pattern": r"Killed process \d+ (.+) total-vm:\d+kB.*"},
        {"type": "permanent", "condition": "Fire", "reason": "DiskOnFire", "pattern": "nvme: smoke seen"},
        {"type": "permanent", "reason": "ReadOnly", "pattern": "Remounting filesystem read-only"},
        {"type": "temporary", "reason": "TwoLines", "pattern": r"first\nsecond"},
    ],
}
OOM_LINE = "[ 8123.551210] java invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=980"


@pytest.fixture
def own(tmp_path: Path) -> Path:
    folder = tmp_path / "own"
    (folder / "acme").mkdir(parents=True)
    text = skeleton("acme.on-fire").replace("(replace this line)", "acme:")
    (folder / "acme" / "on-fire.yaml").write_text(text)
    (folder / "patches.yaml").write_text(PATCHES)
    return folder


def test_the_list_says_where_each_rule_comes_from(own: Path) -> None:
    rows = json.loads(affidavit("rules", "list", "--rules", own, "--format", "json").stdout)
    origins = {row["id"]: (row["from"], row["severity"]) for row in rows}
    assert origins["acme.on-fire"] == ("overlay", "medium")
    assert origins["kernel.oom-reaper-ran"] == ("patched", "low")
    assert origins["any.io-timeout"][0] == "switched off"
    assert origins["kernel.oom-killer-invoked"] == ("built-in", "critical")


def test_the_list_narrows_to_an_area_and_a_severity() -> None:
    done = affidavit("rules", "list", "--area", "kernel", "--severity", "critical")
    lines = done.stdout.splitlines()
    assert re.fullmatch(r"(\d+) rules, (\d+) checks", lines[-1])
    assert sum(int(number) for number in re.findall(r"\d+", lines[-1])) == len(lines) - 1
    assert all(line.startswith("kernel.") and "critical" in line for line in lines[:-1])
    assert affidavit("rules", "list", "--area", "kernul").returncode == 2


def test_show_tells_all_about_a_rule() -> None:
    shown = affidavit("rules", "show", "any.tls-handshake-error").stdout
    for said in ("Why this severity", "Wordings (RE2)", "First steps", "Look-alikes", "Fires on", "Stays quiet on"):
        assert said in shown
    assert "tls-handshake-errors-from-probes: Probes" in shown
    assert "kernel/dmesg.current" in affidavit("rules", "show", "kernel.oom-reaper-ran").stdout


def test_show_refuses_an_unknown_id_with_its_nearest() -> None:
    done = affidavit("rules", "show", "cni.oom-killer-invoked")
    assert done.returncode == 2
    assert "did you mean kernel.oom-killer-invoked?" in done.stderr


def test_checks_of_command_output_are_listed_and_shown_too() -> None:
    rows = json.loads(affidavit("rules", "list", "--format", "json").stdout)
    assert ("storage.disk-full", "check") in {(row["id"], row["kind"]) for row in rows}
    shown = affidavit("rules", "show", "storage.disk-full").stdout
    for said in ("Why this severity", "Reads", "Computes", "First steps", "Fires on, sample 1", "Stays quiet on"):
        assert said in shown


def test_lint_finds_what_keeps_analyze_from_loading_the_checks(own: Path) -> None:
    (own / "checks" / "acme").mkdir(parents=True)
    (own / "checks" / "acme" / "bad.yaml").write_text("id: acme.bad")
    done = affidavit("rules", "lint", own)
    assert done.returncode == 1
    assert "bad.yaml" in done.stdout


def test_all_samples_of_the_catalog_hold() -> None:
    done = affidavit("rules", "test")
    assert done.returncode == 0, done.stdout
    assert "0 broken" in done.stdout


def test_every_broken_rule_is_named_not_only_the_first(own: Path) -> None:
    for name in ("one", "two"):
        text = skeleton(f"acme.{name}").replace("'the words of the fault'", "'other words'")
        (own / "acme" / f"{name}.yaml").write_text(text)
    done = affidavit("rules", "test", own)
    assert done.returncode == 1
    assert "holds  acme.on-fire" in done.stdout
    assert "BROKEN acme.one" in done.stdout
    assert "BROKEN acme.two" in done.stdout
    assert "fires on a line that must stay quiet" in done.stdout


def test_a_single_file_can_be_tested(own: Path) -> None:
    done = affidavit("rules", "test", own / "acme" / "on-fire.yaml")
    assert done.returncode == 0
    assert "holds  acme.on-fire" in done.stdout


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("kernel/dmesg.current", "fires            kernel.oom-killer-invoked"),
        ("kubelet/kubelet.log", "not read there   kernel.oom-killer-invoked"),
        ("kubelet/config.json", "a copy of configuration, which no rule reads"),
    ],
)
def test_a_line_is_tried_in_the_file_it_came_from(path: str, said: str) -> None:
    assert said in affidavit("rules", "test", "--line", OOM_LINE, "--in", path).stdout


def test_a_line_is_tried_with_rules_of_ones_own(own: Path) -> None:
    done = affidavit("rules", "test", own, "--line", "acme: the words of the fault", "--in", "var_log/acme.log")
    assert "fires            acme.on-fire" in done.stdout
    assert "no rule has a wording" in affidavit("rules", "test", "--line", "all is well", "--in", "dmesg").stdout
    assert affidavit("rules", "test", "--line", "alone").returncode == 2


def test_lint_is_content_with_good_rules_and_reports_all_problems_of_bad_ones(own: Path) -> None:
    assert affidavit("rules", "lint", own).returncode == 0
    (own / "acme" / "bad.yaml").write_text("id: acme.bad\nname: x\n")
    (own / "patches.yaml").write_text("rules: {kernel.gone: {severity: low}, kernel.bug: {sevrity: low}}")
    done = affidavit("rules", "lint", own)
    assert done.returncode == 1
    for said in ("acme/bad.yaml: means: Field required", "acme/bad.yaml: samples", "kernel.gone", "sevrity"):
        assert said in done.stdout
    assert affidavit("rules", "lint", own / "nowhere").returncode == 2


def test_a_new_rule_loads_at_once_and_is_never_overwritten(tmp_path: Path) -> None:
    assert affidavit("rules", "new", "kernel.disk-on-fire", "--out", tmp_path).returncode == 0
    assert affidavit("rules", "test", tmp_path).returncode == 0
    assert "placeholder" in affidavit("rules", "lint", tmp_path).stdout
    assert affidavit("rules", "new", "kernel.disk-on-fire", "--out", tmp_path).returncode == 2
    assert affidavit("rules", "new", "kernel.bug", "--out", tmp_path).returncode == 2
    assert affidavit("rules", "new", "../up.x", "--out", tmp_path).returncode == 2


def test_a_detectors_configuration_is_imported_and_what_is_left_is_said(tmp_path: Path) -> None:
    config = tmp_path / "kernel-monitor.json"
    config.write_text(json.dumps(DETECTOR))
    out = tmp_path / "own"
    done = affidavit("rules", "import", config, "--out", out)
    assert done.returncode == 0, done.stderr
    assert "2 imported, 1 known already, 1 left out" in done.stdout
    assert "known     Read only: found by kernel.filesystem-read-only already" in done.stdout
    assert "npd/disk-on-fire.yaml\n" in done.stdout
    assert "left out  TwoLines: it looks at several lines" in done.stdout
    written = sorted(path.name for path in (out / "npd").iterdir())
    assert written == ["disk-on-fire.yaml", "oom-killing.yaml", "two-lines-1.todo"]
    assert affidavit("rules", "test", out).returncode == 0
    assert affidavit("rules", "lint", out).returncode == 0
    tried = affidavit("rules", "test", out, "--line", "[ 1.5] nvme: smoke seen", "--in", "kernel/dmesg.current")
    assert "fires            npd.disk-on-fire  high" in tried.stdout
    assert affidavit("rules", "import", config, "--out", out).returncode == 2


def test_an_import_of_nothing_exits_with_1(tmp_path: Path) -> None:
    config = tmp_path / "custom.json"
    rules = [{"type": "permanent", "reason": "NTPIsDown", "path": "./check_ntp.sh"}]
    config.write_text(json.dumps({"plugin": "custom", "source": "ntp", "rules": rules}))
    done = affidavit("rules", "import", config, "--out", tmp_path / "own")
    assert done.returncode == 1
    assert "left out  NTPIsDown: it runs ./check_ntp.sh" in done.stdout
    assert affidavit("rules", "import", tmp_path / "gone.json", "--out", tmp_path / "own").returncode == 2


def test_a_patched_rule_changes_what_analyze_reports(own: Path, tmp_path: Path) -> None:
    bundle = tmp_path / "bundle"
    (bundle / "kernel").mkdir(parents=True)
    line = "[ 8123.602133] oom_reaper: reaped process 18342 (java), now anon-rss:0kB, file-rss:0kB, shmem-rss:0kB\n"
    (bundle / "kernel" / "dmesg.current").write_text(line)
    reports = [
        json.loads(affidavit("analyze", bundle, "--format", "json", *more).stdout) for more in ([], ["--rules", own])
    ]
    levels = [
        finding["severity"]
        for report in reports
        for finding in report["findings"]
        if finding["rule"] == "kernel.oom-reaper-ran"
    ]
    assert levels == ["info", "low"]
    assert reports[0]["rules_version"] != reports[1]["rules_version"]


def test_control_characters_in_rules_do_not_reach_the_terminal(own: Path) -> None:
    line = "acme: \x1b[2J the words of the fault"
    done = affidavit("rules", "test", own, "--line", line, "--in", "var_log/\x1b[2Jacme.log")
    assert "\x1b" not in done.stdout
