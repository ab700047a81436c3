"""Rules that held once are taken at their word; anything else is tried."""

import os
from pathlib import Path

import pytest

from affidavit.errors import InputRefused
from affidavit.rules import pack, passed_sample_checks
from affidavit.rules.pack import load_pack

RULE = """
id: mine.kaput
name: It is kaput
means: It broke.
severity: high
because: It matters.
signal: test.signal
reads: [any]
match: ['KAPUT']
first_steps: [Look.]
samples:
  fires: ['KAPUT']
  quiet: ['{quiet}']
"""


@pytest.fixture
def overlay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "rules" / "mine").mkdir(parents=True)
    (tmp_path / "rules" / "mine" / "kaput.yaml").write_text(RULE.format(quiet="fine"))
    return tmp_path / "rules"


def never(*_arguments: object) -> None:
    raise AssertionError("it was tried again")


def test_what_held_is_not_tried_again(overlay: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = load_pack(overlay)
    monkeypatch.setattr(pack, "check_pack", never)
    assert load_pack(overlay).version == first.version


def test_a_changed_rule_is_tried(overlay: Path) -> None:
    load_pack(overlay)
    (overlay / "mine" / "kaput.yaml").write_text(RULE.format(quiet="still KAPUT"))
    for _ in range(2):
        with pytest.raises(InputRefused, match=r"mine\.kaput"):
            load_pack(overlay)


def test_changed_code_tries_every_rule(overlay: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    load_pack(overlay)
    monkeypatch.setattr(passed_sample_checks, "_code", lambda: ("another day",))
    monkeypatch.setattr(pack, "check_pack", never)
    with pytest.raises(AssertionError, match="tried again"):
        load_pack(overlay)


def test_marks_that_others_could_have_written_mean_nothing(overlay: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    load_pack(overlay)
    (overlay.parent / "cache" / "affidavit" / "checked").chmod(0o777)
    monkeypatch.setattr(pack, "check_pack", never)
    with pytest.raises(AssertionError, match="tried again"):
        load_pack(overlay)


def test_an_edited_file_of_ours_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in passed_sample_checks._JUDGES:
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
    file = tmp_path / "rules" / "rule.py"
    file.write_text("a = 1\n")
    monkeypatch.setattr(passed_sample_checks, "_OURS", tmp_path)
    passed_sample_checks._code.cache_clear()
    before = passed_sample_checks._code()
    file.write_text("a = 2\n")
    os.utime(file, ns=(1, 1))
    passed_sample_checks._code.cache_clear()
    assert passed_sample_checks._code() != before
    passed_sample_checks._code.cache_clear()
