"""The built-in Lambda scenarios, loaded once for all test modules, and what each tool answers in them."""

from functools import cache
from typing import Any

from affidavit.evaluation.incidents.workload_scenarios import WorkloadScenario, load_workload_scenarios
from affidavit.workloads.wire import TOOL_ARG_SCHEMAS
from tests.support.each import for_each

SCENARIOS = {scenario.scenario_id: scenario for scenario in load_workload_scenarios()}
each_scenario = for_each("scenario", SCENARIOS.values(), label=lambda scenario: scenario.scenario_id)


@cache
def _answers(scenario_id: str) -> dict[str, dict[str, Any]]:
    scenario = SCENARIOS[scenario_id]
    workloads = scenario.workloads()
    return {tool: workloads.answer(tool, {"lambda_name": scenario.function}) for tool in TOOL_ARG_SCHEMAS}


def answers_of(scenario: WorkloadScenario) -> dict[str, dict[str, Any]]:
    """By tool. Shared: change a copy."""
    return _answers(scenario.scenario_id)
