from pathlib import Path
from typing import Any

import pytest
import yaml

from affidavit.checks.run_on_bundle import load_checks, version_of
from affidavit.errors import InputRefused


def a_check(**changes: Any) -> dict[str, Any]:
    return {
        "id": "mine.full",
        "name": "My disk is full",
        "means": "The disk of my own is full.",
        "severity": "low",
        "because": "It is only an example.",
        "signal": "storage.space",
        "reads": ["storage/xfs.txt"],
        "compute": "disk.free-extents",
        "arguments": {"below": 5},
        "first_steps": ["Look."],
        "samples": {
            "fires": [
                {
                    "files": {"storage/xfs.txt": "average free extent size 4\n"},
                    "shows": [{"in": "storage/xfs.txt", "line": 1}],
                }
            ],
            "quiet": [{"files": {"storage/xfs.txt": "average free extent size 5\n"}}],
        },
        **changes,
    }


def overlay(folder: Path, *checks: dict[str, Any], name: str = "check") -> Path:
    for number, check in enumerate(checks):
        (folder / f"{name}{number}.yaml").write_text(yaml.safe_dump(check))
    return folder


def test_an_overlay_adds_a_check(tmp_path: Path) -> None:
    assert "mine.full" in {check.id for check in load_checks(overlay(tmp_path, a_check()))}


def test_an_overlay_replaces_a_check_of_the_same_id(tmp_path: Path) -> None:
    mine = a_check(id="storage.xfs-free-space-fragmented")
    checks = {check.id: check for check in load_checks(overlay(tmp_path, mine))}
    assert checks["storage.xfs-free-space-fragmented"].arguments == {"below": 5}
    assert len(checks) == len(load_checks())


def test_an_overlay_switches_a_check_off(tmp_path: Path) -> None:
    mine = a_check(id="storage.xfs-free-space-fragmented", status=False)  # YAML reads a bare `off` so
    assert "storage.xfs-free-space-fragmented" not in {check.id for check in load_checks(overlay(tmp_path, mine))}


def test_the_version_changes_exactly_when_a_check_does(tmp_path: Path) -> None:
    assert version_of(load_checks()) == version_of(reversed(load_checks()))
    assert version_of(load_checks()) != version_of(load_checks(overlay(tmp_path, a_check())))


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"arguments": {"below": 4}}, r"mine.full shows nothing of a sample that must show storage/xfs.txt:1"),
        ({"arguments": {"below": 6}}, r"mine.full shows storage/xfs.txt:1 of a sample that must stay quiet"),
        ({"compute": "disk.magic"}, r"there is no computation 'disk.magic'"),
        ({"arguments": {}}, r"disk.free-extents needs below"),
        ({"arguments": {"below": 5, "above": 1}}, r"does not take above"),
        ({"arguments": {"below": "five"}}, r"arguments.below: .*number"),
        ({"mistaken_for": ["no.such"]}, r"names no.such, which does not exist"),
        ({"reads": ["storage/other.txt"]}, r"holds storage/xfs.txt, which the check does not read"),
        ({"name": "File system full"}, r"share the name 'File system full'"),
        ({"severity": "bad"}, r"severity: "),
        ({"match": ["x"]}, r"match: Extra inputs"),
    ],
)
def test_a_check_that_does_not_hold_is_refused_with_the_reason(
    changes: dict[str, Any], problem: str, tmp_path: Path
) -> None:
    with pytest.raises(InputRefused, match=problem):
        load_checks(overlay(tmp_path, a_check(**changes)))


def test_a_look_alike_may_be_a_rule_or_a_check(tmp_path: Path) -> None:
    look_alikes = ["kernel.conntrack-table-full", "storage.disk-full"]
    assert load_checks(overlay(tmp_path, a_check(mistaken_for=look_alikes)))


def test_a_path_that_does_not_say_the_id_is_refused(tmp_path: Path) -> None:
    (tmp_path / "storage").mkdir()
    overlay(tmp_path / "storage", a_check())
    with pytest.raises(InputRefused, match=r"its id is 'mine.full'"):
        load_checks(tmp_path)


def test_an_overlay_that_is_no_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputRefused, match="is not a directory"):
        load_checks(tmp_path / "none")


def test_a_file_that_is_no_yaml_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_bytes(b"id: [\xff")
    with pytest.raises(InputRefused, match=r"x.yaml cannot be read"):
        load_checks(tmp_path)
