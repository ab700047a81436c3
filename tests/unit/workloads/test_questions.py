"""One door: scope, arguments, outages, and least data, over accounts that exist only as data."""

import json
from typing import Any

import pytest
from tests.support.investigations.workload_scenarios import SCENARIOS as ALL
from tests.support.investigations.workload_scenarios import each_scenario

from affidavit.evaluation.incidents.workload_scenarios import NOW, WorkloadScenario, patched
from affidavit.incidents.incident import Incident
from affidavit.incidents.intake.event_reader import readings_of
from affidavit.workloads.wire import TOOL_ARG_SCHEMAS

TOOLS = sorted(TOOL_ARG_SCHEMAS)
ARGUMENTS = {"lambda_name": "data-processor"}


def changed(scenario_id: str, **account: Any) -> WorkloadScenario:
    scenario = ALL[scenario_id]
    state = scenario.account.model_validate(patched(scenario.account.model_dump(mode="json"), account))
    return WorkloadScenario(
        scenario_id=scenario_id,
        title="",
        why="",
        alert=scenario.alert,
        account=state,
        truth=scenario.truth,
    )


def ask(scenario: WorkloadScenario, tool: str) -> Any:
    return scenario.workloads().answer(tool, ARGUMENTS)


@pytest.mark.parametrize("tool", TOOLS)
def test_a_function_outside_the_incident_is_refused(tool: str) -> None:
    answer = ALL["healthy-single-datapoint"].workloads().answer(tool, {"lambda_name": "billing-export"})
    assert answer == {
        "error": "billing-export is not part of this incident",
        "hint": "ask about data-processor",
    }


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("arguments", [{}, {"lambda_name": ""}, {"lambda_name": 7}, {"lambda_name": "a/../b"}])
def test_arguments_that_cannot_be_used_are_an_error(tool: str, arguments: dict[str, Any]) -> None:
    answer = ALL["healthy-single-datapoint"].workloads().answer(tool, arguments)
    assert "lambda_name" in str(answer["error"])


def test_an_unknown_tool_is_an_error() -> None:
    assert ALL["healthy-single-datapoint"].workloads().answer("drop_tables", ARGUMENTS)["error"] == "unknown tool"


@pytest.mark.parametrize("tool", TOOLS)
def test_when_the_function_cannot_be_read_every_question_is_an_error_and_nothing_else(tool: str) -> None:
    down = changed("healthy-single-datapoint", unreadable={"function": "our role may not call it"})
    assert set(ask(down, tool)) == {"error", "hint"}


@pytest.mark.parametrize(
    ("tool", "method", "what"),
    [
        ("get_lambda_config", "reserved_concurrency", "reserved concurrency"),
        ("get_lambda_config", "account_limits", "limits of the account"),
        ("get_lambda_config", "metric", "metrics"),
        ("get_network_state", "route_tables", "route tables"),
        ("get_network_state", "network_acls", "network ACLs"),
        ("get_network_state", "security_groups", "security groups"),
        ("get_network_state", "endpoints", "endpoints"),
        ("get_network_state", "dns", "DNS settings"),
        ("get_network_state", "subnets", "subnets"),
        ("get_iam_state", "policy_document", "policy arn:"),
        ("get_iam_state", "log_lines", "denied actions in recent logs"),
        ("get_iam_state", "resource_policy", "policy on arn:"),
    ],
)
def test_a_part_that_cannot_be_read_is_listed_and_the_rest_answers(tool: str, method: str, what: str) -> None:
    answer = ask(changed("network-egress-removed", unreadable={method: "AccessDenied"}), tool)
    assert "error" not in answer
    assert any(entry["what"].startswith(what) and entry["why"] == "AccessDenied" for entry in answer["not_read"])


@pytest.mark.parametrize("method", ["inline_policies", "attached_policies", "role"])
def test_policies_that_cannot_be_read_at_all_are_an_error_not_an_empty_role(method: str) -> None:
    answer = ask(changed("healthy-single-datapoint", unreadable={method: "AccessDenied"}), "get_iam_state")
    assert set(answer) == {"error", "hint"}


def test_unread_routes_are_unknown_and_not_missing() -> None:
    answer = ask(changed("network-egress-removed", unreadable={"route_tables": "AccessDenied"}), "get_network_state")
    assert answer["subnets"][0]["has_default_route"] is None


def test_a_default_route_into_a_black_hole_is_no_way_out() -> None:
    subnet = ask(ALL["network-blackhole-nat"], "get_network_state")["subnets"][0]
    assert (subnet["has_default_route"], subnet["routes"][1]["state"]) == (False, "blackhole")


def test_values_of_variables_never_leave() -> None:
    variables = {"Variables": {"DB_PASSWORD": "hunter2-but-longer"}}
    secret = changed("healthy-single-datapoint", function={"Environment": variables})
    everything = json.dumps([ask(secret, tool) for tool in TOOLS])
    assert "DB_PASSWORD" in everything
    assert "hunter2" not in everything


def test_an_answer_of_aws_that_cannot_be_understood_is_an_error() -> None:
    odd = changed("healthy-single-datapoint", function={"MemorySize": "plenty"})
    assert "MemorySize" in ask(odd, "get_lambda_config")["error"]


def test_a_function_outside_a_vpc_says_so() -> None:
    answer = ask(ALL["healthy-single-datapoint"], "get_network_state")
    assert (answer["in_vpc"], answer["subnets"]) == (False, [])


@each_scenario
def test_every_alert_becomes_an_incident_of_the_function(scenario: WorkloadScenario) -> None:
    (notice,) = readings_of(scenario.event(), now=NOW)
    assert isinstance(notice, Incident)
    assert notice.resources == (scenario.function,)
    assert notice.signal.value == scenario.alert.signal
