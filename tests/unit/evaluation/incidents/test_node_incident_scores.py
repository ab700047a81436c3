"""Incidents of nodes with known faults, through the supervisor that production runs."""

import pytest

from affidavit.bootstrap import build_library
from affidavit.entrypoints.cli.eval.incidents import thrown_away
from affidavit.entrypoints.supervisor_wiring import build_supervisor
from affidavit.evaluation.incidents.metrics import IncidentRun
from affidavit.evaluation.incidents.node_runs import run_node_incident
from affidavit.evaluation.incidents.node_scenarios import node_incident_scenarios
from affidavit.evaluation.incidents.result import incidents_result
from affidavit.evidence.diagnosis import FaultType
from affidavit.incidents.telemetry import to_nowhere
from affidavit.settings import Settings

SCENARIOS = {one.case.id: one for one in node_incident_scenarios()}


def test_there_is_an_incident_of_every_kind_of_node_fault_and_of_a_quiet_node() -> None:
    covered = {fault for one in SCENARIOS.values() for fault in one.truth.fault_types}
    kinds = {fault for fault in FaultType if fault.value.startswith("node_")}
    assert kinds - covered == {FaultType.NODE_FAULT, FaultType.NODE_BOOTSTRAP, FaultType.NODE_NETWORK}
    assert sum(bool(one.truth.fault_types) for one in SCENARIOS.values()) >= 12
    assert any(not one.truth.fault_types for one in SCENARIOS.values())


@pytest.mark.parametrize("name", ["oom-chain-al2023", "two-disk-subnet", "missing-ipamd", "quiet-al2023"])
def test_the_diagnosis_names_exactly_the_true_faults_and_all_its_evidence_re_reads(name: str) -> None:
    scenario = SCENARIOS[name]
    with thrown_away(Settings.from_environment({"CHAT_PROVIDER": "offline"}), runs=1) as app:
        (run,) = run_node_incident(scenario, [1], build_supervisor(app, emit=to_nowhere), build_library(app))
    assert run.failure == ""
    assert run.fault_types == {fault.value for fault in scenario.truth.fault_types}
    assert run.claims == run.verified_claims > 0
    assert not (run.is_false and run.is_proven)


def test_numbers_of_nodes_stand_by_themselves() -> None:
    scenario = SCENARIOS["oom-chain-al2023"]
    wrong = IncidentRun(scenario=scenario.scenario_id, fault_types=frozenset())
    metrics = incidents_result([scenario], [wrong], provider="offline", k=1).metrics
    assert (metrics["node_scenarios"], metrics["node_exact_set_accuracy"]) == (1, 0.0)
