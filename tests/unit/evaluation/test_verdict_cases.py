"""Incidents with known causes: a right verdict passes, and a wrong one is told."""

from dataclasses import replace

import pytest

from affidavit.evaluation.nodes.verdicts.cases import VerdictCase, verdict_cases
from affidavit.evaluation.nodes.verdicts.runs import judge_verdict
from affidavit.knowledge import load_knowledge


def case(name: str) -> VerdictCase:
    return next(each for each in verdict_cases() if each.id == name)


def test_there_are_enough_incidents_of_every_kind() -> None:
    cases = verdict_cases()
    assert len(cases) >= 60
    assert sum(len(each.leads) > 1 for each in cases) >= 8
    assert sum(bool(each.unknown) for each in cases) >= 5
    assert sum(not each.leads and not each.unknown for each in cases) >= 4


@pytest.mark.parametrize(
    "name", ["disk-full-al2", "two-disk-subnet", "missing-ipamd", "quiet-al2023", "kernel-clock-late"]
)
def test_the_verdict_on_an_incident_is_right(name: str) -> None:
    assert judge_verdict(case(name), load_knowledge()).trouble == ""


def test_a_cause_that_is_not_named_is_trouble() -> None:
    wrong = replace(case("disk-full-al2"), leads=("InsufficientFreeAddressesInSubnet",))
    judged = judge_verdict(wrong, load_knowledge())
    assert not judged.leads
    assert "wanted InsufficientFreeAddressesInSubnet" in judged.trouble


def test_a_cause_too_many_is_trouble() -> None:
    assert judge_verdict(replace(case("two-disk-subnet"), leads=("99% /",)), load_knowledge()).trouble


def test_an_effect_that_is_not_told_as_unexplained_is_trouble() -> None:
    wrong = replace(case("missing-ipamd"), unknown=("PLEG is not healthy",))
    assert "not told as unexplained" in judge_verdict(wrong, load_knowledge()).trouble
