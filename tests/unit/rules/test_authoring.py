"""What an author is told: why a rule stays quiet, what it reads, what is wrong with it."""

from pathlib import Path

import pytest
from tests.support.knowledge.packs import a_pack, a_rule, a_suppression

from affidavit.errors import InputRefused
from affidavit.rules.authoring import (
    LineVerdict,
    RuleOrigin,
    component_files,
    files_read,
    judge_line,
    look_alikes,
    open_library,
    problems,
    skeleton,
)
from affidavit.rules.problem_detector_import import rule_file
from affidavit.rules.rule import Rule

KUBELET_LINE = "Jan 15 10:25:03 host kubelet[1]: KAPUT"


def an_overlay(folder: Path, *rules: Rule) -> Path:
    for rule in rules:
        (folder / f"{rule.id}.yaml").write_text(rule_file(rule))
    return folder


def complaints(folder: Path) -> list[str]:
    return [str(problem.error) for problem in problems(open_library(folder))]


@pytest.mark.parametrize(
    ("line", "path", "verdict", "why"),
    [
        ("KAPUT", "kernel/dmesg.current", LineVerdict.FIRES, ""),
        ("KAPUT", "kubelet/kubelet.log", LineVerdict.NOT_READ, "it reads kernel and not kubelet/kubelet.log"),
        ("KAPUT", "kubelet/config.json", LineVerdict.NOT_READ, "a copy of configuration"),
        ("KAPUT", "system/ps.txt", LineVerdict.NOT_READ, "command output"),
        (KUBELET_LINE, "var_log/messages", LineVerdict.OTHER_COMPONENT, "kubelet wrote the line"),
        ("KAPUT in a test", "kernel/dmesg.current", LineVerdict.EXCEPTED, "`unless` takes it out: in a test"),
        ("KAPUT drill", "kernel/dmesg.current", LineVerdict.SUPPRESSED, "by drills: The test explains it."),
    ],
)
def test_a_line_that_matches_gets_a_verdict_and_the_reason(
    line: str, path: str, verdict: LineVerdict, why: str
) -> None:
    rule = a_rule("t.rule", "KAPUT", reads=["kernel"], unless=["in a test"])
    pack = a_pack(rule, a_suppression("drills", ["t.rule"], "drill", suppressed="KAPUT drill", kept="KAPUT"))
    [judged] = judge_line(line, path, pack)
    assert judged.verdict is verdict
    assert why in judged.why


def test_a_line_that_no_wording_matches_gets_no_verdict() -> None:
    assert judge_line("all is well", "kernel/dmesg.current", a_pack(a_rule("t.rule", "KAPUT"))) == []


def test_a_clearing_line_is_told_from_a_fault() -> None:
    samples = {"fires": ["KAPUT"], "quiet": ["fine"], "clears": ["WELL AGAIN"]}
    pack = a_pack(a_rule("t.rule", "KAPUT", cleared_by=["WELL AGAIN"], samples=samples))
    assert [each.verdict for each in judge_line("WELL AGAIN", "var_log/x.log", pack)] == [LineVerdict.CLEARS]


def test_files_are_those_of_the_components_a_rule_reads() -> None:
    assert "kernel/dmesg.current" in files_read(a_rule("t.rule", "KAPUT", reads=["kernel"]))
    assert "kubelet/kubelet.log" not in files_read(a_rule("t.rule", "KAPUT", reads=["kernel"]))
    assert "kubelet/kubelet.log" in component_files()["kubelet"]


def test_look_alikes_are_named_ones_overlapping_ones_and_those_of_the_same_signal() -> None:
    rule = a_rule("t.rule", "KAPUT", mistaken_for=["t.named"], signal="t.signal")
    others = [
        a_rule("t.named", "NAMED", signal="t.other"),
        a_rule("t.overlaps", "KAP", signal="t.other"),
        a_rule("t.family", "FAMILY", signal="t.signal"),
        a_rule("t.stranger", "STRANGER", signal="t.other"),
    ]
    assert list(look_alikes(rule, a_pack(rule, *others))) == ["t.named", "t.overlaps", "t.family"]


def test_origins_tell_own_replaced_patched_and_switched_off_rules(tmp_path: Path) -> None:
    own = a_rule("acme.own", "KAPUT")
    replaced = open_library().rule("kernel.bug").model_copy(update={"name": "Another name"})
    an_overlay(tmp_path, own, replaced)
    patches = "rules: {kernel.oops: {severity: low}, kernel.panic: {status: off}}"
    (tmp_path / "patches.yaml").write_text(patches)
    library = open_library(tmp_path)
    ids = ["acme.own", "kernel.bug", "kernel.oops", "kernel.panic", "kernel.hung-task"]
    assert [library.origin(library.rule(each)) for each in ids] == [
        RuleOrigin.OVERLAY,
        RuleOrigin.REPLACED,
        RuleOrigin.PATCHED,
        RuleOrigin.OFF,
        RuleOrigin.BUILT_IN,
    ]


def test_lint_reports_all_that_is_wrong_with_a_rule_at_once(tmp_path: Path) -> None:
    rule = a_rule(
        "t.bad",
        "KAP",
        "never shown here",
        name="A name that goes on for longer than any other name does",
        reads=["any", "kernul"],
        mistaken_for=["t.gone"],
        samples={"fires": ["KAP"], "quiet": ["fine", "KAP too"]},
    )
    found = "\n".join(complaints(an_overlay(tmp_path, rule)))
    for said in (
        "names kernul, t.gone",
        "must stay quiet: 'KAP too'",
        "no sample shows the wording",
        "3 fixed",
        "near miss",
        "55 char",
    ):
        assert said in found


def test_lint_names_each_pattern_that_does_not_compile(tmp_path: Path) -> None:
    found = complaints(an_overlay(tmp_path, a_rule("t.bad", "BROKEN(", "x*", fires="BROKEN")))
    assert any("BROKEN(" in problem for problem in found)
    assert any("empty line" in problem for problem in found)


def test_lint_finds_duplicates_of_built_in_rules(tmp_path: Path) -> None:
    line = "[ 8123.5] oom_reaper: reaped process 1 (java), now anon-rss:0kB"
    same = a_rule("t.same", r"oom_reaper: reaped process \d+ ", fires=line, reads=["kernel"])
    found = complaints(an_overlay(tmp_path, same))
    assert any("kernel.oom-reaper-ran has the wording" in problem for problem in found)
    assert any("kernel.oom-reaper-ran fires on all its samples already" in problem for problem in found)


def test_a_skeleton_loads_and_passes_lint_once_its_samples_are_real(tmp_path: Path) -> None:
    file = tmp_path / "kernel" / "disk-on-fire.yaml"
    file.parent.mkdir()
    file.write_text(skeleton("kernel.disk-on-fire"))
    assert complaints(tmp_path) == ["a sample is still the placeholder"]
    file.write_text(file.read_text().replace("(replace this line)", "[ 8123.551210] nvme0n1:"))
    assert complaints(tmp_path) == []


@pytest.mark.parametrize("wrong", ["kernel", "Kernel.x", "kernel.x.y", "kernel/x", "../x.y"])
def test_an_id_that_is_none_is_refused(wrong: str) -> None:
    with pytest.raises(InputRefused, match="is not an id"):
        skeleton(wrong)


def test_an_unknown_rule_is_refused_with_its_nearest(tmp_path: Path) -> None:
    with pytest.raises(InputRefused, match=r"there is no rule 'cni.oom-killer-invoked'") as refused:
        open_library().rule("cni.oom-killer-invoked")
    assert "kernel.oom-killer-invoked" in refused.value.hint
