"""`affidavit diff` as a person types it: a good node beside a bad one."""

import json
from pathlib import Path

import pytest
from tests.support.processes.command import affidavit

OOM = "[ 8123.551210] java invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=984\n"
HUNG = "[ 9000.100000] INFO: task kworker/0:1:77 blocked for more than 120 seconds.\n"


def a_bundle(folder: Path, *, kernel: str, kubelet: str = "{}\n", sysctl: str = "vm.swappiness = 60\n") -> Path:
    contents = {
        "kernel/dmesg.current": kernel,
        "kubelet/config.json": kubelet,
        "sysctls/sysctl_all.txt": f"kernel.ns_last_pid = {len(str(folder))}\n{sysctl}",
    }
    for path, content in contents.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(content)
    return folder


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    good = a_bundle(
        tmp_path / "good", kernel=HUNG, kubelet='{\n"maxPods": 17,\n"node": "ip-10-0-0-1.ec2.internal"\n}\n'
    )
    bad = a_bundle(
        tmp_path / "longer-bad",
        kernel=OOM * 3,
        kubelet='{\n"maxPods": 110,\n"node": "ip-10-0-0-2.ec2.internal"\n}\n',
        sysctl="vm.swappiness = 60\nvm.overcommit_memory = 2\n",
    )
    return good, bad


def test_what_is_new_gone_and_set_differently_is_told(pair: tuple[Path, Path]) -> None:
    done = affidavit("diff", *pair, "--format", "json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    changes = {row["pattern"]: (row["change"], row["before"], row["after"]) for row in told["findings"]}
    assert changes["OOM killer invoked"] == ("new", 0, 3)
    assert [change for change, _, _ in changes.values()].count("gone") == 1
    settings = {row["file"]: (row["removed"], row["added"]) for row in told["settings"]}
    assert settings == {
        "kubelet/config.json": (['"maxPods": 17,'], ['"maxPods": 110,']),
        "sysctls/sysctl_all.txt": ([], ["vm.overcommit_memory = 2"]),
    }


def test_a_bundle_does_not_differ_from_itself(pair: tuple[Path, Path]) -> None:
    done = affidavit("diff", pair[0], pair[0], "--fail-on", "info")
    assert done.returncode == 0
    assert "Nothing known differs in what was read on both sides." in done.stdout
    assert "Unchanged" in affidavit("diff", pair[0], pair[0], "--same").stdout


def test_only_what_got_worse_fails(pair: tuple[Path, Path]) -> None:
    good, bad = pair
    assert affidavit("diff", good, bad, "--fail-on", "critical").returncode == 1
    assert affidavit("diff", bad, good, "--fail-on", "critical").returncode == 0


def test_settings_of_one_side_alone_are_named(pair: tuple[Path, Path]) -> None:
    (pair[1] / "kubelet" / "config.json").unlink()
    assert "Not compared: kubelet/config.json: only before" in affidavit("diff", *pair).stdout


def test_a_secret_in_a_changed_setting_is_hidden(pair: tuple[Path, Path]) -> None:
    (pair[1] / "kubelet" / "config.json").write_text("password: hunter2-is-not-a-good-one\n")
    done = affidavit("diff", *pair)
    assert "hunter2" not in done.stdout
    assert "[REDACTED:" in done.stdout
