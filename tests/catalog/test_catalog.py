"""Over every rule, by name: samples hold in both engines, and taking a rule out or breaking it fails its own test."""

from functools import cache
from pathlib import Path

import pytest
from tests.support.knowledge.packs import a_pack, a_rule, a_suppression

from affidavit.bundle.file_recognition import recognise
from affidavit.errors import InputRefused
from affidavit.evidence.severity import Severity
from affidavit.index.scanning.crew import scan_files
from affidavit.index.scanning.rule_matching import LineMeaning, RuleSlots
from affidavit.matching import matcher
from affidavit.matching.matcher import ROOM, compile_matcher
from affidavit.rules.authoring import LineVerdict, judge_line
from affidavit.rules.pack import RulePack, load_pack
from affidavit.rules.rule import Rule, Sample, placed

KNOWN = [
    line
    for line in (Path(__file__).parent / "known_ids.txt").read_text().splitlines()
    if line and not line.startswith("#")
]
RULES = [known for known in KNOWN if not known.startswith("suppressions/")]
SUPPRESSIONS = [known.removeprefix("suppressions/") for known in KNOWN if known.startswith("suppressions/")]
PACK = load_pack()

Places = set[tuple[str, int]]


@pytest.fixture(autouse=True)
def _nothing_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hundreds of engines of one rule each would push those out of the cache that every other test uses."""
    monkeypatch.setattr(matcher, "WORTH_KEEPING", float("inf"))


@cache
def all_rules_at_once() -> RuleSlots:
    return RuleSlots(PACK)


def written(rule: Rule, samples: tuple[Sample, ...], folder: Path) -> tuple[dict[str, Path], Places]:
    """The samples as lines of the files they stand in, and where each one is."""
    files: dict[str, list[bytes]] = {}
    places: Places = set()
    for sample in samples:
        line, path, _ = placed(sample, rule)
        files.setdefault(path, []).append(line)
        places.add((path, len(files[path])))
    locations = {path: folder / str(number) for number, path in enumerate(files)}
    for path, lines in files.items():
        locations[path].write_bytes(b"\n".join(lines))
    return locations, places


def found(locations: dict[str, Path], slots: RuleSlots, rule: Rule) -> dict[tuple[str, int], LineMeaning]:
    """What the engine makes of the lines that it gives to the rule: a fault, or one that a suppression explains."""
    said: dict[tuple[str, int], LineMeaning] = {}
    for path, result in scan_files(locations, slots, 1).items():
        for slot, line in zip(result.hits.slot.tolist(), result.hits.line.tolist(), strict=True):
            entry = slots.table[slot]
            if entry.rule.id == rule.id and entry.says in (LineMeaning.FAULT, LineMeaning.EXPLAINED):
                said[(path, line)] = entry.says
    return said


def test_the_catalog_loads_and_uses_all_five_severities() -> None:
    assert {rule.severity for rule in PACK.rules} == set(Severity)
    assert len(PACK.rules) >= 40
    assert len(PACK.suppressions) >= 4


def test_the_list_of_known_ids_is_the_catalog() -> None:
    assert sorted(RULES) == sorted(rule.id for rule in PACK.rules)
    assert sorted(SUPPRESSIONS) == sorted(suppression.id for suppression in PACK.suppressions)


@pytest.mark.parametrize("rule_id", RULES)
def test_a_rule_finds_what_its_samples_promise_alone_and_among_all_others(rule_id: str, tmp_path: Path) -> None:
    rule = PACK.rule(rule_id)
    _, expected = written(rule, rule.samples.fires, tmp_path)
    # Fires come first, so they stand on the same lines when the quiet ones follow.
    locations, _ = written(rule, (*rule.samples.fires, *rule.samples.quiet), tmp_path)
    for engine in ("hyperscan", "re2"):
        alone = RuleSlots(RulePack(rules=(rule,), suppressions=()), engine=engine)
        assert found(locations, alone, rule).keys() == expected, engine
    among_all = found(locations, all_rules_at_once(), rule)
    assert among_all.keys() == expected
    assert LineMeaning.FAULT in among_all.values(), "suppressions explain every sample away"


def test_a_sample_alone_in_its_file_is_not_taken_for_a_line_of_another_program() -> None:
    """A driver's log of two lines that name the kubelet was read by the kubelet's rules alone: a false clean."""
    unread = [
        (rule.id, recognised.read_as)
        for rule in PACK.rules
        for line, path, _ in (placed(sample, rule) for sample in rule.samples.fires)
        for recognised in [recognise(path, line + b"\n")]
        if not rule.fires_on(line, recognised.read_as, recognised.role)
    ]
    assert unread == []


def test_all_patterns_together_compile_in_one_engine() -> None:
    patterns = [(slot, pattern) for slot, rule in enumerate(PACK.rules) for pattern in rule.match]
    assert compile_matcher(patterns, engine="hyperscan").scan(bytearray(b"nothing\n" + bytes(ROOM)), 8) == []


@pytest.mark.parametrize("suppression_id", SUPPRESSIONS)
def test_a_suppression_explains_hits_that_would_otherwise_be_findings(suppression_id: str) -> None:
    suppression = next((each for each in PACK.suppressions if each.id == suppression_id), None)
    assert suppression is not None, f"suppression {suppression_id} is gone"
    paths = {path for rule in suppression.rules for _, path, _ in [placed("", PACK.rule(rule))]}
    for line in suppression.samples.suppressed:
        verdicts = {(each.verdict, each.why.split(":")[0]) for path in paths for each in judge_line(line, path, PACK)}
        assert (LineVerdict.SUPPRESSED, f"by {suppression_id}") in verdicts, line
    for line in suppression.samples.kept:
        judged = [each for path in paths for each in judge_line(line, path, PACK) if each.rule.id in suppression.rules]
        assert LineVerdict.FIRES in {each.verdict for each in judged}, line


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
