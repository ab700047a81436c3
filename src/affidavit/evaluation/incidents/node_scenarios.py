"""Incidents of nodes with known faults: bundles of verdict cases, and the fault types a diagnosis must name."""

from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from pydantic import TypeAdapter

from affidavit.errors import InputRefused
from affidavit.evaluation.incidents.result import NODE_PREFIX
from affidavit.evaluation.nodes.verdicts.cases import VerdictCase, verdict_cases
from affidavit.evidence.diagnosis import FaultType
from affidavit.yaml_loading import load_yaml

_FILE = "scenarios/node-incidents.yaml"


@dataclass(frozen=True, kw_only=True)
class NodeTruth:
    fault_types: frozenset[FaultType]


@dataclass(frozen=True, kw_only=True)
class NodeIncidentScenario:
    case: VerdictCase
    truth: NodeTruth

    @property
    def scenario_id(self) -> str:
        return f"{NODE_PREFIX}{self.case.id}"

    @property
    def title(self) -> str:
        return f"a node: {self.case.scenario.tells}"


@cache
def node_incident_scenarios() -> tuple[NodeIncidentScenario, ...]:
    """Raises InputRefused when a scenario names no verdict case."""
    text = files("affidavit.evaluation").joinpath(_FILE).read_text("utf-8")
    wanted = TypeAdapter(dict[str, list[FaultType]]).validate_python(load_yaml(text))
    cases = {case.id: case for case in verdict_cases()}
    lost = sorted(set(wanted) - set(cases))
    if lost:
        raise InputRefused(f"{_FILE}: there is no verdict case {lost[0]}", hint="see scenarios/verdicts/cases.yaml")
    return tuple(
        NodeIncidentScenario(case=cases[name], truth=NodeTruth(fault_types=frozenset(kinds)))
        for name, kinds in wanted.items()
    )
