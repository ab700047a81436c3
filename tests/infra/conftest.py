"""Templates and packages, made once a run: the first test that asks makes them, whichever worker it is in."""

import fcntl
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.infra.templates import Template

ROOT = Path(__file__).parents[2]
SIGNING = "arn:aws:lambda:ca-central-1:123456789012:code-signing-config:csc-0123456789abcdefg"


@pytest.fixture(scope="session")
def assembly(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _once(tmp_path_factory, "assembly", "infra")


@pytest.fixture(scope="session")
def closed_assembly(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With all an operator may choose: a VPC, nodes marked by a tag, an HTTP API, locked objects, signed code."""
    chosen = ("--vpc", "--node-tag", "kubernetes.io/cluster/prod", "--http-api", "--object-lock", "30")
    return _once(tmp_path_factory, "closed", "infra", *chosen, "--code-signing", SIGNING)


@pytest.fixture(scope="session")
def templates(assembly: Path) -> dict[str, Template]:
    return read_templates(assembly)


def read_templates(folder: Path) -> dict[str, Template]:
    files = sorted(folder.glob("*.template.json"))
    return {file.name.partition(".")[0]: Template(json.loads(file.read_text())) for file in files}


def _once(factory: pytest.TempPathFactory, name: str, module: str, *options: str) -> Path:
    base = factory.getbasetemp()
    # Workers have a folder each below the run's own.
    shared = base.parent if base.name.startswith("worker-") else base
    with (shared / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done, out = shared / f"{name}.done", shared / name
        if not done.exists():
            command = [sys.executable, "-m", module, "--out", str(out), *options]
            made = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
            assert made.returncode == 0, made.stderr
            done.touch()
    return out


@pytest.fixture(scope="session")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """For this interpreter, which is what the emulator runs functions in."""
    return _once(tmp_path_factory, "packages", "infra.packaging", "--installed")
