"""The demo ends with a command that can be typed as it stands."""

import os
import subprocess
from pathlib import Path

import pytest

from affidavit.entrypoints.cli.demo import command_name


def test_outside_an_activated_environment_the_command_is_named_with_its_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    name = command_name()
    assert os.sep in name
    done = subprocess.run([*name.split(), "--version"], capture_output=True, text=True, check=False, timeout=60)
    assert done.stdout.startswith("affidavit ")


def test_on_the_path_its_name_is_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "affidavit").write_text("")
    (tmp_path / "affidavit").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert command_name() == "affidavit"
