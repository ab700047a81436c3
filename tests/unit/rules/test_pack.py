"""Overlays: what is added, replaced, patched and switched off, and what is refused."""

from pathlib import Path

import pytest

from affidavit.errors import InputRefused
from affidavit.evidence.severity import Severity
from affidavit.rules.authoring import skeleton
from affidavit.rules.pack import load_pack, merge, read_catalog, read_overlay

BUILT_IN = load_pack()
REAPER = "kernel.oom-reaper-ran"
PROBES = "tls-handshake-errors-from-probes"


def an_overlay(folder: Path, patches: str) -> Path:
    (folder / "patches.yaml").write_text(patches)
    return folder


def test_a_patch_changes_the_level_and_nothing_else(tmp_path: Path) -> None:
    patched = load_pack(an_overlay(tmp_path, f"rules: {{{REAPER}: {{severity: low}}}}"))
    before, after = BUILT_IN.rule(REAPER), patched.rule(REAPER)
    assert after.severity is Severity.LOW
    assert after.model_copy(update={"severity": before.severity}) == before
    assert [rule for rule in patched.rules if rule.id != REAPER] == [r for r in BUILT_IN.rules if r.id != REAPER]


def test_a_patch_switches_rules_and_suppressions_off(tmp_path: Path) -> None:
    text = f"rules: {{any.io-timeout: {{status: off}}}}\nsuppressions: {{{PROBES}: {{status: 'off'}}}}"
    patched = load_pack(an_overlay(tmp_path, text))
    assert {rule.id for rule in BUILT_IN.rules} - {rule.id for rule in patched.rules} == {"any.io-timeout"}
    assert {each.id for each in BUILT_IN.suppressions} - {each.id for each in patched.suppressions} == {PROBES}


@pytest.mark.parametrize(
    "patches",
    [
        f"rules: {{{REAPER}: {{severity: low}}}}",
        f"rules: {{{REAPER}: {{status: off}}}}",
        f"rules: {{{REAPER}: {{first_steps: [Look.]}}}}",
        f"suppressions: {{{PROBES}: {{status: off}}}}",
    ],
)
def test_a_patch_changes_the_version_of_the_pack(patches: str, tmp_path: Path) -> None:
    assert load_pack(an_overlay(tmp_path, patches)).version != BUILT_IN.version


@pytest.mark.parametrize("patches", ["", "# nothing yet\n", "rules: {}", f"rules: {{{REAPER}: {{severity: info}}}}"])
def test_a_patch_that_changes_nothing_keeps_the_version(patches: str, tmp_path: Path) -> None:
    assert load_pack(an_overlay(tmp_path, patches)).version == BUILT_IN.version


def test_a_patch_reaches_rules_of_the_overlay_too(tmp_path: Path) -> None:
    (tmp_path / "acme").mkdir()
    (tmp_path / "acme" / "on-fire.yaml").write_text(skeleton("acme.on-fire"))
    pack = load_pack(an_overlay(tmp_path, "rules: {acme.on-fire: {severity: critical}}"))
    assert pack.rule("acme.on-fire").severity is Severity.CRITICAL


@pytest.mark.parametrize(
    ("patches", "problem"),
    [
        ("rules: {kernel.gone: {severity: low}}", "there is no rule 'kernel.gone'"),
        ("suppressions: {gone: {status: off}}", "there is no suppression 'gone'"),
        (f"rules: {{{REAPER}: {{sevrity: low}}}}", "a patch cannot change sevrity"),
        (f"rules: {{{REAPER}: {{id: kernel.other}}}}", "a patch cannot change id"),
        (f"rules: {{{REAPER}: {{severity: bad}}}}", "severity: Input should be"),
        (f"rules: {{{REAPER}: low}}", "valid dictionary"),
        ("rule: {}", "rule: Extra inputs"),
        (f"rules: {{{REAPER}: {{match: [something else]}}}}", "stays quiet on a line that must fire"),
        ("rules: [", "cannot be read"),
    ],
)
def test_a_patch_that_cannot_be_applied_says_why(patches: str, problem: str, tmp_path: Path) -> None:
    with pytest.raises(InputRefused, match=problem):
        load_pack(an_overlay(tmp_path, patches))


def test_two_files_with_one_id_are_refused(tmp_path: Path) -> None:
    for name in ("one.yaml", "two.yaml"):
        (tmp_path / name).write_text(skeleton("acme.on-fire"))
    with pytest.raises(InputRefused, match=r"two.yaml: another file has the id 'acme.on-fire' too"):
        load_pack(tmp_path)


def test_every_problem_of_an_overlay_is_collected(tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text("id: t.x\nname: x\n")
    (tmp_path / "worse.yaml").write_text("id: [")
    an_overlay(tmp_path, "rules: {kernel.gone: {severity: low}}")
    found = [str(problem) for problem in merge(read_catalog(), read_overlay(tmp_path)).problems]
    assert sum(problem.startswith("bad.yaml") for problem in found) > 3
    assert any(problem.startswith("worse.yaml cannot be read") for problem in found)
    assert any("kernel.gone" in problem for problem in found)


def test_a_file_of_patches_counts_only_at_the_root(tmp_path: Path) -> None:
    (tmp_path / "acme").mkdir()
    (tmp_path / "acme" / "patches.yaml").write_text(skeleton("acme.patches"))
    assert load_pack(tmp_path).rule("acme.patches")
