"""The demo is installed from the same lock as everything else, and from no more of it than it uses."""

import re
from importlib.metadata import requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from release.selection import selection

ROOT = Path(__file__).parents[3]
LOCK, PROJECT = (ROOT / "requirements.lock").read_text(), (ROOT / "pyproject.toml").read_text()
DEMO = ("agent", "aws", "sandbox")


def test_the_selection_holds_all_that_the_installed_packages_ask_for_with_the_lock_s_own_lines() -> None:
    chosen = selection(LOCK, PROJECT, DEMO)
    assert set(chosen.splitlines()) <= set(LOCK.splitlines())
    assert _asked("affidavit", frozenset(DEMO)) <= set(re.findall(r"^([\w.-]+)==", chosen, re.MULTILINE))


def test_what_only_tests_and_deployments_use_is_left_out() -> None:
    chosen = selection(LOCK, PROJECT, DEMO)
    assert [name for name in ("aws-cdk-lib", "playwright", "duckdb", "pytest") if f"\n{name}==" in chosen] == []
    assert chosen.count("==") < LOCK.count("==") / 1.5


def test_the_makefile_selects_what_the_demo_needs() -> None:
    assert f"release.selection {' '.join(DEMO)} " in (ROOT / "Makefile").read_text()


def test_an_extra_that_does_not_exist_is_refused() -> None:
    with pytest.raises(KeyError, match="nothing"):
        selection(LOCK, PROJECT, ["nothing"])


def _asked(name: str, extras: frozenset[str]) -> set[str]:
    """Everything that a package asks for by its own metadata, on this machine."""
    found, waiting = set[str](), [(name, extras)]
    while waiting:
        package, wanted = waiting.pop()
        for requirement in map(Requirement, requires(package) or ()):
            is_wanted = requirement.marker is None or any(
                requirement.marker.evaluate({"extra": extra}) for extra in (*wanted, "")
            )
            asked = re.sub(r"[-_.]+", "-", requirement.name).lower()
            if is_wanted and asked not in found:
                found.add(asked)
                waiting.append((asked, frozenset(requirement.extras)))
    return found
