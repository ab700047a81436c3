"""Processes of the sandbox end with it, however it ends, and say where to look when they do not start."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from affidavit.errors import UpstreamFailed
from affidavit.sandbox.processes.child import Child
from affidavit.sandbox.processes.kept_alive import KeptAlive

KILLED = """
import os, signal, sys
from pathlib import Path
from affidavit.sandbox.processes.child import Child
child = Child("server", ["http.server", "0", "--bind", "127.0.0.1"], environment={}, log=Path(sys.argv[1])).start()
print(child.pid, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"


def test_a_process_ends_with_a_parent_that_was_killed(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(tmp_path / "log")], capture_output=True, text=True, timeout=60, check=False
    )
    pid = int(done.stdout)
    for _ in range(400):
        if not is_running(pid):
            return
        time.sleep(0.05)
    os.kill(pid, 9)
    raise AssertionError("it outlived its parent")


def test_one_that_does_not_start_names_its_log(tmp_path: Path) -> None:
    with (
        Child("nobody", ["no.such.module"], environment={}, log=tmp_path / "log") as child,
        pytest.raises(UpstreamFailed, match="the nobody did not start") as caught,
    ):
        child.wait_until(lambda: False)
    assert str(tmp_path / "log") in caught.value.hint
    assert "No module named" in (tmp_path / "log").read_text()


def test_no_variable_of_a_real_account_reaches_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "real")
    told = tmp_path / "told.py"
    told.write_text("import os\nprint(sorted(name for name in os.environ if name.startswith('AWS_')))\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    child = Child("one that tells", ["told"], environment={"AWS_REGION": "ca-central-1"}, log=tmp_path / "log")
    with child, pytest.raises(UpstreamFailed):
        child.wait_until(lambda: False)
    assert (tmp_path / "log").read_text().strip() == "['AWS_REGION']"


def test_a_child_that_dies_is_noticed_and_started_again(tmp_path: Path) -> None:
    child = Child(
        "sleeper", ["timeit", "-n", "1", "import time; time.sleep(600)"], environment={}, log=tmp_path / "log"
    )
    with KeptAlive(child) as kept:
        first = child.pid
        assert first is not None
        os.kill(first, signal.SIGKILL)
        deadline = time.monotonic() + 30
        while child.pid in (None, first) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert kept.restarts == 1
        assert child.pid not in (None, first)
    assert "the sleeper ended with -9; it is started again (1)" in (tmp_path / "log").read_text()
    assert child.pid is None, "and it stays stopped when it is told to"
