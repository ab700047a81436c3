"""Answers that fit their schema and are odd inside: people write policies, and rules must not fall over them."""

import copy
import random
from typing import Any

import pytest
from pydantic import ValidationError

from affidavit.agent.rules import best_so_far
from affidavit.evaluation.incidents.workload_scenarios import load_workload_scenarios
from affidavit.incidents.attempt.ledger import Ledger
from affidavit.verification.verify import verify
from affidavit.workloads.records import TOOL_ARG_SCHEMAS, TOOL_RESPONSE_SCHEMAS

ODD: tuple[Any, ...] = (
    None,
    "",
    "*",
    [],
    {},
    0,
    -1,
    True,
    ["x"],
    {"AWS": "*"},
    [{"Effect": "Deny"}],
    "x" * 300,
    [None],
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, one in inner for place in places(one, (*path, key)))]


def changed(answer: dict[str, Any], chance: random.Random) -> dict[str, Any]:
    other = copy.deepcopy(answer)
    for _ in range(chance.randint(1, 4)):
        *above, last = chance.choice(places(other)[1:])
        target = other
        for key in above:
            target = target[key]
        target[last] = copy.deepcopy(chance.choice(ODD))
    return other


@pytest.mark.parametrize("scenario", load_workload_scenarios(), ids=lambda one: one.scenario_id)
def test_rules_survive_answers_that_are_odd_inside(scenario) -> None:
    chance = random.Random(scenario.scenario_id)
    workloads = scenario.workloads()
    honest = {tool: workloads.answer(tool, {"lambda_name": scenario.function}) for tool in TOOL_ARG_SCHEMAS}
    for _ in range(25):
        ledger = Ledger()
        for tool, answer in honest.items():
            odd = changed(answer, chance)
            try:
                TOOL_RESPONSE_SCHEMAS[tool].model_validate(odd)
            except ValidationError:
                odd = answer
            ledger.record(tool, {"lambda_name": scenario.function}, odd)
        diagnosis = best_so_far(ledger.entries)
        assert diagnosis is None or verify(diagnosis, ledger.entries).holds


@pytest.mark.parametrize("scenario", load_workload_scenarios(), ids=lambda one: one.scenario_id)
def test_half_a_character_in_the_log_hides_no_fault(scenario) -> None:
    workloads = scenario.workloads()
    clean, odd = Ledger(), Ledger()
    for tool in TOOL_ARG_SCHEMAS:
        answer = workloads.answer(tool, {"lambda_name": scenario.function})
        clean.record(tool, {}, answer)
        events = [{**event, "message": f"{event['message']} \ud800"} for event in answer.get("events", ())]
        odd.record(tool, {}, {**answer, "events": events} if events else answer)
    expected, found = best_so_far(clean.entries), best_so_far(odd.entries)
    assert (None if found is None else found.fault_types) == (None if expected is None else expected.fault_types)
