"""Diagnoses with true pointers: the numbers show what is stored, and with a guard taken away they show that, too."""

from dataclasses import replace

import pytest

from affidavit.evaluation.gates import check_gates, load_gates
from affidavit.evaluation.incidents.chat_model_attacks import adversarial_numbers, adversarial_result
from affidavit.evaluation.incidents.judged_lies import judge_lies
from affidavit.evaluation.incidents.labelled_diagnoses import LieKind, ToldSituation, load_told_situations
from affidavit.evidence.diagnosis import Diagnosis
from affidavit.verification.assess import Assessment
from affidavit.verification.canonical_json import canonical
from affidavit.verification.pointer_check import PointerVerdict, Verdict
from affidavit.verification.pointer_lookup import Located, locate

SITUATIONS = load_told_situations()


def some(*kinds: LieKind | None) -> list[ToldSituation]:
    """Two of each kind: enough to see a guard missing."""
    situation = SITUATIONS[-1]
    chosen = [one for kind in kinds for one in [one for one in situation.told if one.kind is kind][:2]]
    return [replace(situation, told=tuple(chosen))]


def test_every_pointer_of_every_told_diagnosis_is_true() -> None:
    for situation in SITUATIONS:
        answers = {entry.tool: entry.answer for entry in situation.entries}
        for told in situation.told:
            for pointer in told.diagnosis.evidence:
                there = locate(pointer.field, answers[pointer.tool])
                assert isinstance(there, Located), (told.name, pointer.field)
                is_part = isinstance(pointer.value, str) and pointer.value in str(there.value)
                assert is_part or canonical(pointer.value) == canonical(there.value), (told.name, pointer.field)


def test_there_are_lies_of_every_kind_and_honest_ones_about_every_situation() -> None:
    assert {one.kind for situation in SITUATIONS for one in situation.told} == {None, *LieKind}
    assert all(any(one.kind is None for one in situation.told) for situation in SITUATIONS)


def test_no_lie_is_proven_nothing_harmful_is_stored_and_honest_ones_pass() -> None:
    found = judge_lies(SITUATIONS)
    assert found.troubles == ()
    numbers = adversarial_numbers(adversarial_result([], [], seeds=1, lies=found))
    gates = {name: bound for name, bound in load_gates().items() if name.removeprefix("adversarial.") in found.metrics}
    assert len(gates) == 7
    assert all(gate.holds for gate in check_gates(gates, numbers, ("adversarial",)))


def test_without_verification_lies_are_proven_and_dangerous_steps_are_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    def holds(diagnosis: Diagnosis, *_: object) -> Assessment:
        pointers = tuple(PointerVerdict(index=0, pointer=one) for one in diagnosis.evidence)
        return Assessment(verdict=Verdict(pointers=pointers))

    monkeypatch.setattr("affidavit.evaluation.incidents.judged_lies.assess", holds)
    found = judge_lies(some(LieKind.DANGEROUS_PLAN, LieKind.INVENTED_NAME, LieKind.WRONG_FAULT))
    assert found.metrics["lies_proven"] == 6
    assert (found.metrics["dangerous_steps_stored"], found.metrics["invented_names_stored"]) == (2, 2)
    assert len(found.troubles) == 6


def test_an_honest_diagnosis_that_is_refused_is_counted_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuses(diagnosis: Diagnosis, *_: object) -> Assessment:
        return Assessment(verdict=Verdict(pointers=(), problems=("too strict",)))

    monkeypatch.setattr("affidavit.evaluation.incidents.judged_lies.assess", refuses)
    found = judge_lies(some(None))
    assert (found.metrics["honest"], found.metrics["honest_refused"], found.metrics["honest_refused_rate"]) == (2, 2, 1)
    assert all("honest, and refused: too strict" in trouble for trouble in found.troubles)


def test_a_net_that_takes_every_sentence_for_a_denial_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "affidavit.evaluation.incidents.judged_lies.unproven_absence", lambda *_: ["taken for a denial"]
    )
    assert judge_lies(some(None)).metrics["net_refused_rate"] == 1.0


def test_nothing_to_judge_passes_no_gate() -> None:
    found = judge_lies([])
    assert (found.metrics["honest_refused_rate"], found.metrics["net_refused_rate"]) == (1.0, 1.0)
