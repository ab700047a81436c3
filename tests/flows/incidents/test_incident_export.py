"""An incident leaves as a file, and that file alone gives the same diagnosis again."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.processes.command import affidavit

from affidavit.entrypoints.cli.eval.adversarial import simulated_aws
from affidavit.sandbox.chat_models.attacks import attack
from affidavit.sandbox.chat_models.bedrock import PREFIX, BedrockSimulator
from affidavit.sandbox.chat_models.honest_model import good

LIARS = ("quotes-almost", "right-tool-wrong-value", "never-submits")
SCENARIOS = ("both-network-and-permission", "healthy-scary-words", "unreadable-logs-reserved-zero")


@pytest.fixture
def exported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return _exported(SCENARIOS[0], tmp_path, monkeypatch)


@pytest.fixture
def chat_models(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An honest one and several that lie, behind the real client of Bedrock."""
    scripts = {"good": good, **{name: attack(name, 3) for name in LIARS}}
    with BedrockSimulator(scripts=scripts) as simulator:
        for name, value in simulated_aws(simulator.url).items():
            monkeypatch.setenv(name, value)
        yield


def _exported(scenario: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("AFFIDAVIT_DATA", str(folder / "data"))
    affidavit("incident", "submit", "--scenario", scenario)
    done = affidavit("incident", "export", f"scenario-{scenario}", "--out", folder / "cassette.json")
    assert done.returncode == 0, done.stderr
    files = [folder / "cassette.json", *(folder / "data").rglob("*.sqlite*")]
    assert {one.stat().st_mode & 0o777 for one in files} == {0o600}, "they hold what logs and alerts said"
    monkeypatch.setenv("AFFIDAVIT_DATA", str(folder / "elsewhere"))
    return folder / "cassette.json"


def test_a_place_that_cannot_be_written_to_is_refused_by_name(
    exported: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AFFIDAVIT_DATA", str(tmp_path / "data"))
    done = affidavit("incident", "export", f"scenario-{SCENARIOS[0]}", "--out", tmp_path / "nowhere" / "x.json")
    assert done.returncode == 2
    assert f"{tmp_path}/nowhere/x.json cannot be written: No such file" in done.stderr
    assert "choose another --out" in done.stderr


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_cassette_replays_to_the_identical_diagnosis(
    scenario: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = affidavit("incident", "replay", _exported(scenario, tmp_path, monkeypatch), "--no-color")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "the recorded one, word for word" in done.stdout
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize("name", ["good", *LIARS])
def test_the_turns_of_a_chat_model_are_played_back_to_the_identical_diagnosis(
    name: str, chat_models: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CHAT_PROVIDER", "bedrock")
    monkeypatch.setenv("CHAT_MODEL_ID", f"{PREFIX}{name}")
    file = _exported(SCENARIOS[0], tmp_path, monkeypatch)
    told = json.loads(file.read_text())
    assert (len(told["turns"]) >= 3, told["notes"]) == (True, [])
    assert told["diagnosis"]["produced_by"] == ("chat_model" if name == "good" else "rules")
    for gone in ("CHAT_PROVIDER", "CHAT_MODEL_ID", "AWS_ENDPOINT_URL_BEDROCK_RUNTIME"):
        monkeypatch.delenv(gone)
    done = affidavit("incident", "replay", file, "--no-color")
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"word for word ({len(told['turns'])} turns of the chat model)" in " ".join(done.stdout.split())


def test_a_turn_that_was_changed_gives_another_diagnosis(
    chat_models: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CHAT_PROVIDER", "bedrock")
    monkeypatch.setenv("CHAT_MODEL_ID", f"{PREFIX}good")
    file = _exported(SCENARIOS[0], tmp_path, monkeypatch)
    told = json.loads(file.read_text())
    told["turns"][-1]["tool_calls"][0]["args"]["evidence"][0]["value"] = "something that nobody recorded"
    file.write_text(json.dumps(told))
    done = affidavit("incident", "replay", file, "--no-color")
    assert done.returncode == 1
    assert "differs from the recorded diagnosis" in " ".join(done.stdout.split())


def test_another_recorded_diagnosis_is_told_from_the_replayed_one(exported: Path) -> None:
    told = json.loads(exported.read_text())
    told["diagnosis"]["root_cause"] = "Somebody tripped over a cable."
    exported.write_text(json.dumps(told))
    done = affidavit("incident", "replay", exported, "--no-color")
    assert done.returncode == 1
    assert "differs from the recorded diagnosis (rules, as then): root_cause." in " ".join(done.stdout.split())


def test_an_answer_that_was_changed_on_the_way_is_refused(exported: Path) -> None:
    exported.write_text(exported.read_text().replace("implicitDeny", "allowed"))
    done = affidavit("incident", "replay", exported)
    assert done.returncode == 3
    assert "was changed after it was recorded" in done.stderr


def test_a_file_that_is_no_cassette_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text('{"cassette": 1}')
    assert affidavit("incident", "replay", tmp_path / "x.json").returncode == 2
    assert affidavit("incident", "replay", tmp_path / "gone.json").returncode == 2


def test_an_incident_that_is_not_known_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AFFIDAVIT_DATA", str(tmp_path / "data"))
    assert affidavit("incident", "export", "nobody").returncode == 2


def test_a_signed_export_is_taken_only_as_it_was_signed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AFFIDAVIT_DATA", str(tmp_path / "data"))
    for folder in ("keys", "others"):
        affidavit("keys", "new", "--out", tmp_path / folder)
    affidavit("incident", "submit", "--scenario", SCENARIOS[0])
    out, statement = tmp_path / "incident.json", tmp_path / "incident.json.statement.json"
    key, public, other = (
        tmp_path / name for name in ("keys/affidavit.key", "keys/affidavit.pub", "others/affidavit.pub")
    )
    done = affidavit("incident", "export", f"scenario-{SCENARIOS[0]}", "--out", out, "--sign", key)
    assert (done.returncode, statement.stat().st_mode & 0o777) == (0, 0o600), done.stderr
    assert affidavit("incident", "replay", out, "--key", public).returncode == 0
    fallen = affidavit("incident", "replay", out, "--key", other)
    assert (fallen.returncode, "is not signed by this key" in " ".join(fallen.stdout.split())) == (1, True)
    told = json.loads(out.read_text())
    told["diagnosis"]["root_cause"] += " Or so."
    out.write_text(json.dumps(told))
    changed = affidavit("incident", "replay", out, "--key", public)
    assert (changed.returncode, "is not the export that was signed" in " ".join(changed.stdout.split())) == (1, True)
    statement.unlink()
    missing = affidavit("incident", "replay", out, "--key", public)
    assert (missing.returncode, "nobody signed this export" in " ".join(missing.stdout.split())) == (1, True)


def test_a_signature_needs_a_file_to_stand_beside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AFFIDAVIT_DATA", str(tmp_path))
    done = affidavit("incident", "export", "inc-1", "--sign", tmp_path / "key")
    assert (done.returncode, "add --out FILE" in done.stderr) == (2, True)
