"""What is published beside the package says what the package says."""

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import yaml
from release.build import build
from release.mcp_bundle import manifest, write_mcp_bundle

from affidavit import __version__
from affidavit.entrypoints.cli.reference.commands_page import commands
from affidavit.entrypoints.mcp.tools.catalog import TOOLS
from affidavit.evidence.severity import Severity

ROOT = Path(__file__).parents[3]


def test_the_registry_entry_names_this_version_and_a_real_option() -> None:
    entry = json.loads((ROOT / "server.json").read_text())
    (package,) = entry["packages"]
    assert entry["version"] == package["version"] == __version__
    options = {option for each in commands()["affidavit mcp"].params for option in each.opts}
    named = [each["name"] for each in package["packageArguments"] if each["type"] == "named"]
    assert set(named) <= options


def test_two_mcp_bundles_are_the_same_bytes(tmp_path: Path) -> None:
    (tmp_path / "again").mkdir()
    first, second = write_mcp_bundle(tmp_path), write_mcp_bundle(tmp_path / "again")
    assert first.read_bytes() == second.read_bytes()
    with zipfile.ZipFile(first) as bundle:
        assert json.loads(bundle.read("manifest.json")) == manifest()


def test_the_skill_names_only_tools_that_exist() -> None:
    text = (ROOT / "skills" / "affidavit" / "SKILL.md").read_text()
    names = {tool.name for tool in TOOLS}
    for tool in ("cluster_health", "quick_triage", "errors", "search", "correlate", "read", "verify_report"):
        assert f"`{tool}`" in text and tool in names


@pytest.mark.parametrize(("fail_on", "code"), [("", 0), ("critical", 1)])
def test_the_action_writes_the_summary_and_fails_where_asked(fail_on: str, code: int, tmp_path: Path) -> None:
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    (step,) = action["runs"]["steps"]
    assert action["inputs"]["version"]["default"] == __version__
    assert {"critical", "info"} <= {level.value for level in Severity}
    log = tmp_path / "messages"
    log.write_text("Jan 15 10:25:03 ip-10-0-1-142 kernel: Out of memory: Killed process 2211 (java) total-vm:1kB\n")
    script = step["run"].replace("python -m pip install", ": python -m pip install")
    environment = {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "BUNDLE": str(log),
        "FAIL_ON": fail_on,
        "OUT": str(tmp_path / "out"),
        "VERSION": __version__,
        "GITHUB_OUTPUT": str(tmp_path / "output"),
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"),
    }
    done = subprocess.run(["bash", "-c", script], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    assert "OOM" in (tmp_path / "summary.md").read_text()
    assert Path((tmp_path / "output").read_text().strip().removeprefix("index=")).exists()


@pytest.mark.slow
def test_wheel_and_sdist_built_twice_are_the_same_bytes(tmp_path: Path) -> None:
    assert {path.suffix for path in build(tmp_path)} == {".whl", ".gz"}
