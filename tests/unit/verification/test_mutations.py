"""A thousand true pointers hold; a thousand pointers with one thing changed do not."""

import random
from collections.abc import Callable

from tests.support.investigations.diagnoses import a_diagnosis, a_pointer, an_investigation, leaves

from affidavit.evidence.diagnosis import EvidencePointer
from affidavit.incidents.attempt.answer_ledger import Entry, Ledger
from affidavit.ports.json import JsonValue
from affidavit.verification.pointer_check import verify

ROUNDS = 1_000
Mutation = Callable[[random.Random, EvidencePointer, Ledger], EvidencePointer | None]


def test_at_least_995_of_1000_true_pointers_are_accepted() -> None:
    accepted = sum(
        _holds(_true_pointer(random.Random(seed), ledger := an_investigation(seed)), ledger) for seed in range(ROUNDS)
    )
    assert accepted >= 995


def test_all_of_1000_mutated_pointers_are_rejected() -> None:
    used: dict[str, int] = {}
    for seed in range(ROUNDS):
        chance, ledger = random.Random(seed), an_investigation(seed)
        mutated, name = _mutated(chance, ledger)
        used[name] = used.get(name, 0) + 1
        assert not _holds(mutated, ledger), f"{name} of seed {seed} was believed: {mutated}"
    assert set(used) == {mutation.__name__ for mutation in MUTATIONS}, "a kind of mutation never ran"
    assert min(used.values()) >= 50


def _holds(pointer: EvidencePointer, ledger: Ledger) -> bool:
    return verify(a_diagnosis(pointer), ledger.entries).holds


def _true_pointer(chance: random.Random, ledger: Ledger) -> EvidencePointer:
    entry = chance.choice(ledger.entries)
    field, value = chance.choice(list(leaves(entry.answer)))
    if isinstance(value, str) and len(value) > 20 and chance.random() < 0.5:
        start = chance.randrange(len(value) - 12)
        value = value[start : start + chance.randint(8, 12)]
    return a_pointer(entry.tool, _spelled(chance, field, entry), value)


def _spelled(chance: random.Random, field: str, entry: Entry) -> str:
    """Half of the paths that can be written with dots are."""
    has_odd_key = entry.tool == "get_iam_state" and "inline" in field
    return field if has_odd_key or chance.random() < 0.5 else field[1:].replace("/", ".")


def _mutated(chance: random.Random, ledger: Ledger) -> tuple[EvidencePointer, str]:
    mutation = chance.choice(MUTATIONS)
    while True:
        entry = chance.choice(ledger.entries)
        field, value = chance.choice(list(leaves(entry.answer)))
        mutated = mutation(chance, a_pointer(entry.tool, field, value), ledger)
        if mutated is not None:
            return mutated, mutation.__name__


def another_path(chance: random.Random, true: EvidencePointer, _ledger: Ledger) -> EvidencePointer:
    place = chance.randrange(1, len(true.field) + 1)
    return true.model_copy(update={"field": f"{true.field[:place]}x{true.field[place:]}"})


def another_index(chance: random.Random, true: EvidencePointer, _ledger: Ledger) -> EvidencePointer | None:
    parts = true.field.split("/")
    places = [place for place, part in enumerate(parts) if part.isdigit()]
    if not places:
        return None
    place = chance.choice(places)
    parts[place] = str(int(parts[place]) + chance.randint(1, 12))
    return true.model_copy(update={"field": "/".join(parts)})


def another_digit(chance: random.Random, true: EvidencePointer, _ledger: Ledger) -> EvidencePointer | None:
    if not isinstance(true.value, str):
        assert isinstance(true.value, int | float)
        return true.model_copy(update={"value": true.value + chance.choice((-1, 1, 0.001))})
    places = [place for place, character in enumerate(true.value) if character.isdigit()]
    if not places:
        return None
    place = chance.choice(places)
    digit = str((int(true.value[place]) + chance.randint(1, 9)) % 10)
    return true.model_copy(update={"value": f"{true.value[:place]}{digit}{true.value[place + 1 :]}"})


def a_quote_cut_short(chance: random.Random, true: EvidencePointer, _ledger: Ledger) -> EvidencePointer | None:
    if not isinstance(true.value, str) or len(true.value) < 8:
        return None
    return true.model_copy(update={"value": true.value[: chance.randint(0, 7)]})


def a_quote_with_a_word_left_out(chance: random.Random, true: EvidencePointer, _: Ledger) -> EvidencePointer | None:
    words = true.value.split(" ") if isinstance(true.value, str) else []
    if len(words) < 4:
        return None
    del words[chance.randrange(1, len(words) - 1)]
    return true.model_copy(update={"value": " ".join(words)})


def another_calls_value(chance: random.Random, true: EvidencePointer, ledger: Ledger) -> EvidencePointer | None:
    other = chance.choice([entry for entry in ledger.entries if entry.tool != true.tool])
    value = chance.choice([value for _, value in leaves(other.answer)])
    return None if _is_part(value, true.value) else true.model_copy(update={"value": value})


def another_tool(chance: random.Random, true: EvidencePointer, ledger: Ledger) -> EvidencePointer:
    others = [entry.tool for entry in ledger.entries if entry.tool != true.tool] + ["get_network_state"]
    return true.model_copy(update={"tool": chance.choice(others)})


def a_value_only_in_the_alert(chance: random.Random, true: EvidencePointer, _ledger: Ledger) -> EvidencePointer:
    alarm = f"Threshold Crossed: {chance.randint(2, 99)} datapoints were greater than the threshold"
    return true.model_copy(update={"value": alarm})


def a_number_as_text(_chance: random.Random, true: EvidencePointer, _ledger: Ledger) -> EvidencePointer | None:
    return None if isinstance(true.value, str) else true.model_copy(update={"value": str(true.value)})


def _is_part(value: JsonValue, of: JsonValue) -> bool:
    return value == of or (isinstance(value, str) and isinstance(of, str) and value in of)


MUTATIONS: tuple[Mutation, ...] = (
    another_path,
    another_index,
    another_digit,
    a_quote_cut_short,
    a_quote_with_a_word_left_out,
    another_calls_value,
    another_tool,
    a_value_only_in_the_alert,
    a_number_as_text,
)
