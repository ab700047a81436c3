"""The demo begins only when it can end, and ends with a command that can be typed as it stands."""

import os
import subprocess
from pathlib import Path

import pytest

from affidavit.entrypoints.cli.demo.command import DemoOptions, command_name, run_demo
from affidavit.entrypoints.cli.demo.node_story import unused_results
from affidavit.errors import InputRefused


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


@pytest.mark.parametrize(("provider", "model"), [("foo", ""), ("bedrock", "")])
def test_a_chat_model_that_cannot_be_asked_is_refused_before_anything_starts(
    provider: str, model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(InputRefused):
        run_demo(DemoOptions(provider=provider, model=model, out=tmp_path))
    told = capsys.readouterr()
    assert told.out + told.err == ""


def test_a_second_demo_in_the_same_folder_overwrites_no_evidence(tmp_path: Path) -> None:
    assert unused_results(tmp_path) == tmp_path / "results"
    for name in ("results", "results-2"):
        (tmp_path / name).mkdir()
    assert unused_results(tmp_path) == tmp_path / "results-3"
