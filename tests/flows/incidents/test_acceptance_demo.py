"""`affidavit demo`, as a person runs it: the story is told in order, is true, and leaves nothing behind."""

import os
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path

import pytest

from affidavit.entrypoints.cli.exit_codes import Exit

pytestmark = pytest.mark.slow


def environment(mark: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "AFFIDAVIT_"))}
    # A profile that does not exist: nothing of the caller's account may be asked for.
    return kept | {"DEMO_MARK": mark, "AWS_PROFILE": "nobody", "NO_COLOR": "1"}


def left_behind(mark: str) -> list[str]:
    """Processes that inherited the mark."""
    found: list[str] = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (process / "environ").read_bytes():
                found.append((process / "cmdline").read_bytes().replace(b"\0", b" ").decode())
        except OSError:
            continue
    return found


def test_the_demo_breaks_investigates_proves_repairs_and_undoes(tmp_path: Path) -> None:
    mark = uuid.uuid4().hex
    done = subprocess.run(
        [sys.executable, "-m", "affidavit", "demo", "--out", "demo"],
        cwd=tmp_path,
        env=environment(mark),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    told = (
        "data-processor succeeded: 12 rows",
        "data-processor: kept",
        "inline policy s3-read of role data-processor-role removed",
        "data-processor failed: An error occurred (AccessDenied)",
        "The alert became incident data-processor-",
        "asks      get_iam_state",
        "answered  get_iam_state",
        "submits   Access to s3:GetObject is denied",
        "It ended: DIAGNOSED.",
        "\nEvidence",
        "hold, as recorded",
        "1. iam.inline_policy.restore on arn:aws:iam::000000000000:role/data-processor-role, as baseline",
        "call iam:PutRolePolicy on",
        '+          "s3:GetObject"',
        "undo iam:DeleteRolePolicy on",
        "It is awaiting.",
        "Approved by arn:aws:iam::000000000000:user/alice. Next: another person",
        "calls iam:PutRolePolicy on",
        "data-processor succeeded: 12 rows",
        "is proven: the state re-reads and the symptom is gone",
        "All 10 entries of plan-",
        "is undone: arn:aws:iam::000000000000:user/bob asked for it",
        "removed /permissions/inline_policies/s3-read",
        "alarm status-i-0a11ce0000000003 fired for i-0a11ce0000000003",
        ", about node:i-0a11ce0000000003.",
        "AWAITING_EVIDENCE",
        "Collections of the node: 1.",
        "It ended: DIAGNOSED.",
        "The subnet has no free addresses",
        "A container exceeds its own memory limit",
        "critical · node_capacity, workload · proven",
        "hold, as recorded",
        "OOM killer invoked",
        "is stopped. It took",
    )
    place = 0
    for line in told:
        place = done.stdout.find(line, place)
        assert place >= 0, f"{line!r} is missing or too early in:\n{done.stdout}"
        place += len(line)
    assert (tmp_path / "demo" / "results" / "report.html").exists()
    assert left_behind(mark) == []
    assert list(tmp_path.iterdir()) == [tmp_path / "demo"]


def test_ctrl_c_in_the_middle_leaves_nothing_running(tmp_path: Path) -> None:
    mark = uuid.uuid4().hex
    with (tmp_path / "told.txt").open("w") as told:
        demo = subprocess.Popen(
            [sys.executable, "-m", "affidavit", "demo", "--out", "demo"],
            cwd=tmp_path,
            env=environment(mark),
            stdout=told,
            stderr=subprocess.STDOUT,
        )
    deadline = time.monotonic() + 120
    while "=== 2." not in (tmp_path / "told.txt").read_text() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert left_behind(mark), "the sandbox runs by now"
    demo.send_signal(signal.SIGINT)
    assert demo.wait(60) == Exit.INTERRUPTED, (tmp_path / "told.txt").read_text()
    assert left_behind(mark) == []
