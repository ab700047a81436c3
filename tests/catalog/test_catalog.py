"""Over every rule: samples hold, both engines agree, and nothing but its own samples trips it."""

from pathlib import Path

import pytest
from tests.support.packs import a_pack, a_rule, a_suppression

from affidavit.errors import InputRefused
from affidavit.evidence.severity import Severity
from affidavit.index.crew import scan_files
from affidavit.index.slots import RuleSlots, Says
from affidavit.rules.matcher import ROOM, compile_matcher
from affidavit.rules.pack import RulePack, load_pack
from affidavit.rules.rule import Rule, Suppression, placed

PACK = load_pack()


def test_the_catalog_loads_and_uses_all_five_severities() -> None:
    assert {rule.severity for rule in PACK.rules} == set(Severity)
    assert len(PACK.rules) >= 40
    assert len(PACK.suppressions) >= 4


@pytest.mark.parametrize("rule", PACK.rules, ids=lambda rule: rule.id)
def test_the_engine_finds_what_a_rules_samples_promise(rule: Rule, tmp_path: Path) -> None:
    """The samples as files, scanned by the real engine with this rule alone."""
    pack = RulePack(rules=(rule,), suppressions=())
    files: dict[str, list[bytes]] = {}
    expected: dict[str, list[int]] = {}
    for sample, must_fire in [(s, True) for s in rule.samples.fires] + [(s, False) for s in rule.samples.quiet]:
        line, path, _ = placed(sample, rule)
        files.setdefault(path, []).append(line)
        if must_fire:
            expected.setdefault(path, []).append(len(files[path]))
    locations: dict[str, Path] = {}
    for number, (path, lines) in enumerate(files.items()):
        locations[path] = tmp_path / str(number)
        locations[path].write_bytes(b"\n".join(lines))
    for engine in ("hyperscan", "re2"):
        slots = RuleSlots(pack, engine=engine)
        found: dict[str, list[int]] = {}
        for path, result in scan_files(locations, slots, 1).items():
            for slot, line in zip(result.hits.slot.tolist(), result.hits.line.tolist(), strict=True):
                if slots.table[slot].says is Says.FAULT:
                    found.setdefault(path, []).append(line)
        assert found == expected, engine


def test_all_patterns_together_compile_in_one_engine() -> None:
    patterns = [(slot, pattern) for slot, rule in enumerate(PACK.rules) for pattern in rule.match]
    assert compile_matcher(patterns, engine="hyperscan").scan(bytearray(b"nothing\n" + bytes(ROOM)), 8) == []


@pytest.mark.parametrize("suppression", PACK.suppressions, ids=lambda suppression: suppression.id)
def test_a_suppression_covers_hits_of_its_rules_and_no_more(suppression: Suppression) -> None:
    rules = [PACK.rule(rule) for rule in suppression.rules]
    for line in suppression.samples.suppressed:
        assert any(rule.wordings.match(line.encode()) for rule in rules), line
    for line in suppression.samples.kept:
        assert any(rule.wordings.match(line.encode()) for rule in rules), line


@pytest.mark.parametrize(
    ("pattern", "problem"),
    [
        ("a(?=b)", "invalid perl operator"),
        (r"(a)\1", "invalid escape"),
        ("x*", "empty line"),
        (r"foo\nbar", r"\\n"),
        (r"\Afoo", r"\\A"),
        ("café", "ASCII"),
        (r"[\W]foo", "line feed"),
        (r"foo[[:space:]]bar", "line feed"),
        (r"foo\vbar", "disagree"),
        ("(?s)foo", "flag s"),
        ("foo(", "missing"),
    ],
)
def test_a_pattern_that_cannot_be_used_is_refused_with_the_reason(pattern: str, problem: str) -> None:
    with pytest.raises(InputRefused, match=problem):
        a_pack(a_rule("t.bad", pattern, fires="foo"))


def test_a_rule_that_misses_its_sample_is_refused() -> None:
    with pytest.raises(InputRefused, match=r"stays quiet on a line that must fire.*no pattern matches"):
        a_pack(a_rule("t.rule", "KAPUT", fires="fine"))


def test_a_rule_that_fires_on_its_near_miss_is_refused() -> None:
    with pytest.raises(InputRefused, match="must stay quiet"):
        a_pack(a_rule("t.rule", "KAPUT", samples={"fires": ["KAPUT"], "quiet": ["KAPUT too"]}))


def test_a_wording_without_a_sample_is_refused() -> None:
    with pytest.raises(InputRefused, match="no sample shows the wording 'BROKEN'"):
        a_pack(a_rule("t.rule", "KAPUT", "BROKEN", samples={"fires": ["KAPUT"], "quiet": ["fine"]}))


def test_a_rule_that_reads_nothing_that_exists_is_refused() -> None:
    with pytest.raises(InputRefused, match="names kernul"):
        a_pack(a_rule("t.rule", "KAPUT", reads=["kernul"]))


def test_two_rules_of_one_name_are_refused() -> None:
    with pytest.raises(InputRefused, match="share the name"):
        a_pack(a_rule("t.one", "ONE", name="Same"), a_rule("t.two", "TWO", name="Same"))


def test_a_suppression_that_misses_its_sample_or_takes_too_much_is_refused() -> None:
    rule = a_rule("t.rule", "KAPUT")
    with pytest.raises(InputRefused, match="does not cover"):
        a_pack(rule, a_suppression("s", ["t.rule"], "drill", suppressed="KAPUT", kept="KAPUT"))
    with pytest.raises(InputRefused, match="must keep"):
        a_pack(rule, a_suppression("s", ["t.rule"], "KAPUT", suppressed="KAPUT", kept="KAPUT"))
    with pytest.raises(InputRefused, match=r"names t\.gone"):
        a_pack(rule, a_suppression("s", ["t.gone"], "drill", suppressed="drill", kept="KAPUT"))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("id: [", "cannot be read"),
        ("id: t.x\nname: Some rule\n", "Field required"),
        ("just text", "valid dictionary"),
        ("id: other.name\n", "Field required"),
    ],
)
def test_a_rule_file_that_is_not_one_is_refused(text: str, problem: str, tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text(text)
    with pytest.raises(InputRefused, match=f"bad.yaml.*{problem}"):
        load_pack(tmp_path)
