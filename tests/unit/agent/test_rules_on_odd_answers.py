"""Answers that fit their schema and are odd inside: people write policies, and rules must not fall over them."""

import copy
import random
from typing import Any

import pytest
from pydantic import ValidationError
from tests.support.investigations.workload_scenarios import answers_of, each_scenario
from tests.support.storms import storm

from affidavit.agent.rules import best_so_far
from affidavit.agent.subjects.node import NODE
from affidavit.agent.subjects.node_tools import ERRORS, TRIAGE
from affidavit.incidents.attempt.answer_ledger import Ledger
from affidavit.verification.ledger_entry import make_entry
from affidavit.verification.pointer_check import verify
from affidavit.workloads.wire import TOOL_RESPONSE_SCHEMAS

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


@pytest.mark.slow
@each_scenario
def test_rules_survive_answers_that_are_odd_inside(scenario) -> None:
    chance = random.Random(scenario.scenario_id)
    honest = answers_of(scenario)
    for _ in range(storm(1, full=4)):
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


@each_scenario
def test_half_a_character_in_the_log_hides_no_fault(scenario) -> None:
    clean, odd = Ledger(), Ledger()
    for tool, answer in answers_of(scenario).items():
        clean.record(tool, {}, answer)
        events = [{**event, "message": f"{event['message']} \ud800"} for event in answer.get("events", ())]
        odd.record(tool, {}, {**answer, "events": events} if events else answer)
    expected, found = best_so_far(clean.entries), best_so_far(odd.entries)
    assert (None if found is None else found.fault_types) == (None if expected is None else expected.fault_types)


def test_a_node_is_concluded_from_its_verdict_where_the_view_had_no_room_for_its_findings() -> None:
    cause = {
        "cause": "A file system is full",
        "fault_type": "node_disk",
        "still_open": True,
        "evidence": ["F-001"],
        "explains": [],
        "first_step": "Look at df",
    }
    triage = {"instanceId": "i-0123456789abcdef0", "index_id": "ix-1", "verdict": {"root_causes": [cause]}}
    errors = {"index_id": "ix-1", "findings": {"left_out": True}}
    entries = [
        make_entry(f"E-00{n}", tool, {}, one) for n, (tool, one) in enumerate([(TRIAGE, triage), (ERRORS, errors)])
    ]
    concluded = NODE.conclude(entries)
    assert concluded is not None
    assert "A file system is full" in concluded.root_cause
