"""`affidavit sandbox`, as a person uses it: up, point a program at it, collect from a node, stop."""

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

NODE = "i-0a11ce0000000001"


def affidavit(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "affidavit", "sandbox", *arguments]
    return subprocess.run(
        command, cwd=folder, env=_environment(), capture_output=True, text=True, timeout=90, check=False
    )


def _environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "AFFIDAVIT_"))}


def variables(exports: str) -> dict[str, str]:
    pairs = (line.removeprefix("export ") for line in exports.splitlines() if line.startswith("export "))
    return {name: "".join(shlex.split(value)) for name, _, value in (pair.partition("=") for pair in pairs)}


@pytest.fixture
def detached(tmp_path: Path) -> Iterator[dict[str, str]]:
    started = affidavit(tmp_path, "up", "--detach")
    assert started.returncode == 0, started.stderr
    yield variables(started.stdout)
    affidavit(tmp_path, "down")


def test_a_person_asks_about_a_node_which_is_collected_and_diagnosed(detached: dict[str, str], tmp_path: Path) -> None:
    """The sandbox's own supervisor is woken by the index, too; whoever is faster, the person sees the diagnosis."""
    ran = subprocess.run(
        [sys.executable, "-m", "affidavit", "incident", "submit", "--node", NODE, "--json"],
        env=_environment() | detached,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    told = json.loads(ran.stdout)
    assert (told["status"], told["diagnosis"]["fault_types"]) == ("DIAGNOSED", ["workload"])
    status = affidavit(tmp_path, "status")
    assert status.returncode == 0
    assert "collections: 1 (1 asked for)" in status.stdout
    assert "could not be indexed" not in status.stdout
    unknown = affidavit(tmp_path, "alarm", "i-0123456789abcdef0")
    assert unknown.returncode == 2
    assert NODE in unknown.stderr


def test_a_second_sandbox_is_refused_and_env_repeats_the_variables(detached: dict[str, str], tmp_path: Path) -> None:
    second = affidavit(tmp_path, "up")
    assert second.returncode == 2
    assert "runs already" in second.stderr
    assert variables(affidavit(tmp_path, "env").stdout) == detached


def chaos_status(folder: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    # Whoever runs the tests may be logged in to AWS; who has just started a sandbox often is not.
    nobody = dict.fromkeys(("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"), "/dev/null")
    return subprocess.run(
        [sys.executable, "-m", "affidavit", "chaos", "status"],
        env=_environment() | nobody | {"AWS_EC2_METADATA_DISABLED": "true"} | environment,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )


def test_a_shell_without_its_variables_learns_how_to_get_them_and_one_with_them_that_it_is_gone(
    detached: dict[str, str], tmp_path: Path
) -> None:
    unseen = chaos_status(tmp_path, {})
    assert unseen.returncode == 3
    assert 'eval "$(affidavit sandbox env)"' in unseen.stderr
    assert chaos_status(tmp_path, detached).returncode == 0
    assert affidavit(tmp_path, "down").returncode == 0
    gone = chaos_status(tmp_path, detached)
    assert gone.returncode == 3
    assert "the sandbox is gone" in gone.stderr
    assert "sandbox" not in chaos_status(tmp_path, {}).stderr


def test_after_down_nothing_runs(detached: dict[str, str], tmp_path: Path) -> None:
    assert affidavit(tmp_path, "down").returncode == 0
    assert affidavit(tmp_path, "status").returncode == 1
    assert affidavit(tmp_path, "env").returncode == 2
    assert not (tmp_path / ".affidavit" / "sandbox.json").exists()


def test_ctrl_c_stops_it_clean(tmp_path: Path) -> None:
    child = subprocess.Popen(
        [sys.executable, "-m", "affidavit", "sandbox", "up"],
        cwd=tmp_path,
        env=_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    for _ in range(600):
        if (tmp_path / ".affidavit" / "sandbox.json").exists():
            break
        time.sleep(0.05)
    child.send_signal(signal.SIGINT)
    output, complaints = child.communicate(timeout=60)
    assert child.returncode == 0, complaints
    assert "Traceback" not in complaints
    assert variables(output)["AWS_ENDPOINT_URL"].startswith("http://127.0.0.1:")
    assert not (tmp_path / ".affidavit" / "sandbox.json").exists()


def test_a_state_file_left_by_a_crash_names_nobody(tmp_path: Path) -> None:
    (tmp_path / ".affidavit").mkdir()
    (tmp_path / ".affidavit" / "sandbox.json").write_text(
        f'{{"pid": {os.getpid()}, "environment": {{"AWS_ENDPOINT_URL_SSM": "http://127.0.0.1:9"}}}}'
    )
    assert affidavit(tmp_path, "down").returncode == 2
    assert affidavit(tmp_path, "status").returncode == 1
