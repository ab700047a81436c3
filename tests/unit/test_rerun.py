"""How tests are run: those that share a set-up on one worker; one that failed once more, alone."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
OPTIONS = "--disable-plugin-autoload -p tests.workers -p no:cacheprovider"
FAILS_ONCE = """
from pathlib import Path
import pytest

@pytest.mark.parametrize("name", ["a b::[c]@d"])
def test_unsteady(name):
    seen = Path("seen")
    if not seen.exists():
        seen.touch()
        raise AssertionError("the first time")
"""
SHARED = """
import pytest

@pytest.fixture(scope="module")
def dear():
    with open("made", "a") as file:
        file.write("once ")

@pytest.mark.parametrize("number", range(4))
def test_one(dear, number):
    pass

def test_two(dear):
    pass
"""
WAITS_FOR_THE_OTHER = """
import os
import time
from pathlib import Path

COLLECTED = os.getpid()

def meet(mine, other):
    print("printed", "by", mine)
    Path(mine).touch()
    while not Path(other).exists():
        time.sleep(0.01)
    assert os.getpid() != COLLECTED, "the process " "that collected"
    assert not "shown"

def test_a():
    meet("a", "b")

def test_b():
    meet("b", "a")
"""
FAILS_ALWAYS = "def test_broken():\n    assert 0\n"
CRASHES_ONCE = FAILS_ONCE.replace('raise AssertionError("the first time")', "__import__('os')._exit(3)")


def run(folder: Path, source: str, *arguments: str) -> tuple[int, str]:
    (folder / "test_it.py").write_text(source)
    (folder / "pytest.ini").write_text(f"[pytest]\naddopts = {OPTIONS}")
    (folder / "conftest.py").write_text("from tests.conftest import pytest_collection_modifyitems  # groups them")
    command = [sys.executable, "-m", "tests.rerun", *arguments]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False, timeout=120)
    return done.returncode, done.stdout


def test_tests_that_share_a_set_up_share_a_worker(tmp_path: Path) -> None:
    code, out = run(tmp_path, SHARED, "--workers", "2")
    assert code == 0 and "5 passed" in out
    assert (tmp_path / "made").read_text() == "once "


def test_others_run_in_processes_of_their_own_and_what_each_printed_is_told_with_it(tmp_path: Path) -> None:
    """Each waits for the other, so they end only side by side."""
    code, out = run(tmp_path, WAITS_FOR_THE_OTHER, "--workers", "2")
    assert code == 1 and "2 failed" in out
    first, _, _ = out.partition("once more")
    assert [first.count(f"printed by {name}") for name in "ab"] == [1, 1]
    assert first.count("E       AssertionError: assert not 'shown'") == 2


def test_a_test_that_passes_alone_is_named_and_does_not_fail_the_run(tmp_path: Path) -> None:
    code, out = run(tmp_path, FAILS_ONCE, "--workers", "1")
    assert code == 0
    assert "UNSTEADY: passed alone: test_it.py::test_unsteady[a b::[c]@d]" in out
    assert (tmp_path / "build/unsteady.txt").read_text().endswith("Z test_it.py::test_unsteady[a b::[c]@d]\n")


def test_a_test_that_fails_twice_fails_the_run_beside_one_that_is_unsteady(tmp_path: Path) -> None:
    code, out = run(tmp_path, FAILS_ONCE + FAILS_ALWAYS)
    assert code == 1
    assert "FAILED TWICE: test_it.py::test_broken\n" in out and "UNSTEADY: passed alone: test_it.py::test_uns" in out


@pytest.mark.parametrize(
    "source",
    [
        CRASHES_ONCE,  # what the worker still had before it never ran
        FAILS_ONCE + "raise ValueError",  # the tests of this file are unknown
        FAILS_ONCE + "\n@pytest.mark.parametrize('n', range(20))\ndef test_many(n):\n    assert n < 0\n",
    ],
    ids=["crash", "collection", "many"],
)
def test_nothing_runs_again_where_a_second_run_would_prove_nothing(tmp_path: Path, source: str) -> None:
    code, out = run(tmp_path, source, "--workers", "1")
    assert code != 0
    assert "once more" not in out and not (tmp_path / "build").exists()
