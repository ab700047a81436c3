"""Runs the tests with the arguments of pytest; each that failed runs once more, alone.

`python -m tests.rerun --workers 5 -m "not slow"`. A test that fails twice fails the run. One that passes alone is
unsteady: the run passes, says so loudly, and adds it to `build/unsteady.txt`. Nothing runs again after a crash, after
an error while collecting, or when so many failed that the change is the cause.
"""

import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest

UNSTEADY = Path("build/unsteady.txt")
AT_MOST = 20


class Failures:
    """A plugin of the process that hears of every test, whichever worker ran it."""

    def __init__(self) -> None:
        self.ids: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and report.nodeid not in self.ids:
            self.ids.append(report.nodeid)


def run(arguments: Sequence[str]) -> int:
    failures = Failures()
    code = int(pytest.main([*arguments], plugins=[failures]))
    if code != pytest.ExitCode.TESTS_FAILED or not 0 < len(failures.ids) <= AT_MOST:
        return code
    print(f"\n{len(failures.ids)} failed; once more, alone:", flush=True)
    failed_twice = [name for name in failures.ids if not _passes_alone(name)]
    _report_unsteady([name for name in failures.ids if name not in failed_twice])
    for name in failed_twice:
        print(f"FAILED TWICE: {name}", flush=True)
    return code if failed_twice else 0


def _passes_alone(name: str) -> bool:
    command = [sys.executable, "-m", "pytest", name]
    return subprocess.run(command, check=False).returncode == pytest.ExitCode.OK


def _report_unsteady(names: Sequence[str]) -> None:
    if not names:
        return
    UNSTEADY.parent.mkdir(exist_ok=True)
    with UNSTEADY.open("a") as file:
        for name in names:
            file.write(f"{datetime.now(UTC):%Y-%m-%dT%H:%MZ} {name}\n")
            print(f"UNSTEADY: passed alone: {name}", flush=True)


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
