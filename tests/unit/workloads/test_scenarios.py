"""Every Lambda scenario is internally true: what its truth cites can be read through the real questions."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.support.investigations.workload_scenarios import SCENARIOS as ALL
from tests.support.investigations.workload_scenarios import answers_of, each_scenario

from affidavit.errors import InputRefused
from affidavit.evaluation.incidents.workload_scenarios import (
    SCENARIOS,
    Proof,
    WorkloadScenario,
    load_workload_scenario,
    load_workload_scenarios,
    patched,
)
from affidavit.workloads.wire import TOOL_RESPONSE_SCHEMAS

SCENARIO_LIST = [*ALL.values()]


def at(answer: object, pointer: str) -> object:
    for part in pointer.split("/")[1:]:
        answer = answer[int(part)] if isinstance(answer, list) else answer[part]  # type: ignore[index]
    return answer


def asked(scenario: WorkloadScenario, tool: str) -> dict[str, object]:
    return scenario.workloads().answer(tool, {"lambda_name": scenario.function})


def holds(proof: Proof, scenario: WorkloadScenario) -> bool:
    answer: Any = answers_of(scenario)[proof.tool]
    if proof.contains is not None:
        return any(proof.contains in event["message"] for event in answer["events"])
    return proof.field is not None and at(answer, proof.field) == proof.value


def test_there_are_at_least_a_hundred_and_eighty_and_no_two_share_an_id() -> None:
    assert len({scenario.scenario_id for scenario in SCENARIO_LIST}) == len(SCENARIO_LIST) >= 180


def test_every_kind_of_fault_a_function_can_have_is_there() -> None:
    kinds = {kind for scenario in SCENARIO_LIST for kind in scenario.truth.fault_types}
    assert {kind.value for kind in kinds} == {
        "permission_loss",
        "throttling",
        "network_block",
        "timeout",
        "out_of_memory",
        "code_error",
        "configuration",
        "startup",
        "credentials",
        "dependency",
        "resource_limit",
        "unknown",
    }


@each_scenario
def test_every_proof_is_there_to_be_read(scenario: WorkloadScenario) -> None:
    assert scenario.truth.proof
    assert [proof for proof in scenario.truth.proof if not holds(proof, scenario)] == []


@each_scenario
def test_every_answer_is_valid_on_the_wire(scenario: WorkloadScenario) -> None:
    for tool, schema in TOOL_RESPONSE_SCHEMAS.items():
        schema.model_validate_json(json.dumps(answers_of(scenario)[tool]))


@each_scenario
def test_what_is_true_is_not_forbidden(scenario: WorkloadScenario) -> None:
    assert not scenario.truth.fault_types & scenario.truth.must_not_claim


@each_scenario
def test_the_same_scenario_reads_the_same_twice(scenario: WorkloadScenario) -> None:
    (path,) = SCENARIOS.rglob(f"{scenario.scenario_id}.yaml")
    again = load_workload_scenario(path)
    assert again.event() == scenario.event()
    assert asked(again, "get_recent_logs") == asked(scenario, "get_recent_logs")


@each_scenario
def test_no_answer_holds_the_value_of_an_environment_variable(scenario: WorkloadScenario) -> None:
    answer = asked(scenario, "get_lambda_config")
    assert "Acme/Ingest" not in json.dumps(answer)


def test_request_ids_differ_from_run_to_run() -> None:
    scenario = next(entry for entry in SCENARIO_LIST if entry.scenario_id == "permission-s3-statement-removed")
    starts = [line.message for line in scenario.inspector().lines if line.message.startswith("START")]
    assert len(starts) == len(set(starts)) == 29


def test_a_patch_merges_mappings_replaces_lists_and_removes_with_null() -> None:
    base = {"a": {"b": 1, "c": 2}, "d": [1, 2], "e": 3}
    assert patched(base, {"a": {"b": None, "x": 9}, "d": [3]}) == {"a": {"c": 2, "x": 9}, "d": [3], "e": 3}


def test_a_scenario_with_an_unknown_key_is_refused_by_name(tmp_path: Path) -> None:
    text = (SCENARIOS / "throttling-reserved-zero.yaml").read_text() + "surprise: 1\n"
    (tmp_path / "odd.yaml").write_text(text)
    with pytest.raises(InputRefused, match=r"odd\.yaml"):
        load_workload_scenarios(tmp_path)
