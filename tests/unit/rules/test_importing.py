"""A node problem detector's configuration: what becomes a rule, with which sample, and what is left with the reason."""

import json
from typing import Any

import pytest
from tests.support.each import for_each

from affidavit.errors import InputRefused
from affidavit.evidence.severity import Severity
from affidavit.matching.pattern_language import Wordings
from affidavit.rules.pack import load_pack, rule_problems
from affidavit.rules.pattern_text_generation import example
from affidavit.rules.problem_detector_import import Imported, commented_file, import_detector, rule_file, slug


def imported(*rules: dict[str, Any], **config: Any) -> Imported:
    return import_detector(json.dumps({"plugin": "kmsg", "source": "kernel-monitor", "rules": rules, **config}))


def a_detection(pattern: str, **fields: Any) -> dict[str, Any]:
    return {"type": "temporary", "reason": "SomeReason", "pattern": pattern, **fields}


def test_a_pattern_becomes_a_rule_that_holds() -> None:
    pattern = r"Killed process \d+ (.+) total-vm:\d+kB, anon-rss:\d+kB, file-rss:\d+kB.*"
    [rule] = imported(a_detection(pattern, reason="OOMKilling")).rules
    assert (rule.id, rule.name, rule.severity) == ("npd.oom-killing", "OOM killing", Severity.MEDIUM)
    assert rule.reads == ("kernel",)
    assert not list(rule_problems(rule, {}))


def test_a_permanent_problem_is_high_and_names_its_condition() -> None:
    detection = a_detection("XFS .* Shutting down filesystem.?", type="permanent", condition="XfsShutdown")
    [rule] = imported(detection).rules
    assert rule.severity is Severity.HIGH
    assert "XfsShutdown" in rule.because


@pytest.mark.parametrize(
    ("config", "reads"),
    [
        ({"plugin": "kmsg", "source": "readonly-monitor", "logPath": "/dev/kmsg"}, "kernel"),
        ({"plugin": "filelog", "source": "kernel-monitor", "logPath": "/var/log/kern.log"}, "kernel"),
        ({"plugin": "journald", "source": "docker-monitor", "pluginConfig": {"source": "dockerd"}}, "docker"),
        ({"plugin": "journald", "source": "systemd-monitor", "pluginConfig": {"source": "systemd"}}, "systemd"),
        ({"plugin": "journald", "source": "abrt-adaptor", "pluginConfig": {"source": "abrt-notification"}}, "any"),
    ],
)
def test_the_source_says_which_component_is_read(config: dict[str, Any], reads: str) -> None:
    [rule] = imported(a_detection("something went wrong"), **config).rules
    assert rule.reads == (reads,)
    assert not list(rule_problems(rule, {}))


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        (r"^begins here\z", "begins here$"),
        (r".*\[Hardware Error\]: event severity: fatal$", r"\[Hardware Error\]: event severity: fatal$"),
        (r"\Qa.b(c)\E went", r"a\.b\(c\) went"),
        (r"one[[:space:]]two words", r"one[ \t]two words"),
        (r"(?s)one.two words", "one.two words"),
        ("caf\u00e9 closed", r"caf\xc3\xa9 closed"),
    ],
)
def test_what_re2_on_whole_lines_needs_is_translated(theirs: str, ours: str) -> None:
    [rule] = imported(a_detection(theirs)).rules
    assert rule.match == (ours,)
    assert not list(rule_problems(rule, {}))


@pytest.mark.parametrize(
    ("detection", "why"),
    [
        (a_detection(r"one line\nanother"), "several lines at once"),
        (a_detection("foo(?=bar)"), "invalid perl operator"),
        (a_detection(r"foo\b\wbar"), "no line that it matches"),
        (a_detection("x*"), "empty line"),
        ({"type": "permanent", "reason": "NTPIsDown", "path": "./check_ntp.sh"}, "it runs ./check_ntp.sh"),
    ],
)
def test_what_cannot_be_imported_is_left_with_the_reason(detection: dict[str, Any], why: str) -> None:
    result = imported(a_detection("a good pattern"), detection)
    assert len(result.rules) == 1
    [left] = result.left
    assert why in left.why
    assert all(line.startswith("# ") for line in commented_file(left).splitlines())


def test_a_counting_program_becomes_a_rule_that_needs_repetition() -> None:
    arguments = ["--journald-source=systemd", "--lookback=20m", "--count=5", "--pattern=Started Kubernetes kubelet."]
    detection = {"type": "permanent", "reason": "FrequentKubeletRestart", "path": "/bin/log-counter", "args": arguments}
    [rule] = imported(detection, plugin="custom", source="x").rules
    assert rule.reads == ("systemd",)
    assert rule.repeated is not None
    assert (rule.repeated.times, rule.repeated.within_seconds) == (5, 1200)


def test_equal_reasons_get_ids_and_names_of_their_own() -> None:
    both = [a_detection("first kind of oops", reason="KernelOops"), a_detection("second kind", reason="KernelOops")]
    config = json.dumps({"source": "kernel-monitor", "rules": both})
    rules = import_detector(config, taken_names=["Kernel oops"]).rules
    assert [rule.id for rule in rules] == ["npd.kernel-oops", "npd.kernel-oops-2"]
    assert len({rule.name for rule in rules} | {"Kernel oops"}) == 3


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"rules": [{"pattern": "x"}]}', "[" * 100_000])
def test_a_file_that_is_no_configuration_is_refused(text: str) -> None:
    with pytest.raises(InputRefused, match="no configuration of the node problem detector"):
        import_detector(text)


def test_a_rule_reads_back_from_the_file_it_is_written_to(tmp_path: Any) -> None:
    [rule] = imported(a_detection("it's: #broken [always] %d")).rules
    (tmp_path / "npd").mkdir()
    (tmp_path / "npd" / "some-reason.yaml").write_text(rule_file(rule), "utf-8")
    assert load_pack(tmp_path).rule("npd.some-reason") == rule


@for_each("rule", load_pack().rules, label=lambda rule: rule.id)
def test_an_example_can_be_made_of_every_wording_in_the_catalog(rule: Any) -> None:
    for wording in rule.match:
        assert Wordings((wording,)).match(example(wording).text.encode("latin-1")), wording


@pytest.mark.parametrize(
    ("pattern", "fixed"),
    [("abc", 3), ("a.c", 2), ("(?:abc|d)e", 2), ("ab*", 1), ("(ab)+", 2), ("(?i)a[bc]{2}d", 2), (r"\[\d{3}\]", 2)],
)
def test_fixed_characters_are_those_of_the_weakest_way_through(pattern: str, fixed: int) -> None:
    assert example(pattern).fixed == fixed


def test_reasons_become_slugs() -> None:
    names = ["OOMKilling", "XfsHasShutdown", "IPTablesVersionsMismatch", "Ext4Error"]
    assert [slug(name) for name in names] == [
        "oom-killing",
        "xfs-has-shutdown",
        "ip-tables-versions-mismatch",
        "ext-4-error",
    ]
