"""Rule by rule, by name: taking one out of the catalog, or breaking it, fails the test that carries its id."""

from functools import cache
from pathlib import Path

import pytest

from affidavit.index.crew import scan_files
from affidavit.index.slots import RuleSlots, Says
from affidavit.rules.authoring import Verdict, judge_line
from affidavit.rules.pack import load_pack
from affidavit.rules.rule import placed

KNOWN = [
    line
    for line in (Path(__file__).parent / "known_ids.txt").read_text().splitlines()
    if line and not line.startswith("#")
]
RULES = [known for known in KNOWN if not known.startswith("suppressions/")]
SUPPRESSIONS = [known.removeprefix("suppressions/") for known in KNOWN if known.startswith("suppressions/")]
PACK = load_pack()


@cache
def all_rules_at_once() -> RuleSlots:
    return RuleSlots(PACK)


def test_the_list_of_known_ids_is_the_catalog() -> None:
    assert sorted(RULES) == sorted(rule.id for rule in PACK.rules)
    assert sorted(SUPPRESSIONS) == sorted(suppression.id for suppression in PACK.suppressions)


@pytest.mark.parametrize("rule_id", RULES)
def test_a_rule_finds_its_own_samples_among_all_the_others(rule_id: str, tmp_path: Path) -> None:
    rule = PACK.rule(rule_id)
    slots = all_rules_at_once()
    locations: dict[str, Path] = {}
    expected: set[tuple[str, int]] = set()
    for sample in rule.samples.fires:
        line, path, _ = placed(sample, rule)
        file = locations.setdefault(path, tmp_path / str(len(locations)))
        with file.open("ab") as lines:
            lines.write(line + b"\n")
        expected.add((path, len(file.read_bytes().splitlines())))
    found: dict[tuple[str, int], Says] = {}
    for path, scanned in scan_files(locations, slots, 1).items():
        for slot, line in zip(scanned.hits.slot.tolist(), scanned.hits.line.tolist(), strict=True):
            if slots.table[slot].rule.id == rule_id and slots.table[slot].says in (Says.FAULT, Says.EXPLAINED):
                found[(path, line)] = slots.table[slot].says
    assert found.keys() == expected
    assert Says.FAULT in found.values(), "suppressions explain every sample away"


@pytest.mark.parametrize("suppression_id", SUPPRESSIONS)
def test_a_suppression_explains_hits_that_would_otherwise_be_findings(suppression_id: str) -> None:
    suppression = next((each for each in PACK.suppressions if each.id == suppression_id), None)
    assert suppression is not None, f"suppression {suppression_id} is gone"
    paths = {path for rule in suppression.rules for _, path, _ in [placed("", PACK.rule(rule))]}
    for line in suppression.samples.suppressed:
        verdicts = {(each.verdict, each.why.split(":")[0]) for path in paths for each in judge_line(line, path, PACK)}
        assert (Verdict.SUPPRESSED, f"by {suppression_id}") in verdicts, line
    for line in suppression.samples.kept:
        judged = [each for path in paths for each in judge_line(line, path, PACK) if each.rule.id in suppression.rules]
        assert Verdict.FIRES in {each.verdict for each in judged}, line
