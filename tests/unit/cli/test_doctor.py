"""`affidavit doctor` and `affidavit completion`, as a person and a shell use them."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.processes.command import affidavit
from typer.testing import CliRunner

from affidavit.entrypoints.cli.main import app
from affidavit.entrypoints.doctor.installation import Observation
from affidavit.entrypoints.package_extras import EXTRAS, Extra, extra_with
from affidavit.errors import InputRefused


def test_the_doctor_says_what_works_and_exits_with_0() -> None:
    done = affidavit("doctor", "--json")
    assert done.returncode == 0, done.stderr
    seen = {one["name"]: one for one in json.loads(done.stdout)}
    assert {extra.name for extra in EXTRAS} < set(seen)
    assert "rules" in seen["rules"]["said"]


def test_every_extra_of_the_package_is_in_the_table() -> None:
    from importlib.metadata import metadata

    told = set(metadata("affidavit").get_all("Provides-Extra") or ())
    assert told - {"dev", "infra"} == {extra.name for extra in EXTRAS}


def test_a_missing_package_is_told_with_the_extra_that_brings_it() -> None:
    absent = Extra(name="x", modules=("nowhere.at_all", "json"), gives="nothing")
    assert absent.missing == ("nowhere.at_all",)
    found = extra_with("langchain_openai.chat_models")
    assert found is not None and found.name == "openai"
    assert extra_with("tomllib") is None


def test_the_line_that_installs_an_extra_brings_what_it_needs_beside() -> None:
    lines = {extra.name: extra.install_line for extra in EXTRAS}
    assert lines["fleet"] == "pip install 'affidavit[fleet]'"
    assert lines["ollama"] == "pip install 'affidavit[agent,ollama]'"
    assert lines["sandbox"] == "pip install 'affidavit[agent,aws,sandbox]'"


def test_only_what_is_needed_and_missing_is_wrong() -> None:
    assert Observation(name="rules", said="", is_there=False, is_needed=True).is_wrong
    assert not Observation(name="console", said="", is_there=False).is_wrong


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_gets_its_script(shell: str) -> None:
    done = affidavit("completion", shell)
    assert done.returncode == 0 and "_AFFIDAVIT_COMPLETE" in done.stdout


def test_a_real_bash_completes_a_command() -> None:
    script = """source <(affidavit completion bash)
    COMP_WORDS=(affidavit ana); COMP_CWORD=1; _affidavit_completion affidavit; echo "${COMPREPLY[@]}" """
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(["bash", "-c", script], env={"PATH": path}, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["analyze"], done.stderr


WHOLE_STORY = ("agent", "aws", "sandbox")


@pytest.mark.parametrize(
    ("command", "needed"),
    [
        ("sandbox up", WHOLE_STORY),
        ("sandbox up --detach", WHOLE_STORY),
        ("sandbox down", WHOLE_STORY),
        ("sandbox status", WHOLE_STORY),
        ("sandbox env", WHOLE_STORY),
        ("sandbox invoke", WHOLE_STORY),
        ("sandbox alarm i-0a11ce0000000001", WHOLE_STORY),
        ("demo", WHOLE_STORY),
        ("demo --console", ("agent", "aws", "console", "sandbox")),
        ("incident submit --scenario permission-s3-statement-removed --offline", ("agent",)),
        ("incident redrive some-incident", ("agent",)),
        ("eval all", ("agent",)),
        ("eval adversarial", ("agent",)),
    ],
)
def test_a_command_names_all_that_it_lacks_at_once_and_leaves_nothing(
    command: str, needed: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AFFIDAVIT_DATA", str(tmp_path / "data"))
    for extra in EXTRAS:
        for module in extra.modules if extra.name in needed else ():
            monkeypatch.setitem(sys.modules, module, None)
    refused = CliRunner().invoke(app, command.split()).exception
    assert isinstance(refused, InputRefused)
    assert all(f"`{name}`" in str(refused) for name in needed)
    assert set(refused.hint.removeprefix("pip install 'affidavit[").removesuffix("]'").split(",")) == set(needed)
    assert not [*tmp_path.iterdir()]
