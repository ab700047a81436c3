"""An incident leaves as a file, and that file alone gives the same diagnosis again."""

import json
from pathlib import Path

import pytest
from tests.support.command import affidavit

SCENARIOS = ("both-network-and-permission", "healthy-scary-words", "unreadable-logs-reserved-zero")


@pytest.fixture
def exported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return _exported(SCENARIOS[0], tmp_path, monkeypatch)


def _exported(scenario: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("AFFIDAVIT_DATA", str(folder / "data"))
    affidavit("incident", "submit", "--scenario", scenario)
    done = affidavit("incident", "export", f"scenario-{scenario}", "--out", folder / "cassette.json")
    assert done.returncode == 0, done.stderr
    monkeypatch.setenv("AFFIDAVIT_DATA", str(folder / "elsewhere"))
    return folder / "cassette.json"


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_cassette_replays_to_the_identical_diagnosis(
    scenario: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = affidavit("incident", "replay", _exported(scenario, tmp_path, monkeypatch), "--no-color")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "the recorded one, word for word" in done.stdout
    assert not (tmp_path / "elsewhere").exists()


def test_another_recorded_diagnosis_is_told_from_the_replayed_one(exported: Path) -> None:
    told = json.loads(exported.read_text())
    told["diagnosis"]["root_cause"] = "Somebody tripped over a cable."
    exported.write_text(json.dumps(told))
    done = affidavit("incident", "replay", exported, "--no-color")
    assert done.returncode == 1
    assert "differs from the recorded diagnosis: root_cause." in done.stdout


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
